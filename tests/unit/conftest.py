"""The same examples on every machine, however slow it is; and bits of which every tape is tried."""

from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import settings

settings.register_profile("discreet", deadline=None, derandomize=True)
settings.load_profile("discreet")


class _OutOfTapeError(Exception):
    def __init__(self, count):
        super().__init__(count)
        self.count = count


class _Tape:
    """Bits that are written down beforehand, word by word; asking for more ends the run."""

    seeded = True

    def __init__(self, words):
        self._words = iter(words)

    def draw(self, count):
        for word, width in self._words:
            assert width == count
            return word
        raise _OutOfTapeError(count)


def _run_on_every_tape(run, longest):
    """The exact probability of each outcome of `run(bits)`, and what is still open after
    `longest` bits.
    """
    outcomes, still_open = defaultdict(Fraction), Fraction(0)
    waiting = [((), 0)]
    while waiting:
        words, used = waiting.pop()
        try:
            outcomes[run(_Tape(words))] += Fraction(1, 2**used)
        except _OutOfTapeError as needed:
            if used + needed.count > longest:
                still_open += Fraction(1, 2**used)
            else:
                longer = used + needed.count
                waiting += [
                    ((*words, (word, needed.count)), longer) for word in range(2**needed.count)
                ]
    assert sum(outcomes.values()) + still_open == 1  # a check of this function itself
    return dict(outcomes), still_open


@pytest.fixture
def every_tape():
    return _run_on_every_tape
