"""discreet: differentially private selection, exact, fast, tight and durable.

A selection is a score for every public candidate, a bound on how much one person can
move those scores, and an exact draw whose odds no person can change by more than
e^epsilon.

>>> import discreet
>>> release = discreet.select(
...     {"terrier": 41, "husky": 38}, epsilon=1, sensitivity=1, monotonic=True
... )
>>> release.value in ("terrier", "husky"), release.loss
(True, PureDP(epsilon=1))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.accounting.composition import Composition, GaussianApproximation, compose
    from discreet.accounting.planner import Plan, plan, queries_allowed, queries_by_analysis
    from discreet.accounting.privacy_filter import PrivacyFilter
    from discreet.accounting.random_stopping import private_candidate_loss
    from discreet.accuracy import Accuracy
    from discreet.auditing.auditor import audit
    from discreet.auditing.findings import Finding, Witness
    from discreet.auditing.report import AuditReport
    from discreet.auditing.sessions import SessionReport, audit_session
    from discreet.client import Connection, RemoteDataset, connect
    from discreet.errors import (
        BudgetClosedError,
        BudgetExceededError,
        DiscreetError,
        EngineError,
        KeyReusedError,
        LedgerDamagedError,
        LedgerError,
        MissingExtraError,
        OutdatedLibraryError,
        ParameterError,
        ParameterTypeError,
        QuestionEndedError,
        ReservationLostError,
        ReservationRunningError,
        ScoresError,
        ScoresTypeError,
        ServiceError,
    )
    from discreet.fitting import fit_covariance, fit_deepest, fit_linear, fit_logistic, fit_subspace
    from discreet.functions import quantile, quantiles, select, top_k, top_k_unknown_domain
    from discreet.ledger import (
        Account,
        Charge,
        KeptAnswer,
        Ledger,
        LedgerEntry,
        Reservation,
        Right,
        Verified,
    )
    from discreet.local.base import LocalMechanism
    from discreet.local.randomized_response import RandomizedResponse
    from discreet.local.rappor import Rappor
    from discreet.local.subset_selection import SubsetSelection, best_local_mechanism
    from discreet.mechanisms.above_threshold import AboveThreshold
    from discreet.mechanisms.accuracy_planner import AccuracyPlan, accuracy_at, plan_accuracy
    from discreet.mechanisms.ball import BallExponentialMechanism
    from discreet.mechanisms.bounded_laplace import BoundedDiscreteLaplace
    from discreet.mechanisms.correlated_counts import CorrelatedCounts
    from discreet.mechanisms.deepest_point import DeepestPoint
    from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
    from discreet.mechanisms.discrete_laplace import DiscreteLaplace
    from discreet.mechanisms.generalized_exponential import GeneralizedExponentialMechanism
    from discreet.mechanisms.histogram_top_k import HistogramTopK, UnknownDomainHistogram
    from discreet.mechanisms.interval import IntervalExponentialMechanism
    from discreet.mechanisms.joint_top_k import JointTopK
    from discreet.mechanisms.lattice import LatticeExponentialMechanism
    from discreet.mechanisms.pay_what_you_get import PayWhatYouGet
    from discreet.mechanisms.peeling_top_k import PeelingTopK
    from discreet.mechanisms.private_candidate import select_private_candidate
    from discreet.mechanisms.probability_table import MechanismRange, mechanism_range
    from discreet.mechanisms.rounded_gaussian import RoundedGaussian
    from discreet.mechanisms.selection import ExponentialMechanism, PermuteAndFlip, ReportNoisyMax
    from discreet.mechanisms.subspace import SubspaceExponentialMechanism
    from discreet.mechanisms.unknown_domain import UnknownDomainTopK
    from discreet.privacy.cost import Amount, Cost
    from discreet.privacy.loss import (
        NO_LOSS,
        ZCDP,
        ApproxDP,
        BoundedRange,
        GaussianDP,
        LogisticDP,
        Loss,
        PureDP,
    )
    from discreet.privacy.parameters import NOT_PRIVATE, OneRow, Person
    from discreet.randomness.chance import Bits, SystemBits
    from discreet.release import Counts, Release
    from discreet.rendering.picture import Picture
    from discreet.session import Session
    from discreet.simulation import Preview, made_up_counts, preview
    from discreet.tables.candidates import PublicTable
    from discreet.tables.condition_language import parse_condition
    from discreet.tables.conditions import Column, Condition, column
    from discreet.tables.files import CsvFile, JsonFile
    from discreet.tables.inquiry import ChargedQuestion
    from discreet.tables.preview import ListPrice, Price, SessionDescription
    from discreet.tables.totals import Total, row_count, total

__version__ = "0.2.0.dev0"

# The module of each public name. It is loaded when the name is first used, so that
# `import discreet` loads nothing heavier than NumPy.
_HOMES = {
    "AboveThreshold": "discreet.mechanisms.above_threshold",
    "Account": "discreet.ledger.records",
    "Accuracy": "discreet.accuracy",
    "AccuracyPlan": "discreet.mechanisms.accuracy_planner",
    "Amount": "discreet.privacy.cost",
    "ApproxDP": "discreet.privacy.loss",
    "AuditReport": "discreet.auditing.report",
    "BallExponentialMechanism": "discreet.mechanisms.ball",
    "Bits": "discreet.randomness.chance",
    "BoundedDiscreteLaplace": "discreet.mechanisms.bounded_laplace",
    "BoundedRange": "discreet.privacy.loss",
    "BudgetClosedError": "discreet.errors",
    "BudgetExceededError": "discreet.errors",
    "Charge": "discreet.ledger.records",
    "ChargedQuestion": "discreet.tables.inquiry",
    "Column": "discreet.tables.conditions",
    "Composition": "discreet.accounting.composition",
    "Condition": "discreet.tables.conditions",
    "Connection": "discreet.client",
    "CorrelatedCounts": "discreet.mechanisms.correlated_counts",
    "Cost": "discreet.privacy.cost",
    "Counts": "discreet.release",
    "CsvFile": "discreet.tables.files",
    "DeepestPoint": "discreet.mechanisms.deepest_point",
    "DiscreetError": "discreet.errors",
    "DiscreteGaussian": "discreet.mechanisms.discrete_gaussian",
    "DiscreteLaplace": "discreet.mechanisms.discrete_laplace",
    "EngineError": "discreet.errors",
    "ExponentialMechanism": "discreet.mechanisms.selection",
    "Finding": "discreet.auditing.findings",
    "GaussianApproximation": "discreet.accounting.composition",
    "GaussianDP": "discreet.privacy.loss",
    "GeneralizedExponentialMechanism": "discreet.mechanisms.generalized_exponential",
    "HistogramTopK": "discreet.mechanisms.histogram_top_k",
    "IntervalExponentialMechanism": "discreet.mechanisms.interval",
    "JointTopK": "discreet.mechanisms.joint_top_k",
    "JsonFile": "discreet.tables.files",
    "KeptAnswer": "discreet.ledger.records",
    "KeyReusedError": "discreet.errors",
    "LatticeExponentialMechanism": "discreet.mechanisms.lattice",
    "Ledger": "discreet.ledger.ledger",
    "LedgerDamagedError": "discreet.errors",
    "LedgerEntry": "discreet.ledger.records",
    "LedgerError": "discreet.errors",
    "LocalMechanism": "discreet.local.base",
    "LogisticDP": "discreet.privacy.loss",
    "Loss": "discreet.privacy.loss",
    "MechanismRange": "discreet.mechanisms.probability_table",
    "MissingExtraError": "discreet.errors",
    "NOT_PRIVATE": "discreet.privacy.parameters",
    "NO_LOSS": "discreet.privacy.loss",
    "OneRow": "discreet.privacy.parameters",
    "OutdatedLibraryError": "discreet.errors",
    "ParameterError": "discreet.errors",
    "ParameterTypeError": "discreet.errors",
    "PayWhatYouGet": "discreet.mechanisms.pay_what_you_get",
    "PeelingTopK": "discreet.mechanisms.peeling_top_k",
    "PermuteAndFlip": "discreet.mechanisms.selection",
    "Person": "discreet.privacy.parameters",
    "Picture": "discreet.rendering.picture",
    "Plan": "discreet.accounting.planner",
    "Preview": "discreet.simulation",
    "ListPrice": "discreet.tables.preview",
    "Price": "discreet.tables.preview",
    "PrivacyFilter": "discreet.accounting.privacy_filter",
    "PublicTable": "discreet.tables.candidates",
    "PureDP": "discreet.privacy.loss",
    "QuestionEndedError": "discreet.errors",
    "RandomizedResponse": "discreet.local.randomized_response",
    "Rappor": "discreet.local.rappor",
    "Release": "discreet.release",
    "RemoteDataset": "discreet.client",
    "ReportNoisyMax": "discreet.mechanisms.selection",
    "Reservation": "discreet.ledger.ledger",
    "ReservationLostError": "discreet.errors",
    "ReservationRunningError": "discreet.errors",
    "RoundedGaussian": "discreet.mechanisms.rounded_gaussian",
    "Right": "discreet.ledger.records",
    "ScoresError": "discreet.errors",
    "ScoresTypeError": "discreet.errors",
    "ServiceError": "discreet.errors",
    "Session": "discreet.session",
    "SessionDescription": "discreet.tables.preview",
    "SessionReport": "discreet.auditing.sessions",
    "SubsetSelection": "discreet.local.subset_selection",
    "SubspaceExponentialMechanism": "discreet.mechanisms.subspace",
    "SystemBits": "discreet.randomness.chance",
    "Total": "discreet.tables.totals",
    "UnknownDomainHistogram": "discreet.mechanisms.histogram_top_k",
    "UnknownDomainTopK": "discreet.mechanisms.unknown_domain",
    "Verified": "discreet.ledger.records",
    "Witness": "discreet.auditing.findings",
    "ZCDP": "discreet.privacy.loss",
    "accuracy_at": "discreet.mechanisms.accuracy_planner",
    "audit": "discreet.auditing.auditor",
    "audit_session": "discreet.auditing.sessions",
    "best_local_mechanism": "discreet.local.subset_selection",
    "column": "discreet.tables.conditions",
    "compose": "discreet.accounting.composition",
    "connect": "discreet.client",
    "fit_covariance": "discreet.fitting",
    "fit_deepest": "discreet.fitting",
    "fit_linear": "discreet.fitting",
    "fit_logistic": "discreet.fitting",
    "fit_subspace": "discreet.fitting",
    "made_up_counts": "discreet.simulation",
    "mechanism_range": "discreet.mechanisms.probability_table",
    "parse_condition": "discreet.tables.condition_language",
    "plan": "discreet.accounting.planner",
    "plan_accuracy": "discreet.mechanisms.accuracy_planner",
    "preview": "discreet.simulation",
    "private_candidate_loss": "discreet.accounting.random_stopping",
    "quantile": "discreet.functions",
    "quantiles": "discreet.functions",
    "queries_allowed": "discreet.accounting.planner",
    "queries_by_analysis": "discreet.accounting.planner",
    "row_count": "discreet.tables.totals",
    "select": "discreet.functions",
    "select_private_candidate": "discreet.mechanisms.private_candidate",
    "top_k": "discreet.functions",
    "top_k_unknown_domain": "discreet.functions",
    "total": "discreet.tables.totals",
}

__all__ = [
    "NOT_PRIVATE",
    "NO_LOSS",
    "ZCDP",
    "AboveThreshold",
    "Account",
    "Accuracy",
    "AccuracyPlan",
    "Amount",
    "ApproxDP",
    "AuditReport",
    "BallExponentialMechanism",
    "Bits",
    "BoundedDiscreteLaplace",
    "BoundedRange",
    "BudgetClosedError",
    "BudgetExceededError",
    "Charge",
    "ChargedQuestion",
    "Column",
    "Composition",
    "Condition",
    "Connection",
    "CorrelatedCounts",
    "Cost",
    "Counts",
    "CsvFile",
    "DeepestPoint",
    "DiscreetError",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EngineError",
    "ExponentialMechanism",
    "Finding",
    "GaussianApproximation",
    "GaussianDP",
    "GeneralizedExponentialMechanism",
    "HistogramTopK",
    "IntervalExponentialMechanism",
    "JointTopK",
    "JsonFile",
    "KeptAnswer",
    "KeyReusedError",
    "LatticeExponentialMechanism",
    "Ledger",
    "LedgerDamagedError",
    "LedgerEntry",
    "LedgerError",
    "ListPrice",
    "LocalMechanism",
    "LogisticDP",
    "Loss",
    "MechanismRange",
    "MissingExtraError",
    "OneRow",
    "OutdatedLibraryError",
    "ParameterError",
    "ParameterTypeError",
    "PayWhatYouGet",
    "PeelingTopK",
    "PermuteAndFlip",
    "Person",
    "Picture",
    "Plan",
    "Preview",
    "Price",
    "PrivacyFilter",
    "PublicTable",
    "PureDP",
    "QuestionEndedError",
    "RandomizedResponse",
    "Rappor",
    "Release",
    "RemoteDataset",
    "ReportNoisyMax",
    "Reservation",
    "ReservationLostError",
    "ReservationRunningError",
    "Right",
    "RoundedGaussian",
    "ScoresError",
    "ScoresTypeError",
    "ServiceError",
    "Session",
    "SessionDescription",
    "SessionReport",
    "SubsetSelection",
    "SubspaceExponentialMechanism",
    "SystemBits",
    "Total",
    "UnknownDomainHistogram",
    "UnknownDomainTopK",
    "Verified",
    "Witness",
    "accuracy_at",
    "audit",
    "audit_session",
    "best_local_mechanism",
    "column",
    "compose",
    "connect",
    "fit_covariance",
    "fit_deepest",
    "fit_linear",
    "fit_logistic",
    "fit_subspace",
    "made_up_counts",
    "mechanism_range",
    "parse_condition",
    "plan",
    "plan_accuracy",
    "preview",
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


# The names from before 0.2, which still work until 1.0.
_FORMER_NAMES = {
    "BudgetExceeded": "BudgetExceededError",
    "Filter": "PrivacyFilter",
    "KeyReused": "KeyReusedError",
    "LedgerDamaged": "LedgerDamagedError",
    "ReservationBurnt": "ReservationLostError",
}


def __getattr__(name: str) -> Any:
    name = _FORMER_NAMES.get(name, name)
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
