"""The door for a team: questions over HTTP and on a page, from published data sets.

A steward publishes data sets in a file, the manifest. Analysts ask within their shares.
Every answer is private, paid for before a row is read, and kept: the same question
again gives the same bytes for nothing.

It uses the public names of discreet only, like any other user. Starlette, Pydantic,
Jinja2 and uvicorn come with the extra ``discreet[service]``.
"""
