"""Descriptions of the commands, from the library."""

from functools import cache
from typing import Any

from attnscope import _core

FRONT_END = frozenset({"format", "out", "quiet", "progress", "csv_escape_formulas"})
"""Command-line parameters that methods of tables and pages replace. `attnscope.live` replaces
those of devices."""

BESIDE = frozenset({"save", "maps"})
"""Files that a command writes in addition to its rows. True: keep them in memory as arrays."""


@cache
def command(name: str) -> dict[str, Any]:
    return next(entry for entry in _core.commands() if entry["name"] == name)


@cache
def parameters(name: str) -> dict[str, dict[str, Any]]:
    """Return the parameters that are keywords in Python, by name."""
    return {
        parameter["name"]: parameter
        | {"beside": parameter["type"] == "file" and parameter["name"] in BESIDE}
        for parameter in command(name)["parameters"]
        if parameter["name"] not in FRONT_END and not parameter["is_of_device"]
    }


@cache
def meanings(name: str) -> dict[str, dict[str, Any]]:
    """Return the fields of a command's rows, by name."""
    return {
        field["name"]: field
        for kind in reversed(command(name)["kinds"])
        for field in kind["fields"]
    }
