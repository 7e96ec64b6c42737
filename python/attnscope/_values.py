"""Types of keyword values, and their conversion to the texts that a command takes."""

import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from attnscope._errors import UsageError, UsageTypeError

Path = str | os.PathLike[str]
Int = SupportsIndex
"""Also an integer of NumPy."""
Real = SupportsFloat
"""Also a number of NumPy."""
Names = str | Iterable[str]
Ids = str | Iterable[SupportsIndex]
Messages = Sequence[Mapping[str, Any]] | Mapping[str, Any]
Texts = str | Iterable[str] | Iterable[tuple[str, str]] | Iterable[Ids] | Ids | Mapping[str, Any]
"""Also the output of a tokenizer, or token ids."""
Layers = SupportsIndex | str | range | slice | Iterable[SupportsIndex | str | range | slice]
Head = str | Sequence[SupportsIndex] | NDArray[np.integer[Any]]
Heads = Head | Iterable[Head]
Shares = SupportsFloat | str | Iterable[SupportsFloat]
Ranks = SupportsIndex | str | Iterable[SupportsIndex | str]
Bins = SupportsIndex | str
Range = str | Sequence[SupportsFloat] | NDArray[np.number[Any]]
Size = SupportsIndex | str
Batch = str | Iterable[SupportsIndex] | Iterable[Iterable[SupportsIndex] | str] | Any
Positions = SupportsIndex | str | os.PathLike[str] | range | slice | Iterable[SupportsIndex | str | range | slice]

OF_TRANSFORMERS = {f"{name}_proj": name for name in ("q", "k", "v", "o", "gate", "up", "down")}
"""Matrices by their names in transformers."""

OF_TRANSFORMER_LENS = {
    "W_Q": "q",
    "W_K": "k",
    "W_V": "v",
    "W_O": "o",
    "W_in": "up",
    "W_gate": "gate",
    "W_out": "down",
    "QK": "qk",
    "OV": "ov",
}
"""Matrices by their names in TransformerLens."""

WITHOUT_LAYER = ("W_E", "W_U", "W_pos")
"""Names in TransformerLens of matrices that belong to no layer."""

IN_MEMORY = "in memory: "
"""Prefix of file names whose content a command keeps in memory."""


def _whole(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
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
    if getattr(value, "ndim", None) == 0:  # an array or tensor with one number
        return [value.item()]
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return value if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def role(name: str) -> str:
    """Return the name of a matrix in attnscope. Other names are returned unchanged."""
    if name in WITHOUT_LAYER:
        raise UsageError(
            f"matrix: {name} belongs to no layer: pass its tensor, as in spectrum(model, tensor=NAME); "
            "info(model) lists the names"
        )
    return (OF_TRANSFORMERS | OF_TRANSFORMER_LENS).get(name, name)


def _role(value: Any) -> str:
    return role(_text(value))


def _roles(value: Any) -> str:
    names = value.split(",") if isinstance(value, str) else _each(value)
    return ",".join(map(_role, names))


def _list_of(write: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: ",".join(write(item) for item in _each(value))


def _pair_of(write: Callable[[Any], str]) -> Callable[[Any], str]:
    def pair(value: Any) -> str:
        if isinstance(value, (set, frozenset)):  # has no order
            raise TypeError
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
    if isinstance(value, range):
        if not value:
            raise UsageError("empty range")
        if value.step != 1:
            return ",".join(map(str, sorted(value)))
        return f"{value.start}-{value.stop - 1}"
    if value.step not in (None, 1):
        raise UsageError("expected a slice with step 1: use a range, as in range(0, 6, 2)")
    first = value.start or 0
    return f"{first}-" if value.stop is None else f"{first}-{value.stop - 1}"


def _layers(value: Any) -> str:
    return _layer(value) if isinstance(value, range) else _list_of(_layer)(value)


def _positions(value: Any) -> str:
    """Write positions in the same format as layers, or the path of a mask file."""
    return _path(value) if isinstance(value, os.PathLike) else _layers(value)


def _head(value: Any) -> str:
    """Write one head of a list: 'L5H3', or '5.3' for a layer and a head."""
    return value if isinstance(value, str) else _pair_of(_whole)(value).replace(",", ".")


def _heads(value: Any) -> str:
    """Write one head or several. Two integers are one head."""
    if isinstance(value, str):
        return value
    items = list(_each(value))
    is_one = len(items) == 2 and all(isinstance(item, (int, np.integer)) for item in items)
    return _head(items) if is_one else ",".join(map(_head, items))


def _ids(value: Any) -> str:
    return _list_of(_whole)(value)


Writer = Callable[[Any], str]

_WRITERS: dict[str, tuple[Writer, str]] = {
    "integer": (_whole, "an int"),
    "bytes": (lambda value: f"{_whole(value)}B", "an int or a text such as '2G'"),
    "choice": (_text, "a str"),
    "several": (_list_of(_text), "a name or a list of names"),
    "role": (_role, "a str"),
    "roles": (_roles, "a name or a list of names"),
    "layers": (_layers, "an int, a range, a slice, a list of these, or a text such as '0-3,-4-'"),
    "head": (_pair_of(_whole), "a head such as 'L5H3', or a layer and a head"),
    "heads": (_heads, "heads such as 'L0H1,L2H3', or a list of heads, each a text or a layer and a head"),
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
    return bool(
        parameter["type"] in ("text", "texts") and parameter["metavariable"] in ("IDS", "TYPES")
    )


def is_token(parameter: dict[str, Any]) -> bool:
    """Return whether the parameter takes one token, as its text or its id."""
    return bool(parameter["type"] == "text" and parameter["metavariable"] == "TOKEN")


def is_positions(parameter: dict[str, Any]) -> bool:
    """Return whether the parameter takes positions or the path of a mask."""
    return bool(parameter["type"] == "text" and parameter["metavariable"] == "POSITIONS")


def is_amount(parameter: dict[str, Any]) -> bool:
    """Return whether the parameter takes a number or a text such as '+5%'."""
    return bool(parameter["type"] == "text" and parameter["metavariable"] in ("SHARE", "P", "X"))


def _shown(value: Any) -> str:
    """Return the value on one line, for messages."""
    most = 100
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[:most]}..."


def text_of(parameter: dict[str, Any], value: Any) -> str | None:
    """Return the text of `value` for the parameter. None: do not pass the parameter."""
    name: str = parameter["name"]
    kind: str = parameter["type"]
    if value is None or value is False:
        return None
    if kind == "flag":
        if value is True:
            return ""
        raise UsageTypeError(f"{name}: expected True or False, not {_shown(value)}")
    if value is True and parameter["implied_text"]:
        return str(parameter["implied_text"])
    if value is True and parameter["beside"]:
        return IN_MEMORY + name
    if isinstance(value, str) and kind not in ("role", "roles"):
        return value
    write, needed = _WRITERS["text" if is_ids(parameter) else kind]
    if kind == "text" and not is_ids(parameter):
        write, needed = (_number, "a number or a str") if is_amount(parameter) else (_text, "a str")
        if is_positions(parameter):
            write, needed = _positions, "an int, a range, a slice, a list of these, a text such as '10-', or a path"
        if is_token(parameter):
            write, needed = _whole, "a str, or an int for a token id"
    try:
        return write(value)
    except UsageError as error:
        raise UsageError(f"{name}: {str(error).removeprefix(f'{name}: ')}") from None
    except TypeError:
        raise UsageTypeError(f"{name}: expected {needed}, not {_shown(value)}") from None


def texts_of(parameter: dict[str, Any], value: Any) -> list[str]:
    """Return the texts of `value` for the parameter: several for a list of texts, none if it is not passed."""
    if parameter["type"] != "texts":
        values = [value]
    elif is_ids(parameter):
        values = sequences_of(value)
    else:
        values = list(value) if _is_list(value) else [value]
    texts = [text_of(parameter, each) for each in values]
    return [text for text in texts if text is not None]


def _is_list(value: Any) -> bool:
    """Return whether the value is a list, tuple, array or column of texts. Sets have no order."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, set, frozenset))


def split_pairs(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords with pairs of texts split: text=[("a", "b")] is text="a", text_pair="b"."""
    text = given.get("text")
    if not isinstance(text, (list, tuple)) or not text:
        return dict(given)
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in text):
        return dict(given)
    if given.get("text_pair") is not None:
        raise UsageError("text_pair: not supported if text has pairs")
    first, second = zip(*text, strict=True)
    return dict(given) | {"text": list(first), "text_pair": list(second)}


def sequences_of(value: Any) -> list[Any]:
    """Return the lists of token ids in a value: one list, several, or an array (N, T) or (T,)."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    if getattr(value, "ndim", None) in (0, 1):
        return [value]
    rows = list(value)
    several = all(
        isinstance(row, (list, tuple, str)) or getattr(row, "ndim", 0) == 1 for row in rows
    )
    return rows if rows and several else [rows]


def checked(name: str, text: str, is_path: bool) -> str:
    """Return a text that can be passed to the library: valid UTF-8, no zero bytes in a path."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name}: {text[:80]!a} is not UTF-8") from None
    if is_path and "\0" in text:
        raise UsageError(f"{name}: {text[:80]!a} contains a zero byte, which is not allowed in a path")
    return text
