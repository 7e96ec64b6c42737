"""Items of `ablate` with `induction`: `ablate_for_induction` in
attnscope/interventions/induction_ablation.cpp."""

from typing import Any, cast

import numpy as np

from attnscope._errors import UnsupportedError
from attnscope._live import Watch
from attnscope._modules import eager, not_eager
from attnscope.live_model._attention import check_eager
from attnscope.live_model._hooks import Hooks
from attnscope.live_model._measures import induction_scores, losses
from attnscope.live_model._pass import Batch, Record, Runner, check_finite
from attnscope.live_model._replacements import Part, Replacements, parts_of, replace


class _Scores:
    """Receives the maps of one run of several copies, in place of a `Meter`."""

    def __init__(self, layer: int, copies: int, block: int) -> None:
        self._layer, self._copies, self._block = layer, copies, block
        self.notes: list[str] = []
        self.of_layer: dict[int, Any] = {}  # (copies, H), summed over sequences

    def put(self, stack: Any, layer: int, name: str, maps: Any, *_: Any) -> None:
        if layer > self._layer:
            found = induction_scores(maps, self._block)  # (copies B, H)
            by_copy = found.view(self._copies, -1, found.shape[-1]).sum(1)
            self.of_layer[layer] = by_copy.cpu().numpy().astype(np.float64)


class _Run:
    """The runs of one layer: scores (copies, later heads) and losses (copies, sequences)."""

    def __init__(self, runner: Runner, layer: int, block: int) -> None:
        self._runner, self._layer, self._block = runner, layer, block
        self.heads = [
            (later, head)
            for later in range(layer + 1, runner.layers)
            if runner.places.layers[later].heads is not None
            for head in range(runner.places.layers[later].heads_count)
        ]

    def run(self, record: Record, batch: Batch, parts: list[Part], values: Any) -> tuple[Any, Any]:
        """Run a copy of the batch for each component, or one unmodified copy without any."""
        runner, copies = self._runner, max(1, len(parts))
        scores = _Scores(self._layer, copies, self._block)
        watch = Watch(runner.module, cast(Any, scores), None)
        with watch.watching(), Hooks() as hooks:
            if parts:
                replace(hooks, runner.places.layers[self._layer], parts, batch, values)
            watch.start({"input_ids": batch.ids})
            if runner.finish is not None and runner.chains(batch):
                logits = runner.finish(runner.continued(record, batch, self._layer, copies))
            else:
                logits = runner.watched_logits(hooks, batch, copies)
        later = sorted({layer for layer, _ in self.heads})
        missing = [layer for layer in later if layer not in scores.of_layer]
        if missing:
            raise UnsupportedError(f"induction: layer {missing[0]} returned no attention maps")
        found = [scores.of_layer[layer] for layer in later]
        return np.concatenate([np.zeros((copies, 0)), *found], 1), self._losses(batch, logits, copies)

    def _losses(self, batch: Batch, logits: Any, copies: int) -> Any:
        """Return the losses of the second half, without its first token: (copies, B)."""
        block = self._block
        of_half = logits[:, block : 2 * block - 1].float().log_softmax(-1).flatten(0, 1)
        tokens = batch.ids[:, block + 1 :].repeat(copies, 1).flatten()
        found = losses(of_half, tokens)
        check_finite(found)
        return found.cpu().numpy().astype(np.float64).reshape(copies, batch.count, -1).sum(-1)


def outcomes(runner: Runner, item: dict[str, Any]) -> list[dict[str, Any]]:
    if item["parameters"].get("receiver_head") is not None:
        raise UnsupportedError("receiver of ablate: not supported on a live model")
    layer, sequences = item["batch"]["layers"][0], item["batch"]["tokens"]
    block = len(sequences[0]) // 2
    run = _Run(runner, layer, block)
    parts = parts_of(runner.places.layers[layer], ["heads"])
    clean_scores: Any = np.zeros((1, len(run.heads)))
    scores: Any = np.zeros((len(parts), len(run.heads)))
    clean_losses: Any = np.zeros((1, len(sequences)))
    all_losses: Any = np.zeros((len(parts), len(sequences)))
    kinds = not_eager(runner.module)
    with eager(runner.module):
        batches = runner.batches(sequences, [[] for _ in sequences])
        records = [runner.recorded(batch, [layer])[0] for batch in batches]
        replacements = Replacements(records, layer, "mean", 2 * block)
        for batch, record in zip(batches, records, strict=True):
            own = slice(batch.first, batch.first + batch.count)
            found, clean_losses[:, own] = run.run(record, batch, [], None)
            clean_scores += found

            def some(first: int, end: int) -> None:
                values = lambda part, at: replacements.of(part, batch, at)  # noqa: E731
                found, of_copies = run.run(record, batch, parts[first:end], values)
                scores[first:end] += found
                all_losses[first:end, own] = of_copies

            runner.batching.in_parts(len(parts), batch.rows, some)
    if kinds and runner.layers in records[0].streams and not runner.has_checked_maps:
        runner.has_checked_maps = True
        check_eager(runner, batches[0], records[0].streams[runner.layers], kinds[0])
    count = len(sequences)
    none: list[tuple[Any, ...]] = [(None, None, None, None)]  # there are no later heads

    def pairs(at: int) -> list[tuple[Any, ...]]:
        """Return the later heads with their scores before and after an ablation."""
        return [
            (*place, float(clean_scores[0, to] / count), float(scores[at, to] / count))
            for to, place in enumerate(run.heads)
        ] or none

    return [
        {
            "head": part.head,
            "fields": {
                "layer": layer,
                "receiver_input": None,
                "receiver_layer": later,
                "receiver_head": head,
                "induction_before": before,
                "induction": after,
                "clean_loss": clean_losses[0].tolist(),
                "loss": all_losses[at].tolist(),
                "predicted": block - 1,
            },
            "skipped": "",
            "note": "",
        }
        for at, part in enumerate(parts)
        for later, head, before, after in pairs(at)
    ]
