"""What to draw: mechanisms that state their privacy loss beside the code that samples."""

from discreet.lazy import attach

__getattr__, __dir__ = attach("discreet.mechanisms")
