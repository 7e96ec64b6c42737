#!/usr/bin/env python3
"""Write tests/golden/interventions/scored.json: expected results of `lens` and `ablate` with `--score-positions` and a mask.

    python tools/golden_score_positions.py

The texts are those of the other intervention golden files. About a third of their tokens are scored, drawn for each window.
As in the others, values come from transformers in float64 with hooks. A second run gives the same bytes. Needs numpy, torch and
transformers, but tests do not.
"""

import json

import numpy as np
import torch
from golden_interventions import GOLDEN, ROOT, Hooked, ratio_error, rounded, state_of

CASES = ["llama", "gpt_neox", "mixtral"]


class Scored:
    """Return means over the rows that predict scored tokens."""

    def __init__(self, ids, mask):
        self.ids, self.mask = ids, mask
        self.rows = mask[:, 1:].double()  # row p predicts token p + 1
        self.count = self.rows.sum()

    def mean(self, values):
        return ((values[:, :-1] if values.shape[1] == self.ids.shape[1] else values) * self.rows).sum().item() / self.count.item()

    def losses(self, logits):
        return -torch.log_softmax(logits[:, :-1], -1).gather(-1, self.ids[:, 1:, None])[..., 0]


def divergence(clean, other):
    p, q = torch.log_softmax(clean, -1), torch.log_softmax(other, -1)
    return (p.exp() * (p - q)).sum(-1)


@torch.no_grad()
def lens(hooked, scored, logits):
    rows = []
    for n, stream in enumerate(hooked.streams):
        here = hooked.places.head(hooked.places.norm(stream))
        scores = torch.log_softmax(here, -1)
        ranks = 1 + (here[:, :-1] > here[:, :-1].gather(-1, scored.ids[:, 1:, None])).sum(-1)
        rows.append({**state_of(n, len(hooked.streams) - 1), "loss": scored.mean(scored.losses(here)),
                     "entropy": scored.mean(-(scores.exp() * scores).sum(-1)),
                     "kl": scored.mean(divergence(logits, here)), "mean_reciprocal_rank": scored.mean(1 / ranks.double()),
                     "top1": scored.mean((ranks == 1).double()),
                     "agreement": scored.mean((here.argmax(-1) == logits.argmax(-1)).double()), "predicted": int(scored.count)})
    return rows


def ablations(hooked, scored, how):
    clean = hooked.run(scored.ids)
    heads, mlps, base = list(hooked.heads), list(hooked.mlps), scored.losses(clean)
    count = hooked.model.config.num_attention_heads
    # The mean for mean ablation is over all tokens.
    replaced = {"mean": lambda x: x.mean((0, 1), keepdim=True).expand_as(x), "zero": torch.zeros_like}[how]

    def row(component, layer, head, logits):
        more = (scored.losses(logits) - base) * scored.rows
        of_windows = scored.rows.sum(1).numpy()
        return {"layer": layer, "head": head, "component": component, "loss_increase": more.sum().item() / scored.count.item(),
                "loss_increase_error": ratio_error(more.sum(1).numpy(), of_windows), "kl": scored.mean(divergence(clean, logits)),
                "top_token_changed": scored.mean((logits.argmax(-1) != clean.argmax(-1)).double()), "predicted": int(scored.count)}

    rows = []
    for n in range(len(heads)):
        z, y = heads[n], mlps[n]
        rows.append(row("attention", n, None, hooked.run(scored.ids, heads={n: lambda _, z=z: replaced(z)})))
        rows.append(row("mlp", n, None, hooked.run(scored.ids, mlps={n: lambda _, y=y: replaced(y)})))
        size = z.shape[-1] // count
        for head in range(count):
            def edit(_, z=z, part=slice(head * size, (head + 1) * size)):
                out = z.clone()
                out[..., part] = replaced(z)[..., part]
                return out

            rows.append(row("head", n, head, hooked.run(scored.ids, heads={n: edit})))
    return rows


def golden(case):
    other = json.loads((GOLDEN / f"{case}.json").read_text())
    ids = torch.tensor(other["tokens"])
    mask = torch.from_numpy(np.random.default_rng(7).random(ids.shape) < 1 / 3)
    mask[:, -1] = True
    hooked, scored = Hooked(ROOT / other["model"]), Scored(ids, mask)
    logits = hooked.run(ids)
    return {"model": other["model"], "tokens": other["tokens"], "mask": mask.int().tolist(),
            "loss": scored.mean(scored.losses(logits)), "lens": lens(hooked, scored, logits),
            "ablate": {how: ablations(hooked, scored, how) for how in ("mean", "zero")}}


def main():
    text = json.dumps(rounded({case: golden(case) for case in CASES}), separators=(",", ":"))
    (GOLDEN / "scored.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
