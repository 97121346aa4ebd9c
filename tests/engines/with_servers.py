"""Run a command where Spark can start, and beside a throw-away PostgreSQL: python with_servers.py
COMMAND...

Spark starts by itself, but needs Java. PostgreSQL has its own directory, listens on the loopback
only, on a free port, and is gone with its data when the command ends. The command finds its
address in the variable DISCREET_POSTGRES_URL. What is missing is installed from the distribution
if we are root, so on a CI machine or in a container.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

VARIABLE = "DISCREET_POSTGRES_URL"
OLDEST_JAVA = 17
Found = TypeVar("Found")


def main(command: list[str]) -> int:
    """Run the command and return its exit code."""
    programs = found_or_installed(find_programs, "postgresql")
    java = found_or_installed(find_java, "default-jre-headless")
    if programs is None or java is None:
        print(
            "PostgreSQL and Java are needed, for example: apt-get install postgresql "
            "default-jre-headless",
            file=sys.stderr,
        )
        return 1
    if java < OLDEST_JAVA:
        print(
            f"Spark 4 needs Java {OLDEST_JAVA} or newer, and here is {java}. JAVA_HOME can name "
            "another.",
            file=sys.stderr,
        )
        return 1
    with server(programs) as url:
        return subprocess.run(command, env=os.environ | {VARIABLE: url}, check=False).returncode


def found_or_installed(find: Callable[[], Found | None], package: str) -> Found | None:
    """What is found here, if need be after installing the distribution's package."""
    found = find()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        install(package)
        found = find()
    return found


def install(package: str) -> None:
    """Install a package without asking anything."""
    quiet = {
        "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        "stdout": subprocess.DEVNULL,
    }
    subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
    subprocess.run(
        ["apt-get", "install", "-qq", "--no-install-recommends", package], check=False, **quiet
    )


def find_java() -> int | None:
    """The version of the Java that Spark would take."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if program is None:
        return None
    told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(version[1]) if version else None


def find_programs() -> Path | None:
    """Where initdb and pg_ctl are."""
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)]
    if shutil.which("pg_config"):
        told = subprocess.run(
            ["pg_config", "--bindir"], capture_output=True, text=True, check=False
        ).stdout.strip()
        places.insert(0, Path(told))
    if shutil.which("initdb"):
        places.append(Path(str(shutil.which("initdb"))).resolve().parent)
    return next(
        (place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()),
        None,
    )


def _version(place: Path) -> int:
    return int(place.parent.name) if place.parent.name.isdigit() else 0


@contextmanager
def server(programs: Path) -> Iterator[str]:
    """The address of a running server."""
    home = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
    port, password = _free_port(), secrets.token_hex(16)
    user = _other_user()
    try:
        (home / "password").write_text(password)
        if user:
            for path in (home, home / "password"):
                shutil.chown(path, user)
        # and it syncs: a ledger refuses one that does not
        options = f"-p {port} -k '{home}' -c listen_addresses=localhost"
        _run(user, programs / "initdb", "-D", home / "data", (
            "-U"
        ), "discreet", "-A", "scram-sha-256", "-E", "UTF8",
             "--locale=C.UTF-8", f"--pwfile={home / 'password'}")  # fmt: skip
        _run(
            user,
            programs / "pg_ctl",
            "-D",
            home / "data",
            "-l",
            home / "log",
            "-w",
            "-o",
            options,
            "start",
        )
        try:
            yield f"postgres://discreet:{password}@localhost:{port}/postgres"
        finally:
            _run(user, programs / "pg_ctl", "-D", home / "data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _run(user: str | None, program: Path, *arguments: object) -> None:
    command = [str(program), *map(str, arguments)]
    if user:
        command = ["runuser", "-u", user, "--", *command]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd="/"
    )
    if done.returncode:
        raise SystemExit(f"{program.name} failed:\n{done.stdout}")


def _other_user() -> str | None:
    """Who runs the server where we are root, because it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
