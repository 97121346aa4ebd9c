"""Operations: the same after their way as JSON, and nothing else is read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from discreet import BoundedRange, PureDP
from discreet.ledger.budget_terms import Sums, agree, read_new_terms
from discreet.ledger.chain import canonical, fingerprint
from discreet.ledger.entries import read_operation
from discreet.ledger.operations import (
    KINDS,
    Abandon,
    AnchorNoted,
    Close,
    Extend,
    Note,
    Open,
    Reserve,
    Settle,
)
from discreet.ledger.subject import Subject
from discreet.ledger.validation import read_request

TERMS = agree(read_new_terms(PureDP(1), False, Subject(), "test")).to_text()
COMMON = {"ticket": "t", "time": "2026-11-16T00:00:00+00:00", "dataset": "survey"}
RESERVE = Reserve(
    **COMMON,
    analyst="ada",
    windows=("may",),
    loss=PureDP(0.4),
    parts=((BoundedRange(0.1), 4),),
    delta="0",
    amounts=(("epsilon", Sums(4, None, 0)), ("coins of 1/100", Sums(4, 400, 1))),
    request={"what": "mode"},
    key="k",
    after=0,
    holder="h",
)
EVERY = [
    Open(**COMMON, analyst="", terms=TERMS, stated=("counting",)),
    Extend(**COMMON, analyst="", terms=TERMS, fresh=TERMS, reason="More."),
    Close(**COMMON, analyst="ada", reason="Over."),
    RESERVE,
    Settle(**COMMON, analyst="ada", key="k", of=2, answer="{}"),
    Settle(**COMMON, analyst="ada", key="k", of=2, answer=None),
    Abandon(**COMMON, analyst="ada", key="k", of=2),
    Note(**COMMON, what={"a": [1]}),
    AnchorNoted(**COMMON, key="anchor"),
]


def test_every_kind_is_here():
    assert {type(one) for one in EVERY} == set(KINDS.values())


@pytest.mark.parametrize("operation", EVERY, ids=lambda one: one.do)
def test_operations_survive_their_way(operation):
    assert read_operation(json.loads(json.dumps(operation.to_dict()))) == operation


REQUESTS = [
    {},
    {"b": "1", "a": "2", 'é"\\': "\x00\n\u2028\U0001f600"},
    {"b": {"d": 1, "c": [None, True, 0.5]}, "a": "2"},
]


@pytest.mark.parametrize(
    "operation",
    [
        *EVERY,
        *(replace(RESERVE, request=request, key='"é\n') for request in REQUESTS),
        replace(RESERVE, parts=None, windows=(), after=7, amounts=()),
        replace(RESERVE, windows=("é", 'a"b'), analyst="\\", dataset="\u2028", delta="1/3"),
    ],
)
def test_there_is_one_way_to_write_an_operation(operation):
    """Some are written field by field. What comes out is hashed, and compared with what others
    write: it must be what a JSON encoder makes of it.
    """
    told = operation.to_dict()
    entry = operation.entry()
    if isinstance(operation, Settle) and operation.answer is not None:
        # the chain has its digest
        told["answer"] = fingerprint(operation.answer)
        operation = replace(operation, answer=told["answer"])
    assert entry == canonical(told)
    assert read_operation(json.loads(entry)) == operation
    if isinstance(operation, Reserve):
        names = ("dataset", "analyst", "windows", "loss", "request")
        assert operation.fingerprint == fingerprint([told[name] for name in names])


@pytest.mark.parametrize("operation", EVERY, ids=lambda one: one.do)
def test_every_field_is_needed_and_no_other(operation):
    told = operation.to_dict()
    for name in told:
        with pytest.raises((KeyError, ValueError)):
            read_operation({other: told[other] for other in told if other != name})
    with pytest.raises(ValueError, match="other fields"):
        read_operation({**told, "more": 1})


@pytest.mark.parametrize(
    "wrong",
    [
        {"do": "refund"},
        {"key": 7},
        {"after": -1},
        {"after": True},
        {"windows": "may"},
        {"loss": {"kind": "pure-dp", "epsilon": "-1"}},
        {"parts": [[{"kind": "pure-dp", "epsilon": "1"}, -1]]},
        {"amounts": [["epsilon", ["-4", "1", "0"]]]},
        {"amounts": [["epsilon", ["nan", "1", "0"]]]},
        {"amounts": [["epsilon", ["4", "1", "more"]]]},
        {"request": "mode"},
    ],
)
def test_what_makes_no_sense_is_not_read(wrong):
    with pytest.raises((KeyError, ValueError, TypeError)):
        read_operation({**RESERVE.to_dict(), **wrong})


def test_an_entry_has_the_digest_of_an_answer_only():
    kept = Settle(**COMMON, analyst="", key="k", of=2, answer="canary")
    assert "canary" not in kept.entry()
    assert json.loads(kept.entry())["answer"] == fingerprint("canary")
    assert kept.to_dict()["answer"] == "canary"


def test_two_requests_are_the_same_by_what_is_asked():
    other = {**RESERVE.to_dict(), "ticket": "u", "holder": "i", "after": 2}
    assert read_operation(other).fingerprint == RESERVE.fingerprint
    for change in (
        {"request": {"what": "top"}},
        {"loss": PureDP(0.5).to_dict()},
        {"windows": ["june"]},
        {"analyst": "bob"},
    ):
        changed = read_operation({**RESERVE.to_dict(), **change})
        assert changed.fingerprint != RESERVE.fingerprint


@pytest.mark.parametrize(
    "request_",
    [
        {"\ud83d\ude00": "halves", "\U0001f600": "whole"},
        {"what": "\ud83d\ude00"},
        {"what": "\ud800"},
        {"what": "\x00\r\n\x1c\u2028"},
        {"é": "à"},
    ],
)
def test_a_request_is_read_back_as_it_is(request_):
    """Two halves of a character are one in JSON, and a ledger is read by its JSON."""
    plain = read_request(request_, "test")
    assert json.loads(json.dumps(plain)) == plain
