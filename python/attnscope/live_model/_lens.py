"""Items of `lens`: `lens_outcomes` in attnscope/features/lens/run.cpp."""

from typing import Any

import numpy as np

from attnscope._errors import UnsupportedError
from attnscope.live_model._measures import lens_reading
from attnscope.live_model._pass import Runner, check_finite
from attnscope.live_model._texts import Texts

BLOCK = 256 << 20
"""Bytes of logits to decode at a time, in float32."""


def outcomes(runner: Runner, texts: Texts, item: dict[str, Any]) -> list[dict[str, Any]]:
    layers = runner.layers
    sums = np.zeros((layers + 1, 4))
    ranks: list[list[int]] = [[] for _ in range(layers + 1)]
    for batch in texts.fresh_batches():
        runner.check_stop()
        record, _ = runner.recorded(batch, ())
        finish = runner.finish
        if finish is None:
            raise UnsupportedError(
                "lens: not supported on this live model, whose logits are not made by modules from "
                "the residual stream"
            )
        picked, tokens = texts.rows_of(batch), texts.tokens[texts.scored(batch)]
        states = [runner.rows_of_stream(record, at, batch)[picked] for at in range(layers + 1)]
        first = 0
        while first < len(tokens):
            last = finish(states[-1][None, first : first + 1])
            end = min(len(tokens), first + max(1, BLOCK // (4 * last.shape[-1])))
            own = tokens[first:end]
            final = finish(states[-1][None, first:end])[0].float()
            check_finite(final)
            for at, state in enumerate(states):
                runner.check_stop()
                logits = finish(state[None, first:end])[0].float()
                check_finite(logits)
                found = lens_reading(logits, final, own).cpu().numpy().astype(np.float64)
                counted = found[4] > 0
                sums[at] += found[:4].sum(1)
                ranks[at] += found[4][counted].astype(np.int64).tolist()
            first = end
    return [
        {
            "head": None,
            "fields": {
                "layer": min(at, layers - 1),
                "state": "resid_post" if at == layers else "resid_pre",
                "positions": len(texts.token_list),
                "loss": float(loss),
                "entropy": float(entropy),
                "kl": float(kl),
                "agreeing": int(agreeing),
                "ranks": ranks[at],
            },
            "skipped": "",
            "note": "",
        }
        for at, (loss, entropy, kl, agreeing) in enumerate(sums)
    ]
