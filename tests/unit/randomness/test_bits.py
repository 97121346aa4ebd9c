"""The door to randomness: in range, uniform, from the operating system, and never repeated by a
forked worker.
"""

import os
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from tiers import loop_over, more

import discreet
from discreet.randomness.chance import Bits, SystemBits
from discreet.testing import SeededBits


@loop_over("source", [SystemBits(), SeededBits(1)], ids=repr)
@loop_over("count", [1, 2, 7, 8, 9, 63, 64, 65, 1000])
def test_a_draw_is_in_range(source, count):
    assert all(0 <= source.draw(count) < 2**count for _ in range(50))


@pytest.mark.parametrize("count", [1, 7, 8, 9, 64, 513])
@pytest.mark.parametrize("byte", [0x00, 0xFF])
def test_system_bits_come_from_the_operating_system(monkeypatch, count, byte):
    asked = []
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or bytes([byte]) * size)
    assert SystemBits().draw(count) == (2**count - 1 if byte else 0)
    assert asked == [-(-count // 8)]


@pytest.mark.parametrize("count", [*range(1, 10), more(10), more(11), 12])
def test_every_value_stands_for_equally_many_byte_strings(monkeypatch, count):
    size = -(-count // 8)
    words = iter(range(256**size))
    monkeypatch.setattr(os, "urandom", lambda size: next(words).to_bytes(size, "big"))
    source = SystemBits()
    seen = Counter(source.draw(count) for _ in range(256**size))
    assert seen == dict.fromkeys(range(2**count), 256**size // 2**count)


def test_nothing_is_kept_between_draws(monkeypatch):
    # a buffer would be shared with forked children
    calls = []
    monkeypatch.setattr(os, "urandom", lambda size: calls.append(size) or bytes(size))
    bits = SystemBits()
    for _ in range(5):
        bits.draw(1)
    assert len(calls) == 5
    assert not hasattr(bits, "__dict__")


def test_no_bits_at_all_are_zero():
    assert SystemBits().draw(0) == SeededBits(1).draw(0) == 0


# In a process of its own: pytest's workers have threads, and a fork of those is no place
# for a test.
FORKS = """
import os, discreet
from discreet.randomness.chance import _SYSTEM_BITS
mechanism = discreet.mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1)
mechanism.select([0] * 100)  # whatever is kept in the parent is kept by now
for _ in range(4):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        drawn = [_SYSTEM_BITS.draw(128), *mechanism.select_many([0] * 1000, draws=20).tolist()]
        os.write(writing, repr(drawn).encode())
        os._exit(0)
    os.waitpid(child, 0)
    print(os.read(reading, 100_000).decode())
print([_SYSTEM_BITS.draw(128), *mechanism.select_many([0] * 1000, draws=20).tolist()])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_children_draw_different_numbers():
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, check=True, timeout=60
    )
    lines = [eval(line) for line in done.stdout.splitlines()]
    # two equal rows by chance: less than 10 pairs * 1000^-20
    assert len({line[0] for line in lines}) == len({tuple(line[1:]) for line in lines}) == 5


def test_seeded_bits_are_the_same_on_every_machine():
    bits = SeededBits(7)
    assert [bits.draw(count) for count in (16, 1, 8, 64)] == [23703, 1, 3, 3333602164586851353]
    assert SeededBits(-1).draw(64) == 6124294118815607561


def test_seeded_bits_are_one_stream_however_it_is_cut():
    whole, parts, position = SeededBits(3).draw(2000), SeededBits(3), 0
    for count in (1, 511, 512, 513, 63, 400):
        assert parts.draw(count) == (whole >> position) & (2**count - 1)
        position += count
    assert position == 2000


def test_seeds_differ():
    assert len({SeededBits(seed).draw(64) for seed in range(-50, 50)}) == 100


@pytest.mark.parametrize("seed", [True, 1.0, "7", None], ids=repr)
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(
        discreet.errors.ParameterTypeError,
        match="The 'seed' parameter of SeededBits must be a whole number",
    ):
        SeededBits(seed)


def test_a_seed_is_not_shown():
    assert "918273" not in repr(SeededBits(918273))


@pytest.mark.parametrize("source", [SystemBits(), SeededBits(1)], ids=repr)
def test_sources_follow_the_protocol(source):
    assert isinstance(source, Bits)
    assert source.seeded is isinstance(source, SeededBits)


@pytest.mark.parametrize(
    "bits",
    [
        pytest.param(7, id="int"),
        pytest.param("seed", id="text"),
        pytest.param(object(), id="object"),
        pytest.param(SystemBits, id="class"),
        pytest.param(SimpleNamespace(draw=SystemBits().draw), id="without seeded"),
        pytest.param(SimpleNamespace(seeded=True), id="without draw"),
        pytest.param(SimpleNamespace(seeded=True, draw=7), id="draw is a number"),
    ],
)
def test_what_is_no_source_of_bits_is_refused(bits):
    with pytest.raises(
        discreet.errors.ParameterTypeError,
        match="'bits' parameter of select must be a source of random bits",
    ):
        discreet.select([1, 2], epsilon=1, sensitivity=1, bits=bits)
