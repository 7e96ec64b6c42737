"""The texts of an item: their unmodified passes, which the items of one run share."""

from typing import Any

import numpy as np

from attnscope.live_model._device import is_out_of_memory, release
from attnscope.live_model._measures import CleanLogits, clean_logits
from attnscope.live_model._pass import Batch, Record, Runner, check_finite


class Texts:
    """Texts with scored positions, and the recorded passes of some layers on them."""

    def __init__(self, runner: Runner, positions: dict[str, Any]) -> None:
        import torch

        self._runner = runner
        self._inputs, self._types = positions["inputs"], positions["types"]
        self.of_sequence: list[int] = positions["of_sequence"]
        self.token_list: list[int] = positions["tokens"]
        self.rows = torch.tensor(positions["rows"], device=runner.device)
        self.tokens = torch.tensor(positions["tokens"], device=runner.device)
        self.ends = np.cumsum([0, *self.of_sequence])
        self.batches: list[Batch] = []
        self._layers: list[int] = []
        self.records: list[Record] = []
        self.clean_loss = np.zeros(len(self._inputs))

    @property
    def predicted(self) -> list[int]:
        counted = np.array(self.token_list) >= 0
        return [int(counted[a:b].sum()) for a, b in zip(self.ends, self.ends[1:], strict=False)]

    def scored(self, batch: Batch) -> slice:
        """Return which of all scored positions are in the batch."""
        return slice(int(self.ends[batch.first]), int(self.ends[batch.first + batch.count]))

    def rows_of(self, batch: Batch) -> Any:
        return self.rows[self.scored(batch)] - batch.first_row

    def per_sequence(self, batch: Batch, values: Any) -> Any:
        """Sum values (..., n) of the batch's positions for each sequence (..., B), in float64."""
        found = values.float().cpu().numpy().astype(np.float64)
        starts = self.ends[batch.first : batch.first + batch.count + 1] - self.ends[batch.first]
        parts = [found[..., a:b].sum(-1) for a, b in zip(starts, starts[1:], strict=False)]
        return np.stack(parts, -1)

    def fresh_batches(self) -> list[Batch]:
        return self._runner.batches(self._inputs, self._types)

    def record(self, layer: int) -> None:
        """Run the texts, unless the layer is recorded. Record all layers if they fit into memory."""
        runner = self._runner
        if layer in self._layers:
            return
        self._layers, self.records = [], []
        self.batches = self.fresh_batches()
        rows = sum(batch.rows for batch in self.batches)
        element = next(runner.module.parameters()).element_size()
        layers = list(range(runner.layers)) if runner.may_keep(rows, element) else [layer]
        try:
            self._record_batches(layers)
        except Exception as error:
            if not is_out_of_memory(error) or max(one.count for one in self.batches) == 1:
                raise
            is_full = True
        else:
            is_full = False
            self._layers = layers
        if is_full:  # not in the handler, whose traceback keeps tensors alive
            self.records = []
            release(runner.device)
            runner.rows_of_logits = max(batch.rows for batch in self.batches) // 2
            self.record(layer)

    def _record_batches(self, layers: list[int]) -> None:
        runner = self._runner
        for batch in self.batches:
            runner.check_stop()
            record, logits = runner.recorded(batch, layers)
            clean = self.clean(batch, logits)
            self.clean_loss[batch.first : batch.first + batch.count] = self.per_sequence(
                batch, clean.loss
            )
            self.records.append(record)

    def clean_run(self, batch: Batch, record: Record) -> Any:
        """Return the unmodified logits (B, T, V) of a recorded batch again."""
        finish = self._runner.finish
        if finish is not None:
            return finish(record.streams[self._runner.layers][:, : batch.length])
        return self._runner.logits(batch)

    def clean(self, batch: Batch, logits: Any) -> CleanLogits:
        """Measure unmodified logits (B, T, V)."""
        own = logits.reshape(-1, logits.shape[-1])[self.rows_of(batch)]
        check_finite(own)
        return clean_logits(own, self.tokens[self.scored(batch)])
