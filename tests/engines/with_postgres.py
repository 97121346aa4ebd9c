"""Run a command beside a throw-away PostgreSQL: python with_postgres.py COMMAND...

The server has its own directory, listens on the loopback only, on a free port, and is gone with its data when the command ends.
The command finds its address in the variable DISCREET_POSTGRES_URL.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "DISCREET_POSTGRES_URL"


def main(command: list[str]) -> int:
    """Run the command and return its exit code."""
    programs = find_programs()
    if programs is None and os.geteuid() == 0 and shutil.which("apt-get"):
        install()
        programs = find_programs()
    if programs is None:
        print("There is no PostgreSQL server here. Install one, for example with: apt-get install postgresql", file=sys.stderr)
        return 1
    with server(programs) as url:
        return subprocess.run(command, env=os.environ | {VARIABLE: url}, check=False).returncode


def find_programs() -> Path | None:
    """Where initdb and pg_ctl are."""
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)]
    if shutil.which("pg_config"):
        told = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False).stdout.strip()
        places.insert(0, Path(told))
    if shutil.which("initdb"):
        places.append(Path(str(shutil.which("initdb"))).resolve().parent)
    return next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)


def _version(place: Path) -> int:
    return int(place.parent.name) if place.parent.name.isdigit() else 0


def install() -> None:
    """Install the distribution's own package; we are root, so this is a container or a CI machine."""
    quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
    subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
    subprocess.run(["apt-get", "install", "-qq", "--no-install-recommends", "postgresql"], check=False, **quiet)


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
        options = f"-p {port} -k '{home}' -c listen_addresses=localhost -c fsync=off -c synchronous_commit=off"
        _run(user, programs / "initdb", "-D", home / "data", "-U", "discreet", "-A", "scram-sha-256", "-E", "UTF8",
             "--locale=C.UTF-8", f"--pwfile={home / 'password'}")  # fmt: skip
        _run(user, programs / "pg_ctl", "-D", home / "data", "-l", home / "log", "-w", "-o", options, "start")
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
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd="/")
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
