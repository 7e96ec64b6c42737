"""Direct effects of components on logits: `add_direct` in attnscope/interventions/ablation.cpp."""

from typing import Any

import numpy as np

from attnscope.live_model._measures import row_scales, through_linear, through_norm
from attnscope.live_model._pass import Batch, Record, Runner
from attnscope.live_model._replacements import Part, columns_of
from attnscope.live_model._texts import Texts


class DirectEffects:
    """Direct effects of one layer's components on the logits of the texts' tokens."""

    def __init__(self, runner: Runner, texts: Texts, layer: int) -> None:
        self._runner, self._texts, self._layer = runner, texts, layer
        self._places = runner.places.layers[layer]

    @property
    def exist(self) -> bool:
        """Whether logits are a sum of component outputs."""
        return not self._runner.places.facts["obstacle"]

    def of(self, batch: Batch, record: Record, parts: list[Part]) -> Any:
        """Return the effects (parts, B), summed over the scored positions of each sequence."""
        runner, texts, places = self._runner, self._texts, self._places
        facts, picked = places.facts, texts.rows_of(batch)
        directions = runner.directions(texts.token_list[texts.scored(batch)])
        stream = runner.rows_of_stream(record, runner.layers, batch)[picked]
        scales = row_scales(stream, runner.places.facts["last_norm"])[:, 0]
        written: dict[str, Any] = {}
        if places.heads is not None:
            heads = record.heads[self._layer]
            norm = facts["attention_norm"]
            given = places.output(heads)[picked] if norm else None
            own = through_norm(norm, given, directions)
            back = through_linear(places.output, heads[picked], own)
            written["head"] = heads[picked].float() * back
        if places.mlp:
            of_mlp = sum(record.mlp[self._layer])[picked].float()
            written["mlp"] = of_mlp * through_norm(facts["mlp_norm"], of_mlp, directions)
        out = []
        for part in parts:
            products = written["mlp" if part.kind == "mlp" else "head"][:, columns_of(places, part)]
            effect = products.sum(-1) * facts["branch_factor"] / scales
            out.append(texts.per_sequence(batch, effect))
        return np.stack(out)
