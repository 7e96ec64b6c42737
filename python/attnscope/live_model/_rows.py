"""Texts of several lengths in one batch, and the rows of their tokens in activations."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from attnscope import _core
from attnscope.live_model._hooks import Interrupted

Rows32 = np.ndarray[Any, np.dtype[np.float32]]


class Part:
    """Some of the texts of a pass: from number `first` to `end` − 1."""

    def __init__(self, run: _core.LayersPass, first: int, end: int) -> None:
        sequences = run.sequences
        self.run, self.first, self.end = run, first, end
        self.sequences, self.types = sequences[first:end], run.types[first:end]
        self._row = sum(map(len, sequences[:first]))
        self._count = sum(map(len, self.sequences))

    def rows(self, values: Rows32 | None) -> Rows32 | None:
        """Return the rows of these texts."""
        return None if values is None else values[self._row : self._row + self._count]


class Inputs:
    """Token ids (N, T), with padding at the end of shorter texts.

    `skipped`: tokens at the start of each text that have no rows, because they ran before.
    """

    def __init__(
        self, sequences: Sequence[Sequence[int]], types: Sequence[Sequence[int]],
        pad: int | None, device: Any, skipped: int = 0,
    ) -> None:
        lengths = [len(ids) for ids in sequences]
        self.ids = _padded(sequences, lengths, pad or 0).to(device)
        typed = [own or [0] * length for own, length in zip(types, lengths, strict=True)]
        self.types = _padded(typed, lengths, 0).to(device) if any(map(len, types)) else None
        self.skipped = skipped
        self.mask = _mask(lengths, device)  # None: all texts have the same length

    def padded(self, rows: Rows32, lengths: Sequence[int], part: Part) -> tuple[Any, Any]:
        """Return the rows (N, S, D) of the encoder's texts, one for each text of the part, and
        their mask. Text i has encoder text i modulo their number."""
        import torch

        device = self.ids.device
        values = torch.from_numpy(np.array(rows)).to(device)
        out = torch.nn.utils.rnn.pad_sequence(values.split(list(lengths)), batch_first=True)
        own = torch.arange(part.first, part.end, device=device) % len(lengths)
        mask = _mask(lengths, device)
        return out[own], None if mask is None else mask[own]


def _mask(lengths: Sequence[int], device: Any) -> Any:
    """Return which positions (N, T) have a token. None: all."""
    import torch

    if len(set(lengths)) == 1:
        return None
    return torch.arange(max(lengths), device=device) < torch.tensor(lengths, device=device)[:, None]


def _padded(rows: Sequence[Sequence[int]], lengths: Sequence[int], pad: int) -> Any:
    import torch

    longest = max(lengths)
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])


class Rows:
    """Reads and writes the rows of all tokens, text after text, in activations of a batch."""

    def __init__(self, inputs: Inputs) -> None:
        self._count, self._length = inputs.ids.shape
        self._mask, self._skipped = inputs.mask, inputs.skipped

    def _of(self, values: Any) -> Any:
        """Return a view (N, T, columns), without padding that the module added at the end."""
        return values.reshape(self._count, -1, values.shape[-1])[:, self._skipped : self._length]

    def read(self, values: Any) -> Rows32:
        """Copy the rows (rows, columns) to CPU memory, in float32."""
        own = self._of(values)
        own = own.flatten(0, 1) if self._mask is None else own[self._mask.to(own.device)]
        found: Rows32 = own.float().cpu().clone().contiguous().numpy()
        return found

    def written(self, values: Any, rows: Rows32) -> Any:
        """Return a copy of the values with these rows."""
        import torch

        new = values.clone().contiguous()
        own = self._of(new)
        given = torch.from_numpy(np.array(rows)).to(new.device, new.dtype)
        if self._mask is None:
            own[...] = given.view(own.shape)
        else:
            own[self._mask.to(own.device)] = given
        return new

    def show(self, values: Any, show: Callable[[Rows32], bool]) -> Any:
        """Show the rows. Return changed values, or None if they were not modified."""
        rows = self.read(values)
        before = rows.copy()
        if not show(rows):
            raise Interrupted
        if np.array_equal(rows, before, equal_nan=True):
            return None
        return self.written(values, rows)
