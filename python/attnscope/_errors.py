"""Exceptions: one class per kind of error, as the command line has one exit code per kind."""

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attnscope import _core


class Error(Exception):
    """Base class of all exceptions that attnscope raises for a failed command."""

    kind = ""
    exit_code = 1
    file: str | None = None
    """The file that the error is about, as the caller named it."""
    tensor: str | None = None
    """The tensor in that file."""
    parameter: str | None = None
    """The keyword that the error is about."""
    layer: int | None = None
    problem: str | None = None
    """What is wrong, without the location."""
    hint: str | None = None
    """How to fix it."""


class UsageError(Error, ValueError):
    """Raised for an invalid argument or combination of arguments."""


class UsageTypeError(UsageError, TypeError):
    """Raised for an argument of a wrong type."""


class UsageKeyError(UsageError, KeyError):
    """Raised for an unknown name of a column or chart."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would add quotes


class UsageAttributeError(UsageError, AttributeError):
    """Raised for an unknown name of a method or function."""


class UsageIndexError(UsageError, IndexError):
    """Raised for a row that a table does not have."""


class IoError(Error, OSError):
    """Raised for a file that cannot be read or written."""


class MissingFileError(IoError, FileNotFoundError):
    """Raised for a file that does not exist."""


class FormatError(Error):
    """Raised for a malformed file."""


class UnsupportedError(Error):
    """Raised for a valid but unsupported file, or a feature that this build lacks."""


class NumericalError(Error, ArithmeticError):
    """Raised if none of the requested results could be computed."""


class CheckpointWarning(UserWarning):
    """Issued for an anomaly in a checkpoint that can still be read."""


def _class_of(kind: str, exit_code: int) -> type[Error]:
    found: type[Error] = globals()[f"{kind.capitalize()}Error"]
    found.kind, found.exit_code = kind, exit_code
    found.__module__ = "attnscope"  # the module that users import it from
    return found


MISSING = ("no such file", "No such file", "file not found")
"""Words of messages about a file that does not exist."""

CLASSES = {kind: _class_of(kind, exit_code) for kind, exit_code in _core.error_kinds()}


def error_of(kind: str, message: str, parts: Mapping[str, Any]) -> Error:
    """Return the exception for an error of the library."""
    own = CLASSES[kind]
    is_missing = own is IoError and any(words in message for words in MISSING)
    error = MissingFileError(message) if is_missing else own(message)
    if isinstance(error, MissingFileError):
        error.errno = errno.ENOENT
    for name, value in parts.items():
        setattr(error, name, value)
    return error


@contextmanager
def usage_errors() -> Iterator[None]:
    """Raise TypeError and ValueError of the bindings as the same kinds of Error."""
    try:
        yield
    except Error:
        raise
    except TypeError as error:
        raise UsageTypeError(str(error)) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
