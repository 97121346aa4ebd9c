"""The service for a team: questions to published data sets, over HTTP and on web pages.

A steward publishes data sets in a file, the manifest. Analysts ask within their shares
of the budgets. Every answer is private, paid for before a row is read, and kept: the
same question again gives the same bytes and costs nothing.

The service imports only the public names of discreet, like any other user. Starlette,
Pydantic, Jinja2 and uvicorn come with the extra ``discreet[service]``.
"""
