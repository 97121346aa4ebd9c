"""Every public name of the package, from all its namespaces."""

from __future__ import annotations

from importlib import import_module

from discreet.lazy import NAMESPACES

NAMES = {
    name: f"{space}.{name}"
    for space in reversed(NAMESPACES)
    for name in import_module(space).__all__
}
"""Where to import each public name from."""

PUBLIC = {
    name: getattr(import_module(path.rpartition(".")[0]), name) for name, path in NAMES.items()
}
"""What each public name is."""
