"""The chain: hashes that cover everything before, and one way to write a value."""

from __future__ import annotations

import hashlib

import pytest

from discreet.ledger.chain import START, Anchor, canonical, fingerprint, link


def test_a_link_covers_its_number_its_text_and_what_came_before():
    first = link(START, "a")
    assert first.number == 1
    assert (
        len(
            {
                first.hash,
                link(START, "b").hash,
                link(first, "a").hash,
                link(Anchor(1, START.hash), "a").hash,
            }
        )
        == 4
    )


def test_a_link_can_be_computed_by_anybody():
    """The format is what auditors rely on, years later: this test must never change."""
    text = b"discreet ledger 1\n1\n" + b"0" * 64 + b'\n{"do":"open"}'
    assert link(START, '{"do":"open"}') == Anchor(1, hashlib.sha256(text).hexdigest())


def test_an_anchor_reads_what_it_writes():
    anchor = link(START, "a")
    assert Anchor.read(str(anchor)) == Anchor.read(f" {anchor}\n") == anchor


@pytest.mark.parametrize("number", ["", "-1", "1.0", "\u0661", "1" * 19])
def test_what_is_no_number_is_no_anchor(number):
    with pytest.raises(ValueError, match="not an anchor"):
        Anchor.read(f"{number}:{'a' * 64}")


@pytest.mark.parametrize("digest", ["", ":", ":" + "a" * 63, ":" + "a" * 65, "a" * 64])
def test_what_has_no_hash_is_no_anchor(digest):
    with pytest.raises(ValueError, match="not an anchor"):
        Anchor.read(f"1{digest}")


def test_there_is_one_way_to_write_a_value():
    assert canonical({"b": [1, None], "a": "ü"}) == '{"a":"\\u00fc","b":[1,null]}'
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a": "1"}) != fingerprint({"a": 1})


def test_what_json_does_not_know_is_no_value():
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical(float("nan"))
