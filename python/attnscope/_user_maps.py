"""Attention maps as arrays, without a model."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from attnscope._arrays import is_array
from attnscope._errors import UsageError, UsageTypeError
from attnscope._head_view import maps_of_given
from attnscope._meter import Meter, as_numpy
from attnscope._padding import Kept, kept
from attnscope._stacks import Stack, is_cross, place_of
from attnscope._table import Table


def _shaped(layer: str, maps: Any) -> Any:
    """Reshape maps to (N, H, T, S)."""
    if not is_array(maps):
        try:
            maps = np.asarray(maps, dtype=np.float64)
        except (TypeError, ValueError):
            raise UsageTypeError(f"maps of {layer}: expected an array, not {type(maps).__name__}") from None
    shape = tuple(int(size) for size in maps.shape)
    if len(shape) < 3 or 0 in shape:
        raise UsageError(f"maps of {layer}: expected shape (..., H, T, S), not {shape}")
    if isinstance(maps, np.ndarray) and maps.dtype.kind != "f":
        raise UsageTypeError(f"maps of {layer}: expected real numbers, not {maps.dtype}")
    return maps.reshape(-1, *shape[-3:])


def _masks(mask: Any) -> tuple[Kept, Kept]:
    """Return the token positions of queries and of keys. `mask`: one for both, or a pair."""
    if mask is None:
        return [], []
    pair = mask if isinstance(mask, tuple) and len(mask) == 2 else (mask, mask)
    queries, keys = (kept("mask", np.asarray(as_numpy(one))) for one in pair)
    return queries, keys


def _check_mask(layer: str, axis: str, places: Kept, sequences: int, length: int) -> None:
    if places and len(places) != sequences:
        raise UsageError(f"mask: has {len(places)} sequences, but the maps of {layer} have {sequences}")
    if any(of_sequence and of_sequence[-1] >= length for of_sequence in places):
        raise UsageError(f"mask: longer than the {axis} of {layer}")


def measure_maps(
    maps: Any, mask: Any, sinks: bool | None, name: str | None, arguments: list[tuple[str, str]]
) -> Table:
    is_held = isinstance(maps, (list, tuple, Mapping))  # not a generator, whose maps are freed
    if isinstance(maps, Mapping):
        maps = maps.items()
    if is_array(maps) or not isinstance(maps, Iterable):
        raise UsageTypeError("maps: expected pairs of a layer and its array (..., H, T, S)")
    queries, keys = _masks(mask)
    facts = {"name": name or "maps", "architecture": "maps", "parameters": None, "width": None}
    meter = Meter(arguments, "maps", facts, None, None)
    held: list[tuple[str, int, Any]] = []
    numbers: dict[str, dict[str, int]] = {}  # per stack: the number of each named layer
    for pair in maps:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise UsageTypeError("maps: expected pairs of a layer and its array (..., H, T, S)")
        layer, array = pair
        if isinstance(layer, bool) or not isinstance(layer, (int, str, np.integer)) or (
            not isinstance(layer, str) and layer < 0
        ):
            raise UsageTypeError(f"maps: expected a layer number from 0 or a layer name, not {layer!r}")
        word = layer if isinstance(layer, str) else f"layer {layer}"
        array = _shaped(word, array)
        cross = is_cross(word)
        sequences, _, length, across = (int(size) for size in array.shape)
        if length != across and not cross:
            raise UsageError(
                f"maps of {word}: {length} queries but {across} keys; for cross-attention, use a "
                "layer name that contains 'cross'"
            )
        stack, number = _named_layer(layer, word, cross, numbers)
        _check_mask(word, "queries", queries, sequences, length)
        _check_mask(word, "keys", keys, sequences, across)
        meter.put(stack, number, word, array, cross, bool(sinks), queries, keys)
        if is_held:
            held.append((stack.name, number, array))
    if not meter.has_maps:
        raise UsageError("maps: no maps given")
    meter.notes += [
        f"layer {number}{f' of {stack}' if stack else ''} is {word}"
        for stack, names in numbers.items()
        for word, number in names.items()
        if place_of(word).number is None and not word.startswith("layer ")
    ]
    table = meter.table()
    if held:
        table._maps_of = lambda _layer: maps_of_given(name or "maps", held)
    return table


def _named_layer(
    layer: Any, word: str, cross: bool, numbers: dict[str, dict[str, int]]
) -> tuple[Stack, int]:
    if not isinstance(layer, str):
        return Stack("", None), int(layer)
    parts = {part.lower() for part in word.split(".")}
    own = next((one for one in ("encoder", "decoder", "text", "vision", "audio") if one in parts), "")
    stack = Stack("cross" if cross else own, None)
    names = numbers.setdefault(stack.name, {})
    number = place_of(word).number
    names.setdefault(word, max(names.values(), default=-1) + 1 if number is None else number)
    return stack, names[word]
