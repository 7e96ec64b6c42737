"""Detection of padding in a batch, from the masks that the model received."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnscope._arrays import is_array, readable
from attnscope._errors import UsageError

Kept = list[list[int]]
"""Positions of the tokens that are not padding, per sequence. Empty: no padding at all."""


def kept(name: str, mask: NDArray[Any]) -> Kept:
    """Return the token positions of a mask (N, T) that is nonzero at tokens."""
    if mask.ndim != 2:
        raise UsageError(f"{name}: expected shape (N, T), not {mask.shape}")
    tokens = mask != 0
    if tokens.all():
        return []
    empty = np.flatnonzero(~tokens.any(axis=1))
    if len(empty):
        raise UsageError(f"{name}: sequence {empty[0]} has no tokens")
    return [np.flatnonzero(row).tolist() for row in tokens]


def _numpy(mask: Any) -> NDArray[Any]:
    mask = readable(mask)
    if isinstance(mask, np.ndarray):
        return mask
    return np.asarray(mask.float() if str(mask.dtype) == "torch.bfloat16" else mask)


def _let_through(mask: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which keys a mask (N, 1, T, S) lets through. The mask is additive or boolean."""
    if mask.dtype != np.bool_:
        return np.asarray(mask > np.finfo(mask.dtype).min / 2)
    # In some models True means masked. Then no query can attend to itself.
    is_inverted = mask.shape[2] == mask.shape[3] and not mask.diagonal(axis1=2, axis2=3).any()
    return ~mask if is_inverted else mask


class Padding:
    """Padding of one batch.

    A mask (N, T) of the inputs is used for a stack if their lengths are equal. Otherwise the mask
    (N, 1, T, S) that the attention module received is used.
    `has_encoder`: the model has an encoder and a decoder.
    """

    def __init__(self, inputs: Mapping[str, Any], has_encoder: bool) -> None:
        self._has_encoder = has_encoder
        self._masks: dict[str, NDArray[Any]] = {}
        for name in ("attention_mask", "encoder_attention_mask", "decoder_attention_mask"):
            mask = inputs.get(name)
            if mask is not None and mask.ndim == 2:
                self._masks[name] = _numpy(mask)
        self._used: set[str] = set()
        self._known: tuple[Any, Kept] | None = None  # last mask of a module, and its token positions
        self._queries: Kept = []  # of the decoder's self-attention

    def kept(
        self, stack: str, cross: bool, shape: Any, kwargs: Mapping[str, Any]
    ) -> tuple[Kept, Kept]:
        """Return the query and key positions that are not padding."""
        length, across = int(shape[2]), int(shape[3])
        name = "attention_mask"
        if stack == "decoder" and self._has_encoder:
            name = "decoder_attention_mask"
        if cross and not self._has_encoder:
            name = "encoder_attention_mask"
        keys = self._of_inputs(name, stack, across)
        if keys is None:
            keys = self._of_module(kwargs, int(shape[0]), across)
        if cross:
            queries = self._queries if all(one[-1] < length for one in self._queries) else []
            return queries, keys
        if stack == "decoder":
            self._queries = keys
        return (keys if length == across else []), keys

    def _of_inputs(self, name: str, stack: str, length: int) -> Kept | None:
        mask = self._masks.get(name)
        if mask is None or stack in ("vision", "audio") or mask.shape[1] != length:
            return None
        self._used.add(name)
        return kept(name, mask)

    def _of_module(self, kwargs: Mapping[str, Any], sequences: int, length: int) -> Kept:
        for name, mask in kwargs.items():
            if "mask" not in name or not is_array(mask) or mask.ndim != 4:
                continue
            if mask.shape[3] != length or mask.shape[0] not in (1, sequences):
                continue
            if self._known is None or self._known[0] is not mask:
                seen = _let_through(_numpy(mask)).any(axis=(1, 2))
                self._known = (mask, kept(name, np.broadcast_to(seen, (sequences, length))))
            self._used.update(self._masks)
            return self._known[1]
        return []

    def notes(self) -> list[str]:
        """Return a note per mask that has padding and was used for no stack."""
        return [
            f"{name}: no attention module has its length, so padding was not excluded"
            for name, mask in self._masks.items()
            if name not in self._used and not (mask != 0).all()
        ]
