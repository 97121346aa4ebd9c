"""The words that callers choose from: each list once, for type checkers and at run time.

A type checker knows the words by the `Literal`; `choice` compares with the tuple that
is read off it, so that the two cannot drift apart.
"""

from __future__ import annotations

from typing import Literal, get_args

Objective = Literal["max", "min"]
"Which score is best: the largest or the smallest."
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)

MechanismName = Literal[
    "permute-and-flip", "exponential", "gumbel-noise", "exponential-noise", "laplace-noise"
]
"""The mechanisms that `select` knows."""
MECHANISM_NAMES: tuple[MechanismName, ...] = get_args(MechanismName)

PickName = Literal["permute-and-flip", "exponential"]
"""The mechanisms that pick the members of a list, the points of a grid, and candidates
that stay in an engine.
"""
PICK_NAMES: tuple[PickName, ...] = get_args(PickName)

Noise = Literal["gumbel", "exponential", "laplace"]
"""What `ReportNoisyMax` adds to each score."""
NOISES: tuple[Noise, ...] = get_args(Noise)

TopKMethod = Literal["auto", "peel", "one-shot", "joint", "histogram"]
"""The ways to a list that `top_k` knows."""
TOP_K_METHODS: tuple[TopKMethod, ...] = get_args(TopKMethod)

QuantileMethod = Literal["auto", "recursive", "joint", "independent"]
"""The ways to many quantiles."""
QUANTILE_METHODS: tuple[QuantileMethod, ...] = get_args(QuantileMethod)

Neighbours = Literal["add-remove", "replace"]
"""How two neighbouring tables differ: by one person more or less, or by one person's
value.
"""
NEIGHBOURS: tuple[Neighbours, ...] = get_args(Neighbours)

PersonRule = Literal["max", "min"]
"""Which of a person's values counts: the largest or the smallest."""
PERSON_RULES: tuple[PersonRule, ...] = get_args(PersonRule)

VectorRule = Literal["sum", "mean"]
"""How the rows of a person become one vector: added up or averaged."""
VECTOR_RULES: tuple[VectorRule, ...] = get_args(VectorRule)

StoppingName = Literal["logarithmic", "geometric", "poisson", "threshold"]
"""The law of the number of private runs."""
STOPPING_NAMES: tuple[StoppingName, ...] = get_args(StoppingName)

Accountant = Literal["rdp", "pld"]
"""The accountants of dp_accounting."""
ACCOUNTANTS: tuple[Accountant, ...] = get_args(Accountant)

DeepestUnit = Literal["point", "fit"]
"""What one person contributes to a deepest point: one of the points, or a row of one of
the disjoint parts that a model each was fitted on.
"""
DEEPEST_UNITS: tuple[DeepestUnit, ...] = get_args(DeepestUnit)

Closed = Literal["both", "left", "right", "none"]
"""Which ends of an interval belong to it."""

LossName = Literal["logistic", "squared"]
"""The loss function that a linear model is fitted by."""
LOSS_NAMES: tuple[LossName, ...] = get_args(LossName)
