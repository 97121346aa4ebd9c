"""What `import discreet` costs, what it offers, and which way the imports point."""

import ast
import inspect
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from public_names import NAMES, PUBLIC
from tiers import loop_over

import discreet
from discreet.lazy import NAMESPACES

SOURCE = Path(discreet.__file__).parent
HEAVY = {
    "flint",
    "scipy",
    "pandas",
    "polars",
    "duckdb",
    "typer",
    "rich",
    "click",
    "matplotlib",
    "mpmath",
    "narwhals",
    "opendp",
    "hypothesis",
}


def modules_after(code):
    """The modules that a fresh interpreter has loaded after running some code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_loads_nothing_heavier_than_numpy():
    code = "import discreet; dir(discreet); discreet.__version__"
    beyond = modules_after(code) - modules_after("import numpy")
    assert {name.partition(".")[0] for name in beyond} & HEAVY == set()
    assert {name for name in beyond if name.startswith("discreet")} <= {"discreet", "discreet.lazy"}


def test_losses_and_releases_need_no_flint():
    code = "from discreet import BoundedRange, DiscreetError, PureDP, Release"
    assert modules_after(code) & HEAVY == set()


def test_selecting_needs_flint_and_nothing_else_that_is_heavy():
    assert modules_after(
        "import discreet; discreet.select([1, 2], epsilon=1, sensitivity=1)"
    ) & HEAVY == {"flint"}


def test_few_names_are_at_the_top_and_each_has_one_home():
    assert len(dir(discreet)) <= 50
    for space in NAMESPACES:
        for name in import_module(space).__all__:
            assert getattr(import_module(space), name) is PUBLIC[name]


@loop_over("name", sorted(PUBLIC))
def test_each_public_name_has_a_docstring(name):
    value = PUBLIC[name]
    if isinstance(value, str):
        assert value
    else:
        assert value.__doc__
        assert value.__doc__.strip()


@loop_over("name", [name for name, value in PUBLIC.items() if isinstance(value, type)])
def test_each_public_method_has_a_docstring(name):
    kind = PUBLIC[name]
    own = [attribute for attribute in vars(kind) if not attribute.startswith("_")]
    for attribute in own:
        value = getattr(kind, attribute)
        if callable(value) or isinstance(value, property):
            assert inspect.getdoc(getattr(kind, attribute)), f"{name}.{attribute}"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'discreet' has no attribute 'selekt'"):
        discreet.selekt  # noqa: B018


def test_star_import_gives_the_public_names():
    names = {}
    exec("from discreet import *", names)
    assert set(discreet.__all__) <= names.keys()


# The arrows of the design: who may import whom inside the package. A part may always import itself.
ARROWS = {
    "errors": set(),
    "accuracy": {"errors", "exact"},
    "rendering": {"errors", "versions"},
    "lazy": set(),
    "literals": set(),
    "versions": {"errors"},
    "platforms": set(),
    "trusted_files": {"errors", "platforms"},
    "trusted_roles": set(),
    "exact": {"errors"},
    "privacy": {"errors", "exact", "rendering"},
    "testing": {"errors"},
    "randomness": {"errors", "exact"},
    "samplers": {"exact", "randomness"},
    "accounting": {
        "lazy",
        "errors",
        "exact",
        "rendering",
        "platforms",
        "privacy",
        "versions",
        "literals",
    },
    "release": {"accuracy", "errors", "exact", "rendering", "privacy"},
    "mechanisms": {
        "lazy",
        "accounting",
        "accuracy",
        "errors",
        "exact",
        "privacy",
        "randomness",
        "release",
        "samplers",
        "literals",
    },
    "local": {"accuracy", "errors", "exact", "privacy", "randomness", "release"},
    "ledger": {
        "lazy",
        "accounting",
        "errors",
        "exact",
        "rendering",
        "platforms",
        "privacy",
        "release",
        "trusted_files",
        "trusted_roles",
        "versions",
    },
    "tables": {
        "accounting",
        "accuracy",
        "errors",
        "exact",
        "ledger",
        "mechanisms",
        "platforms",
        "privacy",
        "randomness",
        "release",
        "trusted_roles",
        "versions",
        "literals",
    },
    "questions": {
        "accounting",
        "accuracy",
        "errors",
        "exact",
        "mechanisms",
        "privacy",
        "rendering",
        "randomness",
        "release",
        "tables",
        "literals",
    },
    "session": {
        "accuracy",
        "errors",
        "exact",
        "ledger",
        "privacy",
        "questions",
        "randomness",
        "release",
        "tables",
    },
    "functions": {"errors", "exact", "mechanisms", "randomness", "release", "literals"},
    "models": {"errors", "exact", "mechanisms", "randomness", "release", "literals"},
    "sklearn": {"errors", "exact", "mechanisms", "public names", "randomness", "versions"},
    "auditing": {
        "lazy",
        "errors",
        "exact",
        "privacy",
        "randomness",
        "rendering",
        "testing",
        "literals",
    },
    "client": {"errors", "questions", "release"},
    "service": {"accounting.coin_table", "ledger", "public names", "questions"},
    "__main__": {"cli"},
    "cli": {
        "accuracy",
        "errors",
        "rendering",
        "ledger",
        "mechanisms.base",
        "mechanisms.selection",
        "mechanisms.count_lists",
        "privacy.cost",
        "privacy.parameters",
        "public names",
        "questions",
        "service",
        "tables",
        "trusted_files",
        "versions",
        "literals",
    },
    "planning": {
        "accuracy",
        "errors",
        "exact",
        "rendering",
        "mechanisms",
        "privacy",
        "release",
        "testing",
        "literals",
    },
    "public names": {
        "accounting",
        "auditing",
        "accuracy",
        "client",
        "errors",
        "models",
        "functions",
        "lazy",
        "ledger",
        "mechanisms",
        "privacy",
        "release",
        "session",
        "planning",
        "tables",
        "questions",
    },
}


# an import that begins a line, up to the end of the line or of its parentheses
IMPORT = re.compile(r"^[ \t]*((?:from[ \t]+\S+[ \t]+)?import[ \t]+(?:\([^)]*\)|[^\n(]*))", re.M)


def import_statements(source):
    """All imports of a file, also late ones; to parse only these takes a tenth of the time."""
    return ast.parse("\n".join(IMPORT.findall(source))).body


def imported(source, module):
    """The modules of discreet that a module imports, also late, each with its full name."""
    package = module.split(".")
    for node in import_statements(source):
        if isinstance(node, ast.Import):
            yield from (
                alias.name for alias in node.names if alias.name.partition(".")[0] == "discreet"
            )
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level] if node.level else []
            full = ".".join([*base, *filter(None, [node.module])])
            if full.partition(".")[0] == "discreet":
                # `from discreet.mechanisms import laws` names a module, `from discreet
                # import select` a public name
                yield from (f"{full}.{alias.name}" for alias in node.names)


def part_of(name):
    """The part of the package that a full name belongs to."""
    words = name.split(".")[1:]
    known = [part for part in ARROWS if words[: len(part.split("."))] == part.split(".")]
    return known[0] if known else "public names"


def wrong_arrows(source, module, part):
    """The imports of one module that point where they must not."""
    for target in imported(source, module):
        allowed = ARROWS[part] | {part}
        words = target.split(".")[1:]
        prefixes = {".".join(words[:length]) for length in range(1, len(words) + 1)}
        public = part_of(target) == "public names" or target in NAMES.values()
        if not (prefixes & allowed or (public and "public names" in allowed)):
            yield f"{module} -> {target}"


def modules():
    # the stub of the package says what its names are, and is read in place of its imports
    for path in sorted([*SOURCE.rglob("*.py"), SOURCE / "__init__.pyi"]):
        words = ["discreet", *path.relative_to(SOURCE).with_suffix("").parts]
        # a package's __init__ is one level deeper for relative imports than its name says
        part = "public names" if words[1:] == ["__init__"] else words[1]
        yield ".".join(words), part, path


def test_every_part_has_its_arrows():
    # a new folder or module has to say where it stands
    assert {part for _, part, _ in modules()} <= ARROWS.keys()
    assert {"errors", "privacy", "samplers", "mechanisms", "functions", "release"} <= {
        part for _, part, _ in modules()
    }


@loop_over(("module", "part", "path"), [pytest.param(*each, id=each[0]) for each in modules()])
def test_no_import_points_back(module, part, path):
    assert list(wrong_arrows(path.read_text(encoding="utf-8"), module, part)) == []


def test_every_arrow_is_used():
    """A permission that nobody needs invites the import that it was taken away for."""
    used = {part: set() for part in ARROWS}
    for module, part, path in modules():
        for target in imported(path.read_text(encoding="utf-8"), module):
            words = target.split(".")[1:]
            used[part] |= {".".join(words[:length]) for length in range(1, len(words) + 1)}
            public = part_of(target) == "public names" or target in NAMES.values()
            used[part] |= {"public names"} if public else set()
    unused = {part: allowed - used[part] for part, allowed in ARROWS.items()}
    assert {part: arrows for part, arrows in unused.items() if arrows} == {}


@loop_over(
    ("module", "part", "source"),
    [
        ("discreet.privacy.loss", "privacy", "from discreet.mechanisms.laws import Law"),
        ("discreet.privacy.loss", "privacy", "def late():\n    import discreet.randomness.chance"),
        ("discreet.privacy.loss", "privacy", "from ..samplers import chance"),
        ("discreet.samplers.ranking", "samplers", "from discreet import select"),
        ("discreet.mechanisms.laws", "mechanisms", "from discreet.cli import main"),
        ("discreet.cli.application", "cli", "from discreet.mechanisms.laws import Law"),
    ],
    ids=lambda value: value if "import" in value else None,
)
def test_the_check_sees_a_forbidden_arrow(module, part, source):
    assert len(list(wrong_arrows(source, module, part))) == 1


def test_importing_warns_about_nothing():
    code = [sys.executable, "-W", "error", "-c", "from discreet import *"]
    done = subprocess.run(code, capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_public_name_is_a_module():
    """Importing the module would take the name away."""
    modules = {path.stem if path.suffix else path.name for path in SOURCE.iterdir()}
    assert not modules & set(discreet.__all__)
