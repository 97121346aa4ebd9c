"""What comes out: an answer together with what it cost."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, ParameterTypeError
from discreet.privacy.loss import Loss, loss_from_dict

_FORMAT = 1
_NUMBER = re.compile(r"[0-9]{1,4000}(/[0-9]{1,4000})?")  # no exponents, which could fill the memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A private answer. It holds nothing about the data but the answer itself.

    value: the label or position that was selected; a list of them for a top-k; None where the answer is "nothing" (⊥).
    loss: what the release cost, in total.
    mechanism: how the answer was drawn.
    candidates: how many candidates there were to choose from, where that is a public number.
    gap: by how much the winner won, with noise, where that was asked for.
    seeded: True if the bits were predictable, so that the answer is a simulation and **not private**.

    >>> from discreet import PureDP
    >>> release = Release(value="terrier", loss=PureDP(1), mechanism="permute-and-flip", candidates=3)
    >>> Release.from_json(release.to_json()) == release
    True
    """

    value: Any
    loss: Loss
    mechanism: str
    candidates: int | None
    seeded: bool = False
    gap: Fraction | None = None

    def to_json(self) -> str:
        """The release as one line of JSON, with exact privacy numbers."""
        fields = {
            "discreet": _FORMAT,
            "value": None if self.value is None else _plain(self.value),
            "loss": self.loss.to_dict(),
            "mechanism": self.mechanism,
            "candidates": self.candidates,
            "seeded": self.seeded,
        } | ({} if self.gap is None else {"gap": str(self.gap)})
        return json.dumps(fields, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Read what `to_json` wrote."""
        try:
            fields = json.loads(text, parse_constant=_refuse_constant)
            fields = {"gap": None, **fields}
            if fields["discreet"] != _FORMAT or set(fields) != {"discreet", *cls.__slots__}:
                raise ValueError("another format")
            fields["value"], fields["loss"] = _restored_value(fields["value"]), loss_from_dict(fields["loss"])
            fields["gap"] = _restored_gap(fields["gap"])
            if [type(fields[name]) for name in ("mechanism", "seeded")] != [str, bool]:
                raise ValueError("wrong types")
            if fields["candidates"] is not None and not (type(fields["candidates"]) is int and fields["candidates"] >= 1):
                raise ValueError("no candidates")
        except (ValueError, ArithmeticError, KeyError, TypeError, AttributeError, RecursionError) as error:
            rule = f"what Release.to_json wrote, in format {_FORMAT}"
            raise ParameterError("Release.from_json", "text", rule, text) from error
        return cls(**{name: fields[name] for name in cls.__slots__})


def _plain(value: Any) -> Any:
    """A label as JSON. Tuples are marked, because JSON has only lists."""
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(part) for part in value]}
    raise ParameterTypeError(
        "Release.to_json", "value", "made of text, numbers, lists and tuples", value, "Use such labels for candidates."
    )


def _restored_value(value: Any) -> Any:
    return None if value is None else _restored(value)


def _restored_gap(text: Any) -> Fraction | None:
    if text is None:
        return None
    if not (isinstance(text, str) and _NUMBER.fullmatch(text)):
        raise ValueError("not a gap")
    return Fraction(text)


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(part) for part in value]
    if isinstance(value, dict):
        (parts,) = [value["tuple"]] if set(value) == {"tuple"} else []
        return tuple(_restored(part) for part in parts)
    if value is None:
        raise ValueError("an empty label")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
