"""The most frequent items with their counts, by one library: started by
benchmarks/counted_lists.py in a Python that has it.

    python counted_peer.py LIBRARY

A line of JSON in (file, k, epsilon, delta, names or null, repetitions), a line of JSON out: for
each repetition the seconds and the list of names with counts.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

Listed = list[tuple[str, float]]


def main() -> None:
    """Answer one question."""
    warnings.filterwarnings("ignore")
    asked = json.loads(sys.stdin.readline())
    with open(asked["file"], newline="", encoding="utf-8") as lines:
        rows = [(int(person), item) for person, item in list(csv.reader(lines))[1:]]
    make: Callable[[dict[str, Any], Sequence[tuple[int, str]]], Callable[[], Listed]]
    make = {"discreet": _discreet, "opendp": _opendp, "pipelinedp": _pipelinedp, "tumult": _tumult}[
        sys.argv[1]
    ]
    ask = make(asked, rows)
    # the first one loads what is loaded late
    ask()
    found = []
    for _ in range(asked["repetitions"]):
        start = time.perf_counter()
        listed = ask()
        found.append({"seconds": time.perf_counter() - start, "list": listed})
    print(json.dumps(found))


def _discreet(asked: dict[str, Any], rows: Sequence[tuple[int, str]]) -> Callable[[], Listed]:
    import pandas

    import discreet

    table = pandas.DataFrame(rows, columns=["person", "item"])
    words: dict[str, Any] = {"k": asked["k"], "epsilon": asked["epsilon"], "with_counts": True}
    words |= {"candidates": asked["names"]} if asked["names"] else {"delta": asked["delta"]}
    budget = (
        discreet.PureDP(asked["epsilon"])
        if asked["names"]
        else discreet.ApproxDP(asked["epsilon"], asked["delta"])
    )

    def ask() -> Listed:
        session = discreet.Session(table, unit=discreet.Person("person"), budget=budget)
        release = session.top_k("item", items_per_person=1, **words)
        assert release.counts is not None
        return list(zip(release.value, release.counts.values, strict=True))

    return ask


def _opendp(asked: dict[str, Any], rows: Sequence[tuple[int, str]]) -> Callable[[], Listed]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    items = [item for _, item in rows]
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    if asked["names"]:
        counting = space >> dp.t.then_count_by_categories(
            categories=asked["names"], null_category=False
        )
        release = dp.binary_search_chain(
            lambda scale: counting >> dp.m.then_laplace(scale), 1, asked["epsilon"]
        )
        names = asked["names"]
    else:
        counting = space >> dp.t.then_count_by()
        scale = 1 / asked["epsilon"]
        threshold = dp.binary_search(
            lambda bound: (
                (counting >> dp.m.then_laplace_threshold(scale=scale, threshold=bound)).map(1)[1]
                <= asked["delta"]
            ),
            T=int,
            bounds=(1, 100_000),
        )
        release = counting >> dp.m.then_laplace_threshold(scale=scale, threshold=threshold)
        names = None

    def ask() -> Listed:
        noisy = release(items)
        pairs = zip(names, noisy, strict=True) if names else noisy.items()
        return sorted(pairs, key=lambda pair: -pair[1])[: asked["k"]]

    return ask


def _pipelinedp(asked: dict[str, Any], rows: Sequence[tuple[int, str]]) -> Callable[[], Listed]:
    import pipeline_dp as dp

    def ask() -> Listed:
        accountant = dp.NaiveBudgetAccountant(
            total_epsilon=asked["epsilon"], total_delta=asked["delta"]
        )
        engine = dp.DPEngine(accountant, dp.LocalBackend())
        wanted = dp.AggregateParams(
            metrics=[dp.Metrics.PRIVACY_ID_COUNT],
            noise_kind=dp.NoiseKind.LAPLACE,
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
        )
        extractors = dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: 1,
        )
        found = engine.aggregate(rows, wanted, extractors, public_partitions=asked["names"])
        accountant.compute_budgets()
        pairs = [(name, metrics.privacy_id_count) for name, metrics in found]
        return sorted(pairs, key=lambda pair: -pair[1])[: asked["k"]]

    return ask


def _tumult(asked: dict[str, Any], rows: Sequence[tuple[int, str]]) -> Callable[[], Listed]:
    import pandas
    from pyspark.sql import SparkSession
    from tmlt.analytics import (
        AddOneRow,
        ApproxDPBudget,
        KeySet,
        PureDPBudget,
        QueryBuilder,
        Session,
    )

    # workers are started by name, and have to be this Python
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = spark.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.createDataFrame(pandas.DataFrame(rows, columns=["person", "item"]))
    known = bool(asked["names"])

    def ask() -> Listed:
        epsilon, delta = asked["epsilon"], asked["delta"]
        budget = PureDPBudget(epsilon) if known else ApproxDPBudget(epsilon, delta)
        session = Session.from_dataframe(
            privacy_budget=budget,
            source_id="table",
            dataframe=frame,
            protected_change=AddOneRow(),
        )
        if known:
            keys = KeySet.from_dict({"item": asked["names"]})
        else:
            half = ApproxDPBudget(epsilon / 2, delta)
            groups = session.evaluate(QueryBuilder("table").get_groups(["item"]), half)
            keys, budget = KeySet.from_dataframe(groups), session.remaining_privacy_budget
        counted = session.evaluate(QueryBuilder("table").groupby(keys).count(), budget)
        pairs = [(row["item"], row["count"]) for row in counted.collect()]
        return sorted(pairs, key=lambda pair: -pair[1])[: asked["k"]]

    return ask


if __name__ == "__main__":
    main()
