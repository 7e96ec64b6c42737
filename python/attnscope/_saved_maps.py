"""Attention maps that a run of a live module keeps for views: those of its first sequence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnscope._arrays import is_array
from attnscope._errors import UsageError
from attnscope._head_view import Maps, Token, maps_of_given
from attnscope._padding import Kept

MOST_BYTES = 32 << 20
"""Size of all kept maps. Larger ones are kept only if they are requested (`maps=True`)."""

OF_QUERIES = ("decoder_input_ids", "input_ids", "input", "tokens", "", "0")
OF_KEYS = ("input_ids", "encoder_input_ids", "input", "tokens", "", "0")
"""Names of token ids in the input of a module. The last two: of a tensor, and of a tuple."""


def texts_of(tokenizer: Any, ids: Sequence[int]) -> list[str] | None:
    """Return the texts of tokens, with their leading spaces. None: no tokenizer of transformers."""
    if not hasattr(tokenizer, "decode") or not hasattr(tokenizer, "convert_ids_to_tokens"):
        return None
    texts = [str(tokenizer.decode([one])) for one in ids]
    pieces = tokenizer.convert_ids_to_tokens(list(ids))
    return [
        f" {text}" if str(piece).startswith("▁") and not text.startswith(" ") else text
        for text, piece in zip(texts, pieces, strict=True)
    ]


class SavedMaps:
    """The maps (H, T, S) of the first sequence in every layer, without padding."""

    def __init__(self, is_requested: bool) -> None:
        self._is_requested = is_requested
        self._maps: dict[tuple[str, int], NDArray[np.float32]] = {}
        self._kept: dict[str, tuple[list[int], list[int], tuple[int, int]]] = {}
        self._bytes = 0
        self._inputs: Mapping[str, Any] = {}
        self._tokenizer: Any = None

    def start(self, inputs: Mapping[str, Any], tokenizer: Any) -> None:
        """Set the tensors of the first batch, which name the tokens."""
        self._inputs, self._tokenizer = inputs, tokenizer

    def add(self, stack: str, layer: int, maps: Any, queries: Kept, keys: Kept) -> None:
        from attnscope._meter import as_numpy  # Not at the top, because that module needs this one.

        _, heads, length, across = (int(size) for size in maps.shape)
        if (stack, layer) in self._maps or self._is_over:
            return
        self._bytes += 4 * heads * length * across
        if self._is_over:
            self._maps.clear()
            return
        rows = queries[0] if queries else list(range(length))
        columns = keys[0] if keys else list(range(across))
        first = np.asarray(as_numpy(maps[0]))[:, rows][:, :, columns]
        self._maps[stack, layer] = np.array(first, dtype=np.float32)
        self._kept[stack] = (rows, columns, (length, across))

    @property
    def is_empty(self) -> bool:
        """Whether there were no maps. Maps that were too large to keep count."""
        return self._bytes == 0

    @property
    def _is_over(self) -> bool:
        return self._bytes > MOST_BYTES and not self._is_requested

    def _ids(self, names: tuple[str, ...], length: int, kept: list[int]) -> list[int] | None:
        for name in names:
            ids: Any = self._inputs.get(name)
            if is_array(ids) and ids.ndim == 2 and "int" in str(ids.dtype) and ids.shape[1] == length:
                return [int(ids[0, at]) for at in kept]
        return None

    def _tokens(self, names: tuple[str, ...], length: int, kept: list[int]) -> list[Token]:
        ids = self._ids(names, length, kept)
        if ids is None:
            return [(at, None) for at in range(len(kept))]
        texts = texts_of(self._tokenizer, ids)
        return [(one, None if texts is None else texts[at]) for at, one in enumerate(ids)]

    def view(self, model: str) -> Maps:
        """Return the maps of the first stack, for a view."""
        if self._is_over:
            raise UsageError(
                f"the maps of the first sequence have more than {MOST_BYTES >> 20} MB, so they were "
                "not kept: call attention with maps=True"
            )
        given = [(stack, layer, maps[np.newaxis]) for (stack, layer), maps in self._maps.items()]
        found = maps_of_given(model, given)
        rows, columns, (length, across) = self._kept[given[0][0]]
        is_cross = given[0][0] == "cross"
        found.tokens = self._tokens(OF_QUERIES if is_cross or given[0][0] == "decoder" else OF_KEYS, length, rows)
        found.source = self._tokens(OF_KEYS, across, columns) if is_cross else []
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the maps (L, H, T, S) of each stack, their layers, and the ids of the tokens."""
        out: dict[str, NDArray[Any]] = {}
        stacks = list(self._kept)
        for stack in stacks:
            prefix = f"{stack}_" if len(stacks) > 1 else ""
            layers = sorted(layer for of, layer in self._maps if of == stack)
            each = [self._maps[stack, layer] for layer in layers]
            if len({one.shape for one in each}) != 1:
                raise UsageError("maps: the maps of the layers differ in size: select layers of equal size")
            out[f"{prefix}layers"] = np.array(layers)
            out[f"{prefix}attentions"] = np.stack(each)
        rows, _, (length, _) = self._kept[stacks[0]]
        ids = self._ids(OF_QUERIES if stacks[0] == "decoder" else OF_KEYS, length, rows)
        return out if ids is None else {"tokens": np.array(ids), **out}

    def texts(self) -> list[str] | None:
        """Return the texts of the tokens of the first stack."""
        rows, _, (length, _) = self._kept[next(iter(self._kept))]
        tokens = self._tokens(OF_KEYS, length, rows)
        return [text for _, text in tokens if text is not None] or None
