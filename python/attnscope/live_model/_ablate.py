"""Items of `ablate` on texts: `ablate_outcomes` in attnscope/features/ablate/run.cpp."""

from typing import Any

import numpy as np

from attnscope.live_model._direct_effect import DirectEffects
from attnscope.live_model._hooks import Hooks
from attnscope.live_model._measures import compared
from attnscope.live_model._pass import Batch, Record, Runner, check_finite
from attnscope.live_model._replacements import Part, Replacements, parts_of, replace
from attnscope.live_model._texts import Texts

Outcome = dict[str, Any]


def replaced_logits(
    runner: Runner, record: Record, batch: Batch, layer: int, parts: list[Part], values: Any,
    visit: Any,
) -> None:
    """Run one copy of a batch per component, with this component replaced.

    Calls `visit(number of the component, logits (B, T, V))`.
    """
    places = runner.places.layers[layer]
    finish = runner.finish if runner.chains(batch) else None

    def run(first: int, end: int) -> None:
        some = parts[first:end]
        with Hooks() as hooks:
            replace(hooks, places, some, batch, values)
            if finish is not None:
                last = runner.continued(record, batch, layer, len(some))
            else:
                whole = runner.watched_logits(hooks, batch, len(some))
        for copy in range(len(some)):
            own = slice(copy * batch.count, (copy + 1) * batch.count)
            visit(first + copy, whole[own] if finish is None else finish(last[own]))

    runner.batching.in_parts(len(parts), batch.rows, run)


def outcomes(runner: Runner, texts: Texts, item: dict[str, Any]) -> list[Outcome]:
    layer = item["batch"]["layers"][0]
    how = item["parameters"]["ablation"]
    places = runner.places.layers[layer]
    parts = parts_of(places, item["parameters"]["components"].split(","))
    texts.record(layer)
    rows = sum(batch.rows for batch in texts.batches)
    sequences = sum(batch.count for batch in texts.batches)
    replacements = Replacements(texts.records, layer, how, rows // sequences)
    found = np.zeros((len(parts), 3, sequences))
    effects = DirectEffects(runner, texts, layer)
    direct = np.zeros((len(parts), sequences))
    for batch, record in zip(texts.batches, texts.records, strict=True):
        own = texts.scored(batch)
        if own.start == own.stop:
            continue  # none of its tokens is scored
        columns = slice(batch.first, batch.first + batch.count)
        picked, tokens = texts.rows_of(batch), texts.tokens[own]
        clean = texts.clean(batch, texts.clean_run(batch, record))

        def visit(part: int, logits: Any) -> None:
            of_rows = logits.reshape(-1, logits.shape[-1])[picked]
            measured = compared(clean, of_rows, tokens)
            check_finite(measured)  # of logits that are not, neither are the losses
            found[part, :, columns] = texts.per_sequence(batch, measured)

        values = lambda part, at: replacements.of(part, batch, at)  # noqa: E731
        replaced_logits(runner, record, batch, layer, parts, values, visit)
        if effects.exist:
            direct[:, columns] = effects.of(batch, record, parts)
    return [
        {
            "head": part.head,
            "fields": {
                "component": part.kind,
                "layer": layer,
                "ablation": how,
                "clean_loss": texts.clean_loss.tolist(),
                "loss": found[at, 0].tolist(),
                "kl": found[at, 1].tolist(),
                "top_token_changed": found[at, 2].tolist(),
                "predicted": texts.predicted,
                "positions": texts.of_sequence,
                **({"direct_effect": direct[at].tolist()} if effects.exist else {}),
            },
            "skipped": "",
            "note": "",
        }
        for at, part in enumerate(parts)
    ]
