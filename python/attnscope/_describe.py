"""The descriptions of commands, which come from the library."""

from functools import cache
from typing import Any

from attnscope import _core

FRONT_END = frozenset({"format", "out", "quiet", "progress", "csv_escape_formulas"})
"""Parameters of the command line that a table or a page has methods for."""

BESIDE = frozenset({"save", "maps"})
"""Files that a command writes beside its rows: True keeps them in memory, as arrays."""


@cache
def command(name: str) -> dict[str, Any]:
    return next(entry for entry in _core.commands() if entry["name"] == name)


@cache
def parameters(name: str) -> dict[str, dict[str, Any]]:
    """Those that are keywords, by name."""
    return {
        parameter["name"]: parameter
        | {"beside": parameter["type"] == "file" and parameter["name"] in BESIDE}
        for parameter in command(name)["parameters"]
        if parameter["name"] not in FRONT_END
    }


@cache
def meanings(name: str) -> dict[str, dict[str, Any]]:
    """The fields of a command's rows, by name."""
    return {
        field["name"]: field
        for kind in reversed(command(name)["kinds"])
        for field in kind["fields"]
    }
