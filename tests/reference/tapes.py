"""Run the real mechanism code on every random tape. The auditor does so too, for everybody."""

from discreet.auditing.tapes import GivenUp, Tape, distribution

__all__ = ["GivenUp", "Tape", "distribution"]
