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

from discreet.lazy import attach

__version__ = "0.2.0.dev0"

__getattr__, __dir__ = attach("discreet")
