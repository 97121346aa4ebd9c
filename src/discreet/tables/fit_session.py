"""The questions of a session whose answer is a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.exact.rationals import Number
from discreet.literals import VectorRule
from discreet.randomness.chance import Bits
from discreet.release import Release
from discreet.tables.condition_language import Where
from discreet.tables.curator import Asking, Curator
from discreet.tables.fit_questions import (
    Classes,
    Scales,
    prepare_covariance,
    prepare_deepest,
    prepare_linear,
    prepare_logistic,
    prepare_subspace,
)
from discreet.tables.vectors import read_columns

FITS = ("fit_subspace", "fit_covariance", "fit_linear", "fit_logistic", "fit_deepest")
"""The questions that are fits, by the names of their methods."""


class FitQuestions:
    """What a session answers with a model: principal components, regressions, a centre.

    Each person is one vector. A row with a cell that is no finite number is left out,
    and so is a person without another row.
    """

    _curator: Curator

    def fit_subspace(
        self,
        columns: Sequence[str],
        *,
        k: int,
        epsilon: Number,
        norm: Number,
        center: Scales = None,
        scale: Scales = None,
        rule: VectorRule | None = None,
        where: Where | None = None,
        fresh: bool = False,
        bits: Bits | None = None,
    ) -> Release:
        """Private principal components: the k-dimensional subspace in which the persons'
        vectors are longest, as `discreet.fit_subspace`.

        columns: 2 to 128 columns of numbers.
        norm: a public length, after centring and scaling. A longer vector of a person
            is shortened to it. A cell, and the sum of a person, beyond about 1,000
            times the norm counts as that much.
        center, scale: public numbers, the same for all columns or one for each: a cell
            counts for (cell - center) / scale.
        rule: whether the rows of a person are added up ("sum") or averaged ("mean"). It
            has to be said where a person can have several rows; there is no default.
        where: which rows count, as for `mode`.

        Cost: one aggregation of whole numbers in the engine, which gives back one row; of
            more than 24 columns, and on Spark and databases, one row for
            each person.
        Utility: `Release.accuracy`, for up to 2^33 persons.

        >>> import pandas
        >>> from discreet import OneRow, PureDP, Session
        >>> from discreet.testing import SeededBits
        >>> sizes = pandas.DataFrame(
        ...     {"height": [150, 160, 190] * 200, "weight": [50, 60, 90] * 200}
        ... )
        >>> session = Session(sizes, unit=OneRow(), budget=PureDP(1))
        >>> release = session.fit_subspace(
        ...     ["height", "weight"],
        ...     k=1,
        ...     epsilon=1,
        ...     norm=1,
        ...     center=[165, 65],
        ...     scale=20,
        ...     bits=SeededBits(1),
        ... )
        >>> [round(part, 1) for part in release.value[0]]
        [0.7, 0.7]
        """
        names = read_columns(columns, "Session.fit_subspace", least=2)
        return self._curator.ask(
            self._about("fit_subspace", names, where).of(
                prepare_subspace,
                columns=names,
                k=k,
                epsilon=epsilon,
                norm=norm,
                center=center,
                scale=scale,
                rule=rule,
            ),
            fresh=fresh,
            bits=bits,
        )

    def fit_covariance(
        self,
        columns: Sequence[str],
        *,
        epsilon: Number,
        norm: Number,
        k: int | None = None,
        center: Scales = None,
        scale: Scales = None,
        rule: VectorRule | None = None,
        where: Where | None = None,
        fresh: bool = False,
        bits: Bits | None = None,
    ) -> Release:
        """Orthogonal directions in which the persons' vectors are long, and the sum of
        squares along each, as `discreet.fit_covariance`.

        k: how many directions; if not given, as many as there are columns.
        columns, norm, center, scale, rule, where: as for `fit_subspace`.
        """
        names = read_columns(columns, "Session.fit_covariance", least=2)
        return self._curator.ask(
            self._about("fit_covariance", names, where).of(
                prepare_covariance,
                columns=names,
                k=k,
                epsilon=epsilon,
                norm=norm,
                center=center,
                scale=scale,
                rule=rule,
            ),
            fresh=fresh,
            bits=bits,
        )

    def fit_linear(
        self,
        columns: Sequence[str],
        target: str,
        *,
        bounds: tuple[Number, Number],
        norm: Number,
        radius: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        ridge: Number = 0,
        intercept: bool = False,
        center: Scales = None,
        scale: Scales = None,
        rule: VectorRule | None = None,
        where: Where | None = None,
        fresh: bool = False,
        bits: Bits | None = None,
    ) -> Release:
        """Coefficients of a linear regression, one for each column, as `discreet.fit_linear`.

        target: the column that is predicted. Of several rows of a person, targets are
            added up or averaged as the other columns are.
        bounds: of the target, public; a person's target outside counts as the nearest.
        radius, epsilon, rho, ridge: as for `discreet.fit_linear`.
        intercept: True for a last coefficient that is the same in every row. It is a
            column of ones, which counts for the norm, too.
        columns, norm, center, scale, rule, where: as for `fit_subspace`. Coefficients
            are those of the centred and scaled columns.

        Cost: one aggregation in the engine, which gives back one row for each person.
        """
        names = read_columns(columns, "Session.fit_linear")
        return self._curator.ask(
            self._about("fit_linear", names, where, target=target).of(
                prepare_linear,
                columns=names,
                target=target,
                bounds=bounds,
                norm=norm,
                radius=radius,
                epsilon=epsilon,
                rho=rho,
                ridge=ridge,
                intercept=intercept,
                center=center,
                scale=scale,
                rule=rule,
            ),
            fresh=fresh,
            bits=bits,
        )

    def fit_logistic(
        self,
        columns: Sequence[str],
        label: str,
        *,
        norm: Number,
        classes: tuple[Any, Any],
        radius: Number | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        ridge: Number = 0,
        intercept: bool = False,
        center: Scales = None,
        scale: Scales = None,
        rule: VectorRule | None = None,
        where: Where | None = None,
        fresh: bool = False,
        bits: Bits | None = None,
    ) -> Release:
        """Coefficients of a logistic regression, one for each column, as
        `discreet.fit_logistic`.

        label: the column with the two classes. A row with another label is no row of
            either; a person has the label of most of their rows, and is left out where
            there are as many of one as of the other.
        classes: the label that a negative score stands for, and the one of a positive
            score; public.
        radius, epsilon, rho, ridge: as for `discreet.fit_logistic`.
        columns, norm, intercept, center, scale, rule, where: as for `fit_linear`.
        """
        names = read_columns(columns, "Session.fit_logistic")
        return self._curator.ask(
            self._about("fit_logistic", names, where, label=label).of(
                prepare_logistic,
                columns=names,
                label=label,
                classes=Classes(classes),
                norm=norm,
                radius=radius,
                epsilon=epsilon,
                rho=rho,
                ridge=ridge,
                intercept=intercept,
                center=center,
                scale=scale,
                rule=rule,
            ),
            fresh=fresh,
            bits=bits,
        )

    def fit_deepest(
        self,
        columns: Sequence[str],
        *,
        bounds: Sequence[tuple[Number, Number]],
        step: Number | Sequence[Number],
        epsilon: Number,
        rule: VectorRule | None = None,
        where: Where | None = None,
        fresh: bool = False,
        bits: Bits | None = None,
    ) -> Release:
        """A point in the middle of all persons, as `discreet.fit_deepest`: about a median in
        every column, whatever some persons are.

        bounds: a pair for each column: what is beyond counts as the nearest; public.
        step: of the grid that the answer is on, for all columns or for each; public.
        columns, rule, where: as for `fit_subspace`.

        Utility: ask `DeepestPoint.points_needed` first.
        """
        names = read_columns(columns, "Session.fit_deepest")
        return self._curator.ask(
            self._about("fit_deepest", names, where).of(
                prepare_deepest, columns=names, bounds=bounds, step=step, epsilon=epsilon, rule=rule
            ),
            fresh=fresh,
            bits=bits,
        )

    def _about(
        self,
        what: str,
        columns: Sequence[str],
        where: Where | None,
        **other: str,
    ) -> Asking:
        """What a question about these columns has in common with every other one.

        other: another column, by the parameter that names it.
        """
        given = [
            *((name, "columns") for name in columns),
            *((each, by) for by, each in other.items()),
        ]
        for name, parameter in given:
            self._curator.table.require(name, parameter, f"Session.{what}")
        looked_at = [name for name, _ in given]
        return Asking(what, looked_at, where=where)
