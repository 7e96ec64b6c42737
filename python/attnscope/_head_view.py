"""Attention maps as interactive views: lines between tokens of some heads, or a grid of all heads."""

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnscope import _core
from attnscope._chart import Chart, save
from attnscope._charts import chart_of
from attnscope._errors import UsageError, UsageIndexError, UsageTypeError
from attnscope._guidance import Hinted, guided
from attnscope._plural import counted
from attnscope._safetensors import Bytes
from attnscope._values import Path

MOST_BYTES = 180_000
"""Size of a page. In a notebook, quotes and ampersands of its script take a few bytes more."""
MOST_MAP_BYTES = 256 << 20
"""Maps of all layers that a view computes. A view of larger maps has only its own layer."""

PARTS = ("all", "a_to_b", "b_to_a", "a_to_a", "b_to_b")

Token = tuple[int, str | None]
Heads = int | str | Iterable[int]


@dataclass
class Maps:
    """Attention maps of one text."""

    model: str
    layers: list[int]
    values: NDArray[np.float32]
    """(L, H, T, S)"""
    tokens: list[Token]
    source: list[Token]
    """Tokens of the keys of cross-attention."""
    pair_texts: list[int]
    """For a pair of texts: 0 for tokens of text A, 1 for text B, -1 for special tokens."""


@guided
class HeadView(Hinted):
    """An interactive view of attention heads. A notebook displays it; `save` writes it.

    It is a self-contained page of less than 200 kB, without network access.
    """

    _hints = {
        **dict.fromkeys(("show", "display", "open"), "the view as the last line of a notebook cell, or view.save('heads.html')"),
        **dict.fromkeys(("savefig", "write", "to_html"), "view.save('heads.html')"),
    }

    def __init__(self, heads: _core.Heads, chart: str, height: int, title: str) -> None:
        self._heads = heads
        self._chart = chart
        self._height = height
        self._title = title
        self._page: bytes | None = None

    @property
    def html(self) -> str:
        """The view as an HTML document."""
        if self._page is None:
            self._page = self._heads.page(MOST_BYTES)
        return self._page.decode()

    def save(self, path: Path) -> None:
        """Write the view. The extension selects the format: .html, or .svg and .png of the maps."""
        contents: dict[str, Callable[[], bytes]] = {
            ".html": lambda: self.html.encode(),
            ".svg": lambda: self._static.svg.encode(),
            ".png": lambda: self._static.png(),
        }
        save(path, contents)

    @cached_property
    def _static(self) -> Chart:
        """Return the maps as an image, without interaction."""
        charts = {file.name: file for file in self._heads.charts()}
        return chart_of(charts[self._chart])

    def _repr_html_(self) -> str:
        source = html.escape(self.html).replace("&#x27;", "'")
        return (
            f'<iframe srcdoc="{source}" title="{html.escape(self._title)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self._height}px; resize: vertical; '
            'border: 1px solid rgba(128, 128, 128, 0.5)"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<attnscope.HeadView of {self._title}; .save('heads.html')>"


def _index(name: str, value: Any, known: Sequence[int], what: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise UsageTypeError(f"{name}: expected a number, not {type(value).__name__}")
    number = int(value) + (len(known) if value < 0 else 0)
    if number in known:
        return number
    shown = f"{known[0]} to {known[-1]}" if len(known) == known[-1] - known[0] + 1 else known
    raise UsageIndexError(f"{name}: {value} is not among the {what}: {shown}")


def place_of(layer: Any, head: Any) -> tuple[Any, Any]:
    """Return layer and head, also if one of them is a text such as "L3H2" for both."""
    for name, value, other in (("layer", layer, head), ("head", head, layer)):
        if not isinstance(value, str):
            continue
        found = re.fullmatch(r"[Ll](\d+)[Hh](\d+)", value.strip())
        if found is None or other is not None:
            raise UsageTypeError(f"{name}: expected a number, or only a text such as 'L3H2', not {value!r}")
        return int(found[1]), int(found[2])
    return layer, head


def _heads_of(head: Any, count: int) -> list[int]:
    """Return the selected heads. None: the first one."""
    if head is None:
        return [0]
    several = isinstance(head, Iterable) and not isinstance(head, str)
    given = list(head) if several else [head]
    if not given:
        raise UsageError("head: empty list")
    return [_index("head", one, range(count), "heads") for one in given]


def _part_of(part: Any, maps: Maps) -> str:
    if not isinstance(part, str):
        raise UsageTypeError(f"part: expected a text, not {type(part).__name__}")
    name = part.lower().replace("→", "->").replace(" ", "").replace("->", "_to_")
    if name not in PARTS:
        raise UsageError(f"part: expected {', '.join(PARTS)}, not {part!r}")
    if name != "all" and not maps.pair_texts:
        raise UsageError("part: the text is not a pair: pass text_pair to attention")
    return name


def named(tokens: Any, maps: Maps) -> None:
    """Replace the texts of the tokens. `tokens`: texts, or a pair of the texts of queries and keys."""
    if tokens is None:
        return
    pair = isinstance(tokens, tuple) and len(tokens) == 2 and not isinstance(tokens[0], str)
    axes = list(tokens) if pair else [tokens]
    sizes = maps.values.shape[2:]
    if not pair and sizes[0] != sizes[1]:
        raise UsageError("tokens: expected a pair, the tokens of the queries and those of the keys")
    texts: list[list[Token]] = []
    for axis, size in zip(axes, sizes, strict=False):
        if isinstance(axis, str) or not isinstance(axis, Iterable):
            raise UsageTypeError(f"tokens: expected a list of texts, not {type(axis).__name__}")
        names = [str(one) for one in axis]
        if len(names) != size:
            found = counted(len(names), "text")
            raise UsageError(f"tokens: {found}, but the maps have {counted(size, 'token')}")
        texts.append(list(enumerate(names)))
    maps.tokens = texts[0]
    maps.source = texts[1] if pair else []


def head_view(
    maps: Maps, layer: Any, head: Any, part: Any, tokens: Any, is_grid: bool
) -> HeadView:
    """Make the view. None: the first layer and head."""
    named(tokens, maps)
    opened = maps.layers[0] if layer is None else _index("layer", layer, maps.layers, "layers")
    heads = _heads_of(head, maps.values.shape[1])
    page = _core.Heads(
        maps.values, maps.model, maps.layers, maps.tokens, maps.source, maps.pair_texts, opened,
        heads, _part_of(part, maps), is_grid,
    )  # fmt: skip
    rows = max(len(maps.tokens), len(maps.source))
    height = min(760, 150 + 20 * rows)
    if is_grid:
        return HeadView(page, "attention-wall", 760, f"{maps.model}: all heads")
    names = ", ".join(f"L{opened}H{one}" for one in heads)
    return HeadView(page, "attention-map", height, f"{maps.model}: {names}")


def maps_of_arrays(
    model: str, arrays: dict[str, NDArray[Any]], texts_of: Callable[[list[int]], list[str] | None]
) -> Maps:
    """Return the maps that a call of `attention` keeps with `maps=True`."""
    values = np.ascontiguousarray(arrays["attentions"], dtype=np.float32)

    def tokens(name: str, count: int) -> list[Token]:
        ids = arrays.get(name)
        if ids is None or ids.size != count:
            return []
        numbers = [int(one) for one in ids.ravel()]
        texts = texts_of(numbers)
        names: list[str] | list[None] = texts or [None] * count
        return list(zip(numbers, names, strict=True))

    queries = tokens("tokens", values.shape[2]) or _numbers(values.shape[2])
    source = tokens("source_tokens", values.shape[3])
    if not source and values.shape[2] != values.shape[3]:
        source = _numbers(values.shape[3])
    pair = arrays.get("pair_texts")
    return Maps(
        model,
        [int(one) for one in arrays["layers"]],
        values,
        queries,
        source,
        [] if pair is None else [int(one) for one in pair.ravel()],
    )


def _numbers(count: int) -> list[Token]:
    return [(index, None) for index in range(count)]


def maps_of_given(model: str, given: list[tuple[str, int, Any]]) -> Maps:
    """Return the first sequence of maps (N, H, T, S) that the caller measured.

    `given`: stack, layer number and maps. A view shows the first stack.
    """
    from attnscope._meter import as_numpy

    of_stack = [(layer, maps) for stack, layer, maps in given if stack == given[0][0]]
    first = {layer: maps for layer, maps in reversed(of_stack)}
    layers = sorted(first)
    arrays = [np.asarray(as_numpy(first[layer][0]), dtype=np.float32) for layer in layers]
    if len({array.shape for array in arrays}) != 1:
        raise UsageError("view: the maps of the layers differ in size: measure layers of equal size")
    values = np.ascontiguousarray(np.stack(arrays))
    source = _numbers(values.shape[3]) if values.shape[2] != values.shape[3] else []
    return Maps(model, layers, values, _numbers(values.shape[2]), source, [])
