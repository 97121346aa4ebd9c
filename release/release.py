"""Build a release and check all of it: `make release`. It publishes nothing.

The address of the project, its contact and its authors are in pyproject.toml and nowhere else;
CITATION.cff is written from there. While they are placeholders, everything is checked and then
the release is refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
TUTORIALS = ("first-choice.md", "first-top-10.md")
PLACEHOLDER = "example.invalid"
"""Nobody can own an address that ends in .invalid."""
PUBLISH = """
Everything is checked. To publish, once the tag is what you want:

    git tag --annotate v{version} --message "discreet {version}"
    git push origin v{version}
"""


def project() -> dict[str, object]:
    """The table [project] of pyproject.toml."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def citation(about: dict[str, object]) -> str:
    """CITATION.cff, from pyproject.toml."""
    authors = "".join(f"  - name: {each['name']}\n" for each in about["authors"])
    keywords = "".join(f"  - {word}\n" for word in about["keywords"])
    return (
        "# Written by release/release.py from pyproject.toml: do not edit.\n"
        "cff-version: 1.2.0\n"
        "message: If you use discreet, please cite it as below.\n"
        "title: discreet\n"
        f'abstract: "{about["description"]}"\n'
        "type: software\n"
        f"license: {about['license']}\n"
        f"url: {about['urls']['Homepage']}\n"
        f"authors:\n{authors}keywords:\n{keywords}"
    )


def run(*command: object, **options: object) -> None:
    """Run a command, and stop if it fails."""
    print("release:", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def available() -> list[str]:
    """The Pythons of this machine that a release is for: one of each, also those of pyenv."""
    return [found for name in PYTHONS if (found := _program(name))]


def _program(name: str) -> str | None:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = sorted(root.glob(f"{name.removeprefix('python')}.*/bin/{name}"))
    places = [shutil.which(name), *map(str, reversed(kept))]
    # what pyenv puts on the path may be a program that only says what to type
    return next((each for each in places if each and _starts(each)), None)


def _starts(program: str) -> bool:
    return subprocess.run([program, "-V"], capture_output=True).returncode == 0


def try_wheel(python: str, wheel: Path) -> None:
    """Install the wheel in an empty environment; README's sessions and tutorials go with it."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", folder)
        programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        pip = (programs / "python", "-m", "pip", "--disable-pip-version-check")
        run(*pip, "install", "--quiet", f"{wheel}[cli]")
        run(*pip, "check")
        run(sys.executable, ROOT / "tests" / "front_page.py", programs, cwd=folder)
        for tutorial in TUTORIALS:
            page = ROOT / "docs" / "tutorials" / tutorial
            run(programs / "python", "-P", "-m", "doctest", page, cwd=folder)


def obstacles(about: dict[str, object], version: str) -> list[str]:
    """What a person still has to decide before anything is published."""
    left = []
    if PLACEHOLDER in (ROOT / "pyproject.toml").read_text(encoding="utf-8"):
        left.append(f"Replace every {PLACEHOLDER} in pyproject.toml, then run: make reference")
    if "dev" in version:
        left.append(f"Give src/discreet/__init__.py a version to publish. It says {version}.")
    return left


def main() -> None:
    """Build, check, and say what is left to do or how to publish."""
    about = project()
    programs = Path(sys.executable).parent
    if (ROOT / "CITATION.cff").read_text(encoding="utf-8") != citation(about):
        raise SystemExit("CITATION.cff differs from pyproject.toml. Run: make reference")
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    run(programs / "twine", "check", "--strict", *sorted(DIST.iterdir()))
    (wheel,) = DIST.glob("*.whl")
    for python in available():
        try_wheel(python, wheel)
    version = wheel.name.split("-")[1]
    left = obstacles(about, version)
    if left:
        raise SystemExit("\n".join(["Everything is checked, but nothing can be published:", *left]))
    print(PUBLISH.format(version=version))


if __name__ == "__main__":
    if sys.argv[1:] == ["citation"]:
        (ROOT / "CITATION.cff").write_text(citation(project()), encoding="utf-8")
    else:
        main()
