"""Types of keyword values, and their conversion to the texts that a command takes."""

import operator
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Path = str | os.PathLike[str]
Names = str | Sequence[str]
Texts = str | Sequence[str]
Layers = int | str | range | slice | Sequence[int | str | range | slice]
Head = str | tuple[int, int]
Shares = float | str | Sequence[float]
Ranks = int | str | Sequence[int | str]
Bins = int | str
Range = str | tuple[float, float]
Size = int | str
Ids = str | Sequence[int]
Positions = int | str | os.PathLike[str] | range | slice | Sequence[int | str | range | slice]

IN_MEMORY = "in memory: "
"""Prefix of file names whose content a command keeps in memory."""


def _whole(value: Any) -> str:
    if isinstance(value, bool):
        raise TypeError
    return str(operator.index(value))


def _number(value: Any) -> str:
    if isinstance(value, bool):
        raise TypeError
    return repr(float(value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _path(value: Any) -> str:
    return os.fsdecode(os.fspath(value))


def _each(value: Any) -> Iterable[Any]:
    return value if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def _list_of(write: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: ",".join(write(item) for item in _each(value))


def _pair_of(write: Callable[[Any], str]) -> Callable[[Any], str]:
    def pair(value: Any) -> str:
        try:
            first, second = value
        except ValueError:  # another number of entries: text_of() says what is expected
            raise TypeError from None
        return f"{write(first)},{write(second)}"

    return pair


def _whole_or_text(value: Any) -> str:
    return value if isinstance(value, str) else _whole(value)


def _layer(value: Any) -> str:
    """Write one layer or a range. A range includes its end in the text, but not in Python."""
    if isinstance(value, str):
        return value
    if not isinstance(value, (range, slice)):
        return _whole(value)
    if value.step not in (None, 1):
        raise ValueError("expected a range with step 1")
    first = value.start or 0
    if isinstance(value, slice) and value.stop is None:
        return f"{first}-"
    if isinstance(value, range) and not value:
        raise ValueError("empty range")
    return f"{first}-{value.stop - 1}"


def _layers(value: Any) -> str:
    return _layer(value) if isinstance(value, range) else _list_of(_layer)(value)


def _positions(value: Any) -> str:
    """Write positions in the same format as layers, or the path of a mask file."""
    return _path(value) if isinstance(value, os.PathLike) else _layers(value)


def _ids(value: Any) -> str:
    return _list_of(_whole)(value)


Writer = Callable[[Any], str]

_WRITERS: dict[str, tuple[Writer, str]] = {
    "integer": (_whole, "an int"),
    "bytes": (lambda value: f"{_whole(value)}B", "an int or a text such as '2G'"),
    "choice": (_text, "a str"),
    "several": (_list_of(_text), "a name or a list of names"),
    "role": (_text, "a str"),
    "roles": (_list_of(_text), "a name or a list of names"),
    "layers": (_layers, "an int, a range, a slice, a list of these, or a text such as '0-3,-4-'"),
    "head": (_pair_of(_whole), "a head such as 'L5H3', or a layer and a head"),
    "receiver": (_pair_of(_whole), "a head such as 'L5H3', one input of it such as 'L5H3.q', or a layer and a head"),
    "shares": (_list_of(_number), "a number or a list of numbers"),
    "ranks": (_list_of(_whole_or_text), "a rank, a text such as '0.1D', or a list of these"),
    "bins": (_whole, "an int or 'fd'"),
    "range": (_pair_of(_number), "two numbers"),
    "text": (_ids, "a str, or a list of ints for token ids"),
    "texts": (_text, "a str or a list of str"),
    "file": (_path, "a path"),
}


def is_ids(parameter: dict[str, Any]) -> bool:
    """Return whether the parameter takes token ids."""
    return bool(parameter["type"] == "text" and parameter["metavariable"] in ("IDS", "TYPES"))


def is_token(parameter: dict[str, Any]) -> bool:
    """Return whether the parameter takes one token, as its text or its id."""
    return bool(parameter["type"] == "text" and parameter["metavariable"] == "TOKEN")


def is_positions(parameter: dict[str, Any]) -> bool:
    """Return whether the parameter takes positions or the path of a mask."""
    return bool(parameter["type"] == "text" and parameter["metavariable"] == "POSITIONS")


def is_amount(parameter: dict[str, Any]) -> bool:
    """Return whether the parameter takes a number or a text such as '+5%'."""
    return bool(parameter["type"] == "text" and parameter["metavariable"] in ("SHARE", "P", "X"))


def text_of(parameter: dict[str, Any], value: Any) -> str | None:
    """Return the text of `value` for the parameter. None: do not pass the parameter."""
    name: str = parameter["name"]
    kind: str = parameter["type"]
    if value is None or value is False:
        return None
    if kind == "flag":
        if value is True:
            return ""
        raise TypeError(f"{name}: expected True or False, not {value!r}")
    if value is True and parameter["implied_text"]:
        return str(parameter["implied_text"])
    if value is True and parameter["beside"]:
        return IN_MEMORY + name
    if isinstance(value, str):
        return value
    write, needed = _WRITERS[kind]
    if kind == "text" and not is_ids(parameter):
        write, needed = (_number, "a number or a str") if is_amount(parameter) else (_text, "a str")
        if is_positions(parameter):
            write, needed = _positions, "an int, a range, a slice, a list of these, a text such as '10-', or a path"
        if is_token(parameter):
            write, needed = _whole, "a str, or an int for a token id"
    try:
        return write(value)
    except TypeError:
        raise TypeError(f"{name}: expected {needed}, not {value!r}") from None


def texts_of(parameter: dict[str, Any], value: Any) -> list[str]:
    """Return the texts of `value` for the parameter: several for a list of texts, none if it is not passed."""
    several = parameter["type"] == "texts" and isinstance(value, (list, tuple))
    texts = [text_of(parameter, each) for each in (value if several else [value])]
    return [text for text in texts if text is not None]


def checked(name: str, text: str, is_path: bool) -> str:
    """Return a text that can be passed to the library: valid UTF-8, no zero bytes in a path."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: {text[:80]!a} is not UTF-8") from None
    if is_path and "\0" in text:
        raise ValueError(f"{name}: {text[:80]!a} contains a zero byte, which is not allowed in a path")
    return text
