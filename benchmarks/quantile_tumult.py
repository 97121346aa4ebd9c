"""Quantiles by Tumult Analytics: a line of JSON in, a line of JSON out. Started by
benchmarks/quantiles.py in a Python that has it.
"""

from __future__ import annotations

import json
import sys
import warnings


def main() -> None:
    """Answer until there is no question left."""
    warnings.filterwarnings("ignore")
    import pandas
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddOneRow, PureDPBudget, QueryBuilder, Session

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = spark.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for line in sys.stdin:
        question = json.loads(line)
        frame = spark.createDataFrame(pandas.DataFrame({"value": question["values"]}))
        session = Session.from_dataframe(
            privacy_budget=PureDPBudget(1),
            source_id="table",
            dataframe=frame,
            protected_change=AddOneRow(),
        )
        budget = PureDPBudget(
            0.999 / len(question["shares"])
        )  # not more than all of it after rounding
        found = [
            session.evaluate(
                QueryBuilder("table").quantile("value", share, low=0, high=question["high"]), budget
            ).collect()[0][0]
            for share in question["shares"]
        ]
        print(json.dumps(sorted(found)), flush=True)


if __name__ == "__main__":
    main()
