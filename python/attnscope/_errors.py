"""What ends a command: one class for each kind of error, as the command line has exit codes."""

from collections.abc import Mapping
from typing import Any

from attnscope import _core


class Error(Exception):
    """What ended a command."""

    kind = ""
    exit_code = 1
    file: str | None = None
    """The file that it is about, as it was named."""
    tensor: str | None = None
    """The tensor of that file."""
    parameter: str | None = None
    """The keyword that it is about."""
    layer: int | None = None
    problem: str | None = None
    """What is wrong, without where."""
    hint: str | None = None
    """What to do."""


class UsageError(Error, ValueError):
    """A keyword, or a combination of them, that cannot be."""


class IoError(Error, OSError):
    """A file that cannot be read or written."""


class FormatError(Error):
    """A file that is not what it should be."""


class UnsupportedError(Error):
    """A sound file of a kind that is not read, or a build that lacks something."""


class NumericalError(Error, ArithmeticError):
    """Nothing that was asked for could be computed."""


class CheckpointWarning(UserWarning):
    """What is strange about a checkpoint that can be read all the same."""


def _class_of(kind: str, exit_code: int) -> type[Error]:
    found: type[Error] = globals()[f"{kind.capitalize()}Error"]
    found.kind, found.exit_code = kind, exit_code
    found.__module__ = "attnscope"  # where users find it
    return found


CLASSES = {kind: _class_of(kind, exit_code) for kind, exit_code in _core.error_kinds()}


def error_of(kind: str, message: str, parts: Mapping[str, Any]) -> Error:
    """The exception for an error of the library."""
    error = CLASSES[kind](message)
    for name, value in parts.items():
        setattr(error, name, value)
    return error
