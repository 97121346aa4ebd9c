"""What `import discreet` costs, what it offers, and which way the imports point."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

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
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("code", ["import discreet", "import discreet; dir(discreet); discreet.__version__; discreet.__all__"])
def test_importing_loads_nothing_heavier_than_numpy(code):
    beyond = modules_after(code) - modules_after("import numpy")
    assert {name.partition(".")[0] for name in beyond} & HEAVY == set()
    assert {name for name in beyond if name.startswith("discreet")} <= {"discreet"}


@pytest.mark.parametrize("name", ["PureDP", "BoundedRange", "Release", "DiscreetError", "SystemBits"])
def test_losses_and_releases_need_no_flint(name):
    assert modules_after(f"import discreet; discreet.{name}") & HEAVY == set()


def test_selecting_needs_flint_and_nothing_else_that_is_heavy():
    assert modules_after("import discreet; discreet.select([1, 2], epsilon=1, sensitivity=1)") & HEAVY == {"flint"}


def test_the_public_names_are_unique_and_sorted():
    names = discreet.__all__
    assert len(set(names)) == len(names)

    def kind(name):  # as isort has it: constants, then classes, then functions
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    assert names == sorted(names, key=lambda name: (kind(name), name))


@pytest.mark.parametrize("name", discreet.__all__)
def test_each_public_name_exists_has_a_docstring_and_is_listed(name):
    value = getattr(discreet, name)
    assert name in dir(discreet)
    if isinstance(value, str):
        assert value
    else:
        assert value.__doc__
        assert value.__doc__.strip()


@pytest.mark.parametrize("name", [name for name in discreet.__all__ if isinstance(getattr(discreet, name), type)])
def test_each_public_method_has_a_docstring(name):
    kind = getattr(discreet, name)
    own = [attribute for attribute in vars(kind) if not attribute.startswith("_")]
    for attribute in own:
        value = getattr(kind, attribute)
        if callable(value) or isinstance(value, property):
            assert value.__doc__, f"{name}.{attribute}"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'discreet' has no attribute 'selekt'"):
        discreet.selekt  # noqa: B018


def test_star_import_gives_the_public_names():
    names = {}
    exec("from discreet import *", names)
    assert set(discreet.__all__) <= names.keys()


def test_every_exported_error_is_in_the_tree():
    errors = [getattr(discreet, name) for name in discreet.__all__ if name.endswith("Error")]
    assert len(errors) >= 6
    assert all(issubclass(error, discreet.DiscreetError) for error in errors)


# The arrows of the design: who may import whom inside the package. A part may always import itself.
ARROWS = {
    "errors": set(),
    "certified": {"errors"},
    "privacy": {"errors", "certified"},
    "testing": {"errors"},
    "accounting": {"errors", "privacy", "certified"},
    "release": {"errors", "privacy"},
    "samplers": {"errors", "privacy", "certified"},
    "mechanisms": {"errors", "privacy", "samplers", "release", "certified", "accounting", "scores"},
    "local": {"certified", "errors", "mechanisms.parameters", "privacy", "release", "samplers"},
    "universality": {"certified", "errors", "privacy"},
    "scores": {"errors", "privacy", "samplers.order"},
    "data": {"errors", "privacy", "samplers.chance", "samplers.levels"},
    "ledger": {"accounting", "errors", "privacy", "release"},
    "purse": {"accounting", "data", "errors", "ledger", "privacy", "release"},
    "questions": {
        "data",
        "errors",
        "locating",
        "mechanisms",
        "privacy",
        "release",
        "samplers",
        "scores",
        "selecting",
    },
    "session": {
        "data",
        "errors",
        "ledger",
        "mechanisms.parameters",
        "privacy",
        "purse",
        "questions",
        "release",
        "samplers.bits",
        "selecting",
    },
    "selecting": {"errors", "mechanisms", "privacy", "release", "samplers.bits"},
    "locating": {"data.grid", "errors", "mechanisms", "privacy", "release", "samplers.bits", "scores"},
    "plots": {"errors", "public names"},
    "cli": {"data", "errors", "ledger", "selecting", "testing", "plots", "public names", "locating"},
    "public names": {
        "accounting",
        "data",
        "errors",
        "ledger",
        "local",
        "mechanisms",
        "privacy",
        "locating",
        "release",
        "samplers.bits",
        "selecting",
        "session",
        "universality",
    },
}


def imported(tree, module):
    """The modules of discreet that a module imports, late ones included, each with its full name."""
    package = module.split(".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "discreet")
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level] if node.level else []
            full = ".".join([*base, *filter(None, [node.module])])
            if full.partition(".")[0] == "discreet":
                # `from discreet.mechanisms import laws` names a module, `from discreet import select` a public name
                yield from (f"{full}.{alias.name}" for alias in node.names)


def part_of(name):
    """The part of the package that a full name belongs to."""
    words = name.split(".")[1:]
    known = [part for part in ARROWS if words[: len(part.split("."))] == part.split(".")]
    return known[0] if known else "public names"


def wrong_arrows(source, module, part):
    """The imports of one module that point where they must not."""
    tree = ast.parse(source)
    for target in imported(tree, module):
        allowed = ARROWS[part] | {part}
        words = target.split(".")[1:]
        prefixes = {".".join(words[:length]) for length in range(1, len(words) + 1)}
        if part_of(target) == "public names":
            if "public names" not in allowed:
                yield f"{module} -> {target}"
        elif not prefixes & allowed:
            yield f"{module} -> {target}"


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        words = ["discreet", *path.relative_to(SOURCE).with_suffix("").parts]
        # a package's __init__ is one level deeper for relative imports than its name says
        part = "public names" if words[1:] == ["__init__"] else words[1]
        yield ".".join(words), part, path


def test_every_part_has_its_arrows():
    # a new folder or module has to say where it stands
    assert {part for _, part, _ in modules()} <= ARROWS.keys()
    assert {"errors", "privacy", "samplers", "mechanisms", "selecting", "release"} <= {part for _, part, _ in modules()}


@pytest.mark.parametrize(("module", "part", "path"), [pytest.param(*each, id=each[0]) for each in modules()])
def test_no_import_points_back(module, part, path):
    assert list(wrong_arrows(path.read_text(encoding="utf-8"), module, part)) == []


@pytest.mark.parametrize(
    ("module", "part", "source"),
    [
        ("discreet.privacy.loss", "privacy", "from discreet.mechanisms.laws import Law"),
        ("discreet.privacy.loss", "privacy", "def late():\n    import discreet.samplers.chance"),
        ("discreet.privacy.loss", "privacy", "from ..samplers import chance"),
        ("discreet.samplers.chance", "samplers", "from discreet.release import Release"),
        ("discreet.samplers.chance", "samplers", "from discreet import select"),
        ("discreet.samplers.chance", "samplers", "import discreet"),
        ("discreet.errors", "errors", "from discreet.privacy import numbers"),
        ("discreet.mechanisms.laws", "mechanisms", "from discreet import selecting"),
        ("discreet.mechanisms.laws", "mechanisms", "from discreet.cli import main"),
        ("discreet.selecting", "selecting", "from discreet.samplers.chance import Chance"),
        ("discreet.cli.main", "cli", "from discreet.mechanisms.laws import Law"),
        ("discreet.cli.main", "cli", "from discreet import mechanisms"),
    ],
    ids=lambda value: value if "import" in value else None,
)
def test_the_check_sees_a_forbidden_arrow(module, part, source):
    assert len(list(wrong_arrows(source, module, part))) == 1


@pytest.mark.parametrize(
    ("module", "part", "source"),
    [
        ("discreet.mechanisms.laws", "mechanisms", "from discreet.mechanisms import distributions, utility"),
        ("discreet.mechanisms.laws", "mechanisms", "from . import utility"),
        ("discreet.selecting", "selecting", "from discreet.samplers.bits import Bits"),
        (
            "discreet.cli.main",
            "cli",
            "import discreet\nfrom discreet import select\nfrom discreet.errors import DiscreetError",
        ),
        ("discreet.privacy.loss", "privacy", "def late():\n    from discreet.certified import ball\n    import numpy"),
    ],
    ids=lambda value: value if "import" in value else None,
)
def test_the_check_allows_an_arrow_that_points_forward(module, part, source):
    assert list(wrong_arrows(source, module, part)) == []


def test_importing_warns_about_nothing():
    code = [sys.executable, "-W", "error", "-c", "from discreet import *"]
    done = subprocess.run(code, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_public_name_is_a_module():
    """Importing the module would take the name away."""
    modules = {path.stem if path.suffix else path.name for path in SOURCE.iterdir()}
    assert not modules & set(discreet.__all__)
