"""Lists and counts by OpenDP, and the noise of Tumult Analytics: started by
benchmarks/literature.py in a Python that has the library.

    python literature_peer.py opendp|tumult

A line of JSON in, a line of JSON out, until there is no question left.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

Question = dict[str, Any]


def main() -> None:
    """Answer until there is no question left."""
    warnings.filterwarnings("ignore")
    answer = {"opendp": _opendp, "tumult": _tumult}[sys.argv[1]]()
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


def _opendp() -> Callable[[Question], Any]:
    import opendp.prelude as dp

    dp.enable_features("contrib")

    def calibrated(make: Callable[[float], Any], moves: float, asked: Question) -> Any:
        """The measurement with the smallest scale that the privacy allows."""

        def enough(scale: float) -> bool:
            spent = make(scale).map(moves)
            if "delta" in asked:
                curve: Any = dp.c.make_zCDP_to_approxDP(make(scale)).map(moves)
                spent = curve.epsilon(delta=asked["delta"])
            return bool(spent <= asked.get("rho", asked.get("epsilon")))

        return make(dp.binary_search(enough, bounds=(1.0, 1e6), T=float))

    def listed(asked: Question) -> list[list[int]]:
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        metric = dp.linf_distance(T="i64", monotonic=True)
        measure = dp.max_divergence() if _is_pure(asked) else dp.zero_concentrated_divergence()

        def make(scale: float) -> Any:
            return dp.m.make_noisy_top_k(domain, metric, measure, k=asked["k"], scale=scale)

        found = calibrated(make, 1, asked)
        return [found(asked["counts"]) for _ in range(asked["draws"])]

    def noise(asked: Question) -> list[list[int]]:
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        if _is_pure(asked):
            moves: float = asked["moved"]
            space = domain, dp.l1_distance(T="i64")
            found = calibrated(lambda scale: dp.m.make_laplace(*space, scale=scale), moves, asked)
        else:
            moves = asked["moved"] ** 0.5
            space = domain, dp.l2_distance(T="f64")
            found = calibrated(lambda scale: dp.m.make_gaussian(*space, scale=scale), moves, asked)
        return [found([0] * asked["items"]) for _ in range(asked["draws"])]

    return lambda asked: (listed if "counts" in asked else noise)(asked)


def _is_pure(asked: Question) -> bool:
    return "rho" not in asked and "delta" not in asked


def _tumult() -> Callable[[Question], Any]:
    import pandas
    from pyspark.sql import SparkSession
    from tmlt.analytics import (
        AddRowsWithID,
        ApproxDPBudget,
        KeySet,
        MaxGroupsPerID,
        MaxRowsPerGroupPerID,
        PureDPBudget,
        QueryBuilder,
        RhoZCDPBudget,
        Session,
    )

    # workers are started by name, and have to be this Python
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = spark.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.createDataFrame(pandas.DataFrame({"person": ["ada"], "item": ["0"]}))

    def noise(asked: Question) -> dict[str, Any]:
        """Which noise a session adds to each count, and how much: no row is read."""
        budget: Any = PureDPBudget(asked.get("epsilon", 1))
        if "rho" in asked:
            budget = RhoZCDPBudget(asked["rho"])
        elif "delta" in asked:
            budget = ApproxDPBudget(asked["epsilon"], asked["delta"])
        session = Session.from_dataframe(
            privacy_budget=budget,
            source_id="table",
            dataframe=frame,
            protected_change=AddRowsWithID("person"),
        )
        rows = QueryBuilder("table").enforce(MaxGroupsPerID("item", asked["moved"]))
        rows = rows.enforce(MaxRowsPerGroupPerID("item", 1))
        keys = KeySet.from_dict({"item": [str(item) for item in range(asked["items"])]})
        (found,) = session._noise_info(rows.groupby(keys).count(), budget)
        return {"noise": found["noise_mechanism"].name, "parameter": found["noise_parameter"]}

    return noise


if __name__ == "__main__":
    main()
