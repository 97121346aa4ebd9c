"""Exact draws: from random bits to a candidate, without a rounding error in between."""
