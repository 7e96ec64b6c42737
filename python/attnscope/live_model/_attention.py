"""Items of `attention`: PyTorch computes maps and activations, the library measures them."""

import json
from functools import partial
from typing import Any, cast

import numpy as np

from attnscope import _core
from attnscope._errors import NumericalError, UnsupportedError
from attnscope._live import Watch
from attnscope._modules import eager, not_eager
from attnscope._saved_maps import SavedMaps
from attnscope.live_model._hooks import Hooks, Place
from attnscope.live_model._pass import Batch, Runner


MOST_DIFFERENCE = 0.02
"""Largest difference of the last states with two attention implementations, of their range."""


def _rows(values: Any, batch: Batch) -> Any:
    """Return values as float32 rows in CPU memory (B T, columns)."""
    flat = values.reshape(batch.count, -1, values.shape[-1])[:, : batch.length]
    return flat.flatten(0, 1).float().contiguous().cpu().numpy()


class _Feed:
    """Passes what one batch computes to the library, in the order that it expects.

    In place of a `Meter`, it also receives the maps that a `Watch` collects.
    """

    def __init__(
        self, item: _core.LiveBatch, batch: Batch, layers: list[int], saved: SavedMaps | None
    ) -> None:
        self._item, self._batch, self._layers = item, batch, layers
        self._saved = saved  # None: the batch has not the first sequence
        self._heads: dict[int, Any] = {}  # head outputs that came before the maps
        self.last: Any = None  # the stream that was passed on last
        self._streams = 0  # passed on so far
        self.measured: list[int] = []
        self.notes: list[str] = []

    def stream(self, layer: int, values: Any) -> None:
        if values.ndim != 3:
            raise UnsupportedError("attention: not supported on a live model with several residual streams")
        self.last = values
        rows = _rows(values, self._batch)
        if not np.isfinite(rows).all():
            raise NumericalError(f"the residual stream has NaN or infinite values after {layer} layers")
        for index in range(self._streams, layer + 1):  # texts skip some layers of some models
            self._item.put_stream(index, rows)
        self._streams = layer + 1

    def input(self, layer: int, values: Any) -> None:
        self._item.put_input(layer, _rows(values, self._batch))

    def heads(self, layer: int, values: Any) -> None:
        if layer in self.measured:
            self._item.put_heads(layer, _rows(values, self._batch))
        elif layer in self._layers:
            self._heads[layer] = _rows(values, self._batch)

    def put(
        self, stack: Any, layer: int, name: str, maps: Any, cross: bool, sinks: bool, queries: Any,
        keys: Any,
    ) -> None:
        if layer not in self._layers:
            return
        length = self._batch.length
        own = maps[..., :length, :length].float().contiguous().cpu().numpy()
        if not np.isfinite(own).all():
            raise NumericalError(f"the attention maps of layer {layer} have NaN or infinite values")
        self._item.put_maps(layer, own)
        if self._saved is not None:
            self._saved.add("", layer, own, [], [])
        self.measured.append(layer)
        if layer in self._heads:
            self._item.put_heads(layer, self._heads.pop(layer))


def _hook(hooks: Hooks, runner: Runner, feed: _Feed) -> None:
    calls = runner.places.layer_calls
    if calls is None:
        raise UnsupportedError("attention: not supported on this live model, whose layers are no modules")
    for layer, call in enumerate(calls):
        places = runner.places.layers[layer]
        hooks.at(call, partial(feed.stream, layer))
        if places.heads is None:
            continue
        if places.query is None:
            raise UnsupportedError(f"attention: layer {layer}: no module has its W_Q")
        hooks.at(places.query, partial(feed.input, layer))
        hooks.at(places.heads, partial(feed.heads, layer))
    last = Place(calls[-1].module, calls[-1].name, False, calls[-1].call)
    hooks.at(last, partial(feed.stream, runner.layers))


def outcomes(
    runner: Runner, text: str, threads: int, saved: SavedMaps | None = None
) -> list[dict[str, Any]]:
    """Compute an item. `text`: the serialized item. `saved`: keeps the maps of the first one."""
    positions = _core.item_positions(text)
    of_item = json.loads(text)["batch"]
    layers = of_item["layers"]
    batches = runner.batches(positions["inputs"], positions["types"])
    if len(batches) != 1:
        raise UnsupportedError("attention: not supported for a batch that the device cannot run at once")
    batch = batches[0]
    item = _core.LiveBatch(runner.described, text, threads)
    own = saved if of_item["first"] == 0 else None
    if own is not None:
        own.start({"input_ids": batch.ids}, None)
    feed = _Feed(item, batch, layers, own)
    watch = Watch(runner.module, cast(Any, feed), None)
    kinds = not_eager(runner.module)
    with eager(runner.module), watch.watching(), Hooks() as hooks:
        _hook(hooks, runner, feed)
        watch.start({"input_ids": batch.ids})
        try:
            runner.run_with_maps(hooks, batch)
        except (AttributeError, TypeError) as error:  # it uses its maps, which were taken away
            raise UnsupportedError(f"attention: not supported on this live model: {error}") from error
    if kinds and not runner.has_checked_maps:
        runner.has_checked_maps = True
        check_eager(runner, batch, feed.last, kinds[0])
    missing = sorted(set(layers) - set(feed.measured))
    if missing:
        raise UnsupportedError(f"attention: layer {missing[0]} returned no maps")
    found: list[dict[str, Any]] = json.loads(item.outcomes())["outcomes"]
    return found


def check_eager(runner: Runner, batch: Batch, last: Any, kind: str) -> None:
    """Refuse a model whose eager attention, which returns the maps, gives other states."""
    record, _ = runner.recorded(batch, (), with_logits=False)
    usual = record.streams[runner.layers].float()
    check_states(last, usual, kind)


def check_states(last: Any, usual: Any, kind: str) -> None:
    """Refuse a model whose last hidden states with eager attention differ from the usual ones."""
    size = (usual.float() - usual.float().mean()).abs().max()
    if not bool((last.float() - usual.float()).abs().max() <= MOST_DIFFERENCE * size):
        raise UnsupportedError(
            f"attention: its eager attention, which returns maps, gives other hidden states than {kind}"
        )
