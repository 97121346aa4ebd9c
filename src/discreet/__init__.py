"""discreet: differentially private selection, exact, fast, tight and durable.

A selection is a score for every public candidate, a bound on how much one person can move those scores, and an exact draw
whose odds no person can change by more than e^epsilon.

>>> import discreet
>>> release = discreet.select({"terrier": 41, "husky": 38}, epsilon=1, sensitivity=1, monotonic=True)
>>> release.value in ("terrier", "husky"), release.loss
(True, PureDP(epsilon=1))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.accounting.composition import Composition, compose
    from discreet.accounting.filter import Filter
    from discreet.accounting.gaussian import GaussianApproximation
    from discreet.accounting.planner import Plan, plan, queries_allowed, queries_by_analysis
    from discreet.accounting.random_stopping import private_candidate_loss
    from discreet.data.condition_language import parse_condition
    from discreet.data.conditions import Condition, column
    from discreet.data.files import CsvFile
    from discreet.data.public import PublicTable
    from discreet.data.totals import Total, row_count, total
    from discreet.errors import (
        BudgetExceeded,
        DiscreetError,
        EngineError,
        KeyReused,
        LedgerDamaged,
        LedgerError,
        MissingExtraError,
        ParameterError,
        ParameterTypeError,
        ReservationBurnt,
        ScoresError,
        ScoresTypeError,
    )
    from discreet.ledger import Ledger, Reservation
    from discreet.local.choosing import best_local_mechanism
    from discreet.local.randomized_response import RandomizedResponse
    from discreet.local.rappor import Rappor
    from discreet.local.subset_selection import SubsetSelection
    from discreet.locating import quantile, quantiles
    from discreet.mechanisms.above_threshold import AboveThreshold
    from discreet.mechanisms.bounded_laplace import BoundedDiscreteLaplace
    from discreet.mechanisms.discrete_laplace import DiscreteLaplace
    from discreet.mechanisms.exponential import ExponentialMechanism
    from discreet.mechanisms.generalized import GeneralizedExponentialMechanism
    from discreet.mechanisms.interval import IntervalExponentialMechanism
    from discreet.mechanisms.joint_top_k import JointTopK
    from discreet.mechanisms.lattice import LatticeExponentialMechanism
    from discreet.mechanisms.noisy_max import ReportNoisyMax
    from discreet.mechanisms.parameters import NOT_PRIVATE
    from discreet.mechanisms.permute_and_flip import PermuteAndFlip
    from discreet.mechanisms.private_candidate import select_private_candidate
    from discreet.mechanisms.top_k import PeelingTopK
    from discreet.mechanisms.unknown_domain import PayWhatYouGet, UnknownDomainTopK
    from discreet.privacy.loss import ZCDP, ApproxDP, BoundedRange, Loss, PureDP
    from discreet.privacy.unit import OneRow, Person
    from discreet.release import Release
    from discreet.samplers.bits import Bits, SystemBits
    from discreet.selecting import select, top_k, top_k_unknown_domain
    from discreet.session import Session
    from discreet.universality import MechanismRange, mechanism_range

__version__ = "0.2.0.dev0"

# Where each public name lives. Loading is late, so that `import discreet` costs NumPy and nothing heavier.
_HOMES = {
    "AboveThreshold": "discreet.mechanisms.above_threshold",
    "ApproxDP": "discreet.privacy.loss",
    "Bits": "discreet.samplers.bits",
    "BoundedDiscreteLaplace": "discreet.mechanisms.bounded_laplace",
    "BoundedRange": "discreet.privacy.loss",
    "BudgetExceeded": "discreet.errors",
    "Composition": "discreet.accounting.composition",
    "Condition": "discreet.data.conditions",
    "CsvFile": "discreet.data.files",
    "DiscreetError": "discreet.errors",
    "DiscreteLaplace": "discreet.mechanisms.discrete_laplace",
    "EngineError": "discreet.errors",
    "ExponentialMechanism": "discreet.mechanisms.exponential",
    "Filter": "discreet.accounting.filter",
    "GaussianApproximation": "discreet.accounting.gaussian",
    "GeneralizedExponentialMechanism": "discreet.mechanisms.generalized",
    "IntervalExponentialMechanism": "discreet.mechanisms.interval",
    "JointTopK": "discreet.mechanisms.joint_top_k",
    "KeyReused": "discreet.errors",
    "LatticeExponentialMechanism": "discreet.mechanisms.lattice",
    "Ledger": "discreet.ledger.ledger",
    "LedgerDamaged": "discreet.errors",
    "LedgerError": "discreet.errors",
    "Loss": "discreet.privacy.loss",
    "MechanismRange": "discreet.universality",
    "MissingExtraError": "discreet.errors",
    "NOT_PRIVATE": "discreet.mechanisms.parameters",
    "OneRow": "discreet.privacy.unit",
    "ParameterError": "discreet.errors",
    "ParameterTypeError": "discreet.errors",
    "PayWhatYouGet": "discreet.mechanisms.unknown_domain",
    "PeelingTopK": "discreet.mechanisms.top_k",
    "PermuteAndFlip": "discreet.mechanisms.permute_and_flip",
    "Person": "discreet.privacy.unit",
    "Plan": "discreet.accounting.planner",
    "PublicTable": "discreet.data.public",
    "PureDP": "discreet.privacy.loss",
    "RandomizedResponse": "discreet.local.randomized_response",
    "Rappor": "discreet.local.rappor",
    "Release": "discreet.release",
    "ReportNoisyMax": "discreet.mechanisms.noisy_max",
    "Reservation": "discreet.ledger.reservation",
    "ReservationBurnt": "discreet.errors",
    "ScoresError": "discreet.errors",
    "ScoresTypeError": "discreet.errors",
    "Session": "discreet.session",
    "SubsetSelection": "discreet.local.subset_selection",
    "SystemBits": "discreet.samplers.bits",
    "Total": "discreet.data.totals",
    "UnknownDomainTopK": "discreet.mechanisms.unknown_domain",
    "ZCDP": "discreet.privacy.loss",
    "best_local_mechanism": "discreet.local.choosing",
    "column": "discreet.data.conditions",
    "compose": "discreet.accounting.composition",
    "mechanism_range": "discreet.universality",
    "parse_condition": "discreet.data.condition_language",
    "plan": "discreet.accounting.planner",
    "private_candidate_loss": "discreet.accounting.random_stopping",
    "quantile": "discreet.locating",
    "quantiles": "discreet.locating",
    "queries_allowed": "discreet.accounting.planner",
    "queries_by_analysis": "discreet.accounting.planner",
    "row_count": "discreet.data.totals",
    "select": "discreet.selecting",
    "select_private_candidate": "discreet.mechanisms.private_candidate",
    "top_k": "discreet.selecting",
    "top_k_unknown_domain": "discreet.selecting",
    "total": "discreet.data.totals",
}

__all__ = [
    "NOT_PRIVATE",
    "ZCDP",
    "AboveThreshold",
    "ApproxDP",
    "Bits",
    "BoundedDiscreteLaplace",
    "BoundedRange",
    "BudgetExceeded",
    "Composition",
    "Condition",
    "CsvFile",
    "DiscreetError",
    "DiscreteLaplace",
    "EngineError",
    "ExponentialMechanism",
    "Filter",
    "GaussianApproximation",
    "GeneralizedExponentialMechanism",
    "IntervalExponentialMechanism",
    "JointTopK",
    "KeyReused",
    "LatticeExponentialMechanism",
    "Ledger",
    "LedgerDamaged",
    "LedgerError",
    "Loss",
    "MechanismRange",
    "MissingExtraError",
    "OneRow",
    "ParameterError",
    "ParameterTypeError",
    "PayWhatYouGet",
    "PeelingTopK",
    "PermuteAndFlip",
    "Person",
    "Plan",
    "PublicTable",
    "PureDP",
    "RandomizedResponse",
    "Rappor",
    "Release",
    "ReportNoisyMax",
    "Reservation",
    "ReservationBurnt",
    "ScoresError",
    "ScoresTypeError",
    "Session",
    "SubsetSelection",
    "SystemBits",
    "Total",
    "UnknownDomainTopK",
    "best_local_mechanism",
    "column",
    "compose",
    "mechanism_range",
    "parse_condition",
    "plan",
    "private_candidate_loss",
    "quantile",
    "quantiles",
    "queries_allowed",
    "queries_by_analysis",
    "row_count",
    "select",
    "select_private_candidate",
    "top_k",
    "top_k_unknown_domain",
    "total",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
