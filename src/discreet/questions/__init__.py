"""The questions to a table: each is a value, and its class states all that it takes.

>>> from discreet.questions import Mode
>>> Mode("article", candidates=["chess", "opera"], epsilon=1)
Mode(column='article', candidates=['chess', 'opera'], epsilon=Fraction(1, 1))
"""

from discreet.questions.best_price import BestPrice
from discreet.questions.counts import Count, Counts
from discreet.questions.fits import (
    FitCovariance,
    FitDeepest,
    FitLinear,
    FitLogistic,
    FitSubspace,
)
from discreet.questions.mode import Mode
from discreet.questions.quantiles import Quantile, Quantiles
from discreet.questions.question import QUESTIONS, Question
from discreet.questions.select import Select
from discreet.questions.top_k import TopK
from discreet.tables.condition_language import parse_condition
from discreet.tables.conditions import Column, Condition
from discreet.tables.totals import Total

__all__ = [
    "QUESTIONS",
    "BestPrice",
    "Column",
    "Condition",
    "Count",
    "Counts",
    "FitCovariance",
    "FitDeepest",
    "FitLinear",
    "FitLogistic",
    "FitSubspace",
    "Mode",
    "Quantile",
    "Quantiles",
    "Question",
    "Select",
    "TopK",
    "Total",
    "parse_condition",
]
