"""Exact numbers: rationals as callers write them, and enclosures of what is irrational."""
