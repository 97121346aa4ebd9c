"""Pieces of HTML and SVG, of which releases, sessions and ledgers make what they show
in a notebook, and the command line its pictures.

The pieces know nothing of data or mechanisms, and need no other library, except for
PNG. All text is escaped here.
"""
