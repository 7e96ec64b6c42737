"""Stack and layer number of an attention module, derived from its name."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

_ATTENTION = re.compile(r"attention|attn", re.IGNORECASE)
_NAMED_ATTENTION = re.compile(r"(.*_)?(attn|attention)", re.IGNORECASE)
_CROSS = re.compile(r"cross|encoder_attn|enc_?dec", re.IGNORECASE)

# Names of stacks, and the words in module names that identify them.
_WORDS = (
    ("vision", ("vision", "visual", "image")),
    ("text", ("text", "language")),
    ("audio", ("audio", "speech")),
    ("encoder", ("encoder",)),
    ("decoder", ("decoder",)),
)


class Place(NamedTuple):
    """The list of layers that contains a module, and its index in that list."""

    layers: tuple[str, ...] | None  # name of the list, split at its dots; None: not in a list
    number: int | None


class Stack(NamedTuple):
    """Name of a stack, as in the field `stack`, and its number of layers. Empty name: one stack."""

    name: str
    layers: int | None


def place_of(module: str) -> Place:
    parts = module.split(".")
    for index, part in enumerate(parts):
        if part.isdecimal():
            return Place(tuple(parts[:index]), int(part))
    return Place(None, None)


def is_cross(module: str) -> bool:
    """Return whether the module's name marks it as cross-attention."""
    return _CROSS.search(module) is not None


def looks_like_attention(name: str, module: Any) -> bool:
    """Return whether the module's class or name is one of attention."""
    last = name.rpartition(".")[2]
    is_attention = _ATTENTION.search(type(module).__name__) or _NAMED_ATTENTION.fullmatch(last)
    return is_attention is not None


def _are_attention(modules: list[tuple[str, Any]]) -> list[str]:
    """Return the names of modules that look like attention; of nested ones, only the innermost."""
    names = [name for name, module in modules if name and looks_like_attention(name, module)]
    return [name for name in names if not any(other.startswith(name + ".") for other in names)]


def _is_second(name: str, names: list[str]) -> bool:
    """Return whether the module is the cross-attention of PyTorch's TransformerDecoderLayer."""
    layer, _, last = name.rpartition(".")
    return last == "multihead_attn" and f"{layer}.self_attn" in names


def _word_of(part: str) -> str:
    for word, parts in _WORDS:
        if any(one in part.lower() for one in parts):
            return word
    return part


def _names_of_lists(lists: list[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Name each list after the first component in which their names differ."""
    if len(lists) < 2:
        return dict.fromkeys(lists, "")
    shortest = min(len(one) for one in lists)
    differs = next((at for at in range(shortest) if len({one[at] for one in lists}) > 1), shortest)
    parts = {one: one[differs] if differs < len(one) else ".".join(one) for one in lists}
    words = {one: _word_of(part) for one, part in parts.items()}
    if len(set(words.values())) == len(lists):
        return words
    return {one: ".".join(one) for one in lists}


class Layers:
    """Assigns a stack and a layer number to each module that returns maps.

    The layer number is the module's index in its list of layers. If a list item has several
    attention modules, or several layers share one module, layers are numbered in the order in which
    they return maps.
    """

    def __init__(self, modules: Iterable[tuple[str, Any]], layers: int | None) -> None:
        named = list(modules)
        attention = _are_attention(named)
        lists: dict[tuple[str, ...], list[str]] = {}
        for name in attention:
            place = place_of(name)
            if place.layers is not None:
                lists.setdefault(place.layers, []).append(name)
        self._names = _names_of_lists(list(lists))
        self._lengths: dict[tuple[str, ...], int] = {}
        for name, _ in named:
            place = place_of(name)
            if place.layers is not None and place.number is not None:
                length = self._lengths.get(place.layers, 0)
                self._lengths[place.layers] = max(length, place.number + 1)
        self._layers = layers if len(lists) == 1 else None
        self.has_encoder = {"encoder", "decoder"} <= set(self._names.values())
        self._cross = {name for name in attention if is_cross(name) or _is_second(name, attention)}
        self._given: dict[str, dict[int, str]] = {}  # per stack: the module of each layer
        self._numbers: dict[str, int | None] = {}
        for names in lists.values():
            for kind in (False, True):
                alike = [name for name in names if self.is_cross(name) is kind]
                numbers: list[int | None] = [place_of(name).number for name in alike]
                if len(set(numbers)) < len(numbers):
                    numbers = list(range(len(alike)))
                self._numbers.update(zip(alike, numbers, strict=True))

    def start(self) -> None:
        """Reset the numbering before the next forward pass."""
        self._given = {}

    def is_cross(self, module: str) -> bool:
        """Return whether the module's name marks it as cross-attention."""
        return module in self._cross or is_cross(module)

    def stack_of(self, module: str, cross: bool) -> Stack:
        layers = place_of(module).layers
        name = "" if layers is None else self._names.get(layers, "")
        if cross:
            name = "cross"
        elif self._cross and not name:
            name = "decoder"
        length = None if layers is None else self._lengths.get(layers)
        if self._layers is not None:
            length = max(length or 0, self._layers)
        return Stack(name, length)

    def number_of(self, module: str, stack: Stack) -> int:
        given = self._given.setdefault(stack.name, {})
        number = self._numbers.get(module, place_of(module).number)
        if number is None or number in given:
            number = max(given, default=-1) + 1
        given[number] = module
        return number
