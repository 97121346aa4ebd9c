"""`discreet serve` runs the service for a team, and `discreet explore` its web page for
one file of one's own.
"""

from __future__ import annotations

import tempfile
import webbrowser
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from discreet import MissingExtraError, ParameterError
from discreet.cli.ask import read_anchor_file
from discreet.cli.options import BudgetDelta, BudgetEpsilon, count_option, read_budget
from discreet.cli.table_options import AnchorFileOption
from discreet.errors import OutdatedLibraryError
from discreet.trusted_files import require_trusted
from discreet.versions import require

_SERVE = "discreet serve"
_DEMO = "demo"

Port = Annotated[str, typer.Option("--port", metavar="NUMBER", help="The port to listen on.")]

_EXPLORE = "discreet explore"
_TYPED = {"table": "FILE", "unit": "--person"}
"""How this command spells parameters of a session."""


def require_service() -> None:
    """Refuse to start if a library of the extra is missing or too old."""
    try:
        for module in ("jinja2", "pydantic", "starlette", "uvicorn"):
            require(module)
    except OutdatedLibraryError:
        raise
    except ImportError:
        raise MissingExtraError("The service", "service") from None


def serve(
    manifest: Annotated[
        Path, typer.Argument(metavar="MANIFEST", help="The manifest: what is published.")
    ] = Path("discreet.toml"),
    demo: Annotated[
        bool, typer.Option("--demo", help="Publish the bundled reads, with a temporary ledger.")
    ] = False,
    ledger: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            envvar="DISCREET_LEDGER",
            help="The ledger: a file path, or a URL postgresql+psycopg://…",
        ),
    ] = "discreet.db",
    keys: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            envvar="DISCREET_KEYS",
            help="Where to keep analysts' keys, and their requests for more budget: a file path, "
            "or a URL postgresql+psycopg://…",
        ),
    ] = "discreet-keys.db",
    anchor_file: AnchorFileOption = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Port = "8400",
    workers: Annotated[
        str, typer.Option(metavar="COUNT", help="The number of worker processes.")
    ] = "1",
    behind_proxy: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The host name of the proxy that provides TLS."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A certificate, for TLS without a proxy.")
    ] = None,
    private_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate's private key.")
    ] = None,
    host_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The host name of the certificate.")
    ] = None,
) -> None:
    """Serve published data sets to a team: an API and a page.

    The manifest says what may be asked, and with which budget. The steward signs in with
    the link that is printed, which works once.

    \b
    Examples:
      discreet serve --demo
      discreet demo --files
      discreet serve discreet.toml --ledger discreet.db
    """
    require_service()
    from discreet.service.server import Running, free_port, run

    number = count_option(port, "--port", _SERVE, most=65535)
    if (certificate is None) != (private_key is None) or (certificate and host_name is None):
        rule = "given together with --private-key and --host-name"
        raise ParameterError("--certificate", rule, "only some of them", owner=_SERVE)
    anchor = read_anchor_file(anchor_file)
    with ExitStack() as stack:
        if demo:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            data = stack.enter_context(as_file(files("discreet.cli.data")))
            manifest = data / "discreet.toml"
            ledger, keys = f"{folder}/discreet.db", f"{folder}/keys.db"
            # that of a ledger which stays
            anchor = None
            number = free_port(host, number)
        elif manifest.exists():
            # it says who may ask what, so it is trusted by the rule for keys
            require_trusted(manifest, f"manifest {manifest}")
        running = Running(
            manifest=str(manifest.resolve()),
            ledger=ledger,
            keys=keys,
            anchor_file=anchor,
            host=host,
            port=number,
            workers=count_option(workers, "--workers", _SERVE, most=64),
            name=behind_proxy or host_name,
            certificate=None if certificate is None else str(certificate),
            private_key=None if private_key is None else str(private_key),
        )
        running.require_safe()
        running.require_free()
        is_new = not demo and running.ledger_is_new()
        try:
            service = running.open()
        except ParameterError as error:
            raise ParameterError(
                error.name, error.rule, error.got, error.hint, owner=_SERVE
            ) from None
        if is_new:
            print(f"The ledger {ledger} is new, so nothing is spent yet.")
        for note in service.published.notes:
            print(note)
        who, role = (_DEMO, "both") if demo else ("steward", "steward")
        link = f"{running.address}/link/{service.store.add_link(who, role)}"
        print(f"Serving {running.address}. Sign in, once, with:\n{link}", flush=True)
        run(running, service)


def explore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table.")],
    person: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column that says whose row it is.")
    ],
    epsilon: BudgetEpsilon = None,
    delta: BudgetDelta = None,
    persons: Annotated[
        str, typer.Option(metavar="COUNT", help="About how many people there are, for previews.")
    ] = "1000",
    as_of: Annotated[
        str,
        typer.Option(
            metavar="LABEL",
            help="A label for this version of the data. Change it when the file has new rows.",
        ),
    ] = "1",
    anchor_file: AnchorFileOption = None,
    port: Port = "8400",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Ask a file of your own on a page in the browser.

    The budget is kept in a ledger beside the file. It has no default: where --epsilon and
    --delta are not given, they are asked for, the first time.

    \b
    Examples:
      discreet demo --files
      discreet explore visits.csv --person patient --epsilon 1 --delta 1e-6
    """
    require_service()
    from discreet.service.manifest import ME, explored, kept_budget
    from discreet.service.server import Running, free_port, run
    from discreet.service.state import Service

    place = file.resolve()
    ledger, keys = f"{place}.ledger.db", f"{place}.keys.db"
    anchor = read_anchor_file(anchor_file)
    budget = kept_budget(ledger, anchor)
    if budget is None:
        epsilon = epsilon or typer.prompt("How much epsilon may be spent on this file in total?")
        delta = delta or typer.prompt(
            "And how much delta? (0 for none; lists of unknown names need some)"
        )
        budget = read_budget(epsilon, delta, None, _EXPLORE)
    many = count_option(persons, "--persons", _EXPLORE, most=10**12)
    number = count_option(port, "--port", _EXPLORE, most=65535)
    try:
        manifest = explored(file, person=person, budget=budget, persons=many, as_of=as_of)
    except ParameterError as error:
        name = _TYPED.get(error.name, error.name)
        raise ParameterError(name, error.rule, error.got, error.hint, owner=_EXPLORE) from None
    running = Running(
        manifest="",
        ledger=ledger,
        keys=keys,
        port=free_port("127.0.0.1", number),
    )
    service = Service.open(
        manifest, ledger=ledger, store=keys, anchor_file=anchor, settings=running.settings
    )
    link = f"{running.address}/link/{service.store.add_link(ME, 'both')}"
    print(f"Sign in, once, with:\n{link}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if browser:
            webbrowser.open(_page_to(link, Path(folder)))
        run(running, service, log=False)


def _page_to(link: str, folder: Path) -> str:
    """The address of a file that leads a browser to a link. Every user of the computer can
    read the arguments of a browser, but only its owner the file.
    """
    page = folder / "sign-in.html"
    page.touch(mode=0o600)
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={link}">\n')
    return page.as_uri()
