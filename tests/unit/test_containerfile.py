"""The image runs the service, not as root, from files that are here and nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

from discreet.cli import main

ROOT = Path(__file__).parents[2]
JOINED = re.sub(r"\\\n\s*", " ", (ROOT / "Containerfile").read_text())
STEPS = [line.split(" ", 1) for line in JOINED.splitlines() if line and line[0] != "#"]


def steps(word):
    return [rest for name, rest in STEPS if name == word]


def test_it_does_not_run_as_root_and_nothing_changes_that_later():
    names = [name for name, _ in STEPS]
    (user,) = steps("USER")
    (made,) = (step for step in steps("RUN") if "useradd" in step)
    assert f"--uid {user} " in made
    assert int(user) >= 10000
    assert not {"RUN", "COPY"} & set(names[names.index("USER") :])


def test_everything_that_is_copied_is_here_and_nothing_is_fetched_by_address():
    assert steps("ADD") == []
    for step in steps("COPY"):
        *sources, _ = step.split()
        if sources[0] == "--from=build":
            continue
        assert all((ROOT / source).exists() for source in sources), step
    assert not any(word in step for step in steps("RUN") for word in ("curl", "wget", "http"))


def test_every_stage_has_the_same_base_with_a_version():
    (base,) = steps("ARG")
    assert re.fullmatch(r"BASE=docker\.io/library/python:3\.\d+-slim", base)
    assert {step.split()[0] for step in steps("FROM")} == {"${BASE}"}


def test_what_is_written_goes_to_the_volume():
    (entry,), (volume,) = steps("ENTRYPOINT"), steps("VOLUME")
    told = json.loads(entry)
    for option in ("--ledger", "--keys"):
        assert told[told.index(option) + 1].startswith(f"{volume}/")
    assert any(f"install -d -o discreet -m 0700 {volume}" in step for step in steps("RUN"))


def test_the_command_and_its_options_exist(capsys):
    (entry,) = steps("ENTRYPOINT")
    command, *told = json.loads(entry)
    assert command == "discreet"
    assert main([told[0], "--help"]) == 0
    said = capsys.readouterr().out
    assert all(option in said for option in told if option.startswith("--"))


def test_the_health_check_is_a_program_that_can_fail():
    (check,) = steps("HEALTHCHECK")
    command = json.loads(check[check.index("[") :])
    assert command[:2] == ["python3", "-c"]
    # nobody listens on this port
    told = [sys.executable, "-c", command[2].replace(":8400", ":9")]
    assert subprocess.run(told, capture_output=True, timeout=250).returncode == 1
    (exposed,) = steps("EXPOSE")
    assert f"127.0.0.1:{exposed}/healthz" in command[2]
