"""Small pieces of HTML and SVG: notebooks, pictures and web pages are made of the same ones.

They know nothing of data or mechanisms, and need no other library. All text is escaped
here.
"""
