"""Streaming analysis of attention maps from models that other software runs."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from attnscope import _core
from attnscope._arrays import readable
from attnscope._errors import UsageError, usage_errors
from attnscope._saved_maps import SavedMaps
from attnscope._padding import Kept
from attnscope._run import table_of
from attnscope._stacks import Stack
from attnscope._table import Table

BLOCK_BYTES = 256 << 20
"""Bytes of maps copied from a device at a time. At least one sequence is copied."""


class Meter:
    """Analyzes maps as they arrive, on its own threads."""

    def __init__(
        self,
        arguments: list[tuple[str, str]],
        source: str,
        facts: Mapping[str, Any],
        sequences: int | None,
        tokens_hash: str | None,
        saved: SavedMaps | None = None,
    ) -> None:
        self._arguments = arguments
        self._source = source
        self._facts = facts
        self._sequences = sequences
        self._hash = tokens_hash
        self._saved = saved
        self._run: _core.LiveRun | None = None
        self._stacks: dict[str, int] = {}
        self._heads: dict[tuple[str, int], int] = {}
        self._started = time.monotonic()
        self._waited = 0.0
        self.notes: list[str] = []

    @property
    def has_maps(self) -> bool:
        return self._run is not None

    def _model_of(self, stack: Stack, maps: Any) -> int:
        if self._run is None:
            tokens_hash = self._hash or hash_of([as_numpy(maps[0, 0])])
            sequences = self._sequences or int(maps.shape[0])
            self._run = _core.LiveRun(
                self._arguments, self._source, sequences, int(maps.shape[2]), tokens_hash
            )
        if stack.name not in self._stacks:
            facts = self._facts
            name = f"{facts['name']}:{stack.name}" if stack.name else facts["name"]
            self._stacks[stack.name] = self._run.add_model(
                name, stack.name, facts["architecture"], facts["parameters"], stack.layers,
                facts["width"],
            )
        return self._stacks[stack.name]

    def put(
        self, stack: Stack, layer: int, name: str, maps: Any, cross: bool, sinks: bool,
        queries: Kept, keys: Kept,
    ) -> None:
        """Analyze maps (N, H, T, S) of a layer. Re-raises errors from earlier maps."""
        model = self._model_of(stack, maps)
        run = self._run
        assert run is not None
        if not run.wants(model, layer):
            return
        heads = self._heads.setdefault((stack.name, layer), int(maps.shape[1]))
        if heads != maps.shape[1]:
            raise UsageError(f"maps of {name}: {maps.shape[1]} heads, but earlier maps have {heads}")
        if self._saved is not None:
            self._saved.add(stack.name, layer, maps, queries, keys)
        for block, first in _blocks(maps):
            last = first + int(block.shape[0])
            with usage_errors():
                self._waited += run.put(
                    model, layer, name, block, cross, sinks, queries[first:last], keys[first:last],
                    int(np.prod(maps.shape)) * _item_bytes(maps),
                )

    def table(self) -> Table:
        run = self._run
        assert run is not None
        self._waited += run.wait()
        taken = time.monotonic() - self._started
        share = 100 * self._waited / taken if taken > 0 else 0
        waits = "the model waited for the analysis" if self._source == "inputs" else "analysis took"
        self.notes.append(f"{waits} {self._waited:.2f} s of {taken:.2f} s ({share:.0f}%)")
        return table_of(run.report(self.notes))


def _item_bytes(maps: Any) -> int:
    return int(getattr(maps.dtype, "itemsize", 4))


def as_numpy(array: Any) -> Any:
    """Convert to NumPy for hashing. Widen dtypes that NumPy does not support."""
    array = readable(array)
    if isinstance(array, np.ndarray):
        return array
    try:
        return np.from_dlpack(array)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        return np.asarray(array.float() if hasattr(array, "float") else array)


def hash_of(arrays: Iterable[Any]) -> str:
    hashed = hashlib.blake2b(digest_size=16)
    for array in arrays:
        hashed.update(f"{array.dtype}{array.shape}".encode())
        hashed.update(np.ascontiguousarray(array).view(np.uint8).data)
    return hashed.hexdigest()


def _blocks(maps: Any) -> Iterator[tuple[Any, int]]:
    """Yield blocks of maps in CPU memory, each with the number of its first sequence.

    Maps on another device are copied a few sequences at a time.
    """
    device = getattr(getattr(maps, "device", None), "type", "cpu")
    if device == "cpu":
        yield readable(maps), 0
        return
    each = int(np.prod(maps.shape[1:])) * _item_bytes(maps)
    together = max(1, BLOCK_BYTES // max(1, each))
    for first in range(0, int(maps.shape[0]), together):
        yield readable(maps[first : first + together]), first
