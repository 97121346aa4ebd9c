"""The auditor: it takes any selection code and finds a violation with a certificate, or
says how hard it looked.

The auditor uses mechanisms and sessions as their users do. Nothing in the package but
the command line uses the auditor.
"""

from discreet.lazy import attach

__getattr__, __dir__ = attach("discreet.auditing")
