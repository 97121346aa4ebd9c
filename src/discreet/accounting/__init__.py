"""What many releases cost together: certified composition, planning, and a filter for
adaptive queries.
"""

from discreet.lazy import attach

__getattr__, __dir__ = attach("discreet.accounting")
