#!/usr/bin/env python3
"""Run one job with one tool, as in its documentation: others_jobs.py TOOL JOB MODEL ANSWER, or TOOL JOB --knows.

MODEL: a folder of a GPT-2 with tokens.json, the input token ids. Numbers are written to ANSWER.npz, pages to ANSWER.html. The
seconds of the job, without imports and loading, are printed. --knows: exit with 0 if the tool supports the job.
"""

import contextlib
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

ENERGY = 0.9


def tokens_of(path):
    return torch.tensor([json.loads((Path(path) / "tokens.json").read_text())])


def load_notebook(path):
    from transformers import GPT2LMHeadModel
    return GPT2LMHeadModel.from_pretrained(path, dtype=torch.float32, attn_implementation="eager").eval()


def load_lens(path):
    from transformer_lens.model_bridge import TransformerBridge
    lens = TransformerBridge.boot_transformers(str(path))
    lens.enable_compatibility_mode(disable_warnings=True, no_processing=True)
    return lens


def load_weightwatcher(path):
    import weightwatcher
    return weightwatcher.WeightWatcher(model=load_notebook(path))


def load_bertviz(path):
    import bertviz  # noqa: F401 (the import is part of loading)
    return load_notebook(path)


def load_circuitsvis(path):
    import circuitsvis  # noqa: F401
    return load_notebook(path)


# ---- Energy ranks -------------------------------------------------------------------------------

def energy_rank(weight):
    energy = torch.linalg.svdvals(weight).double().square().cumsum(0)
    return int(torch.searchsorted(energy, ENERGY * energy[-1])) + 1


def notebook_ranks(model, _):
    ranks = {role: [] for role in ("q", "k", "v", "o", "up", "down")}
    for block in model.transformer.h:
        for role, weight in zip("qkv", block.attn.c_attn.weight.T.split(model.config.n_embd)):
            ranks[role].append(energy_rank(weight))
        ranks["o"].append(energy_rank(block.attn.c_proj.weight))
        ranks["up"].append(energy_rank(block.mlp.c_fc.weight))
        ranks["down"].append(energy_rank(block.mlp.c_proj.weight))
    return {f"energy_rank {role}": values for role, values in ranks.items()}


def weightwatcher_ranks(watcher, _):
    """Return the largest singular values instead of ranks. W_Q, W_K and W_V are one matrix for WeightWatcher."""
    details = watcher.analyze()
    places = {"o": "attn.c_proj", "up": "mlp.c_fc", "down": "mlp.c_proj"}
    return {f"spectral_norm {role}": details[details.longname.str.endswith(place)].sv_max.to_numpy()
            for role, place in places.items()}


# ---- Symmetry of QK -----------------------------------------------------------------------------

def symmetry(product):
    return float((product * product.T).sum() / product.square().sum())


def notebook_symmetry(model, _):
    found = []
    for block in model.transformer.h:
        q, k, _ = block.attn.c_attn.weight.T.split(model.config.n_embd)
        heads = (q.unflatten(0, (model.config.n_head, -1)), k.unflatten(0, (model.config.n_head, -1)))
        found += [symmetry(of_q.T @ of_k) for of_q, of_k in zip(*heads)]
    return {"symmetry": found}


def lens_symmetry(lens, _):
    circuits = lens.QK
    return {"symmetry": [symmetry(circuits[layer, head].AB) for layer in range(lens.cfg.n_layers) for head in range(lens.cfg.n_heads)]}


# ---- Head ablation ------------------------------------------------------------------------------

@contextlib.contextmanager
def without_head(block, columns):
    def zeroed(_, inputs):
        changed = inputs[0].clone()
        changed[..., columns] = 0
        return (changed,)
    hook = block.attn.c_proj.register_forward_pre_hook(zeroed)
    try:
        yield
    finally:
        hook.remove()


def notebook_ablation(model, ids):
    width = model.config.n_embd // model.config.n_head
    plain, found = float(model(ids, labels=ids).loss), []
    for block in model.transformer.h:
        for head in range(model.config.n_head):
            with without_head(block, slice(head * width, (head + 1) * width)):
                found.append(float(model(ids, labels=ids).loss) - plain)
    return {"loss_increase": found}


def lens_ablation(lens, ids):
    plain, found = float(lens(ids, return_type="loss")), []
    for layer in range(lens.cfg.n_layers):
        for head in range(lens.cfg.n_heads):
            def zeroed(z, hook, head=head):
                z[:, :, head] = 0
                return z
            loss = lens.run_with_hooks(ids, return_type="loss", fwd_hooks=[(f"blocks.{layer}.attn.hook_z", zeroed)])
            found.append(float(loss) - plain)
    return {"loss_increase": found}


# ---- Maps ---------------------------------------------------------------------------------------

def measures(maps):
    """Compute statistics of maps (layers, heads, T, T)."""
    at = torch.arange(maps.shape[-1])
    return {"entropy": -torch.special.xlogy(maps, maps).sum(-1).mean(-1).flatten().numpy(),
            "sink_mass": maps[..., 0].mean(-1).flatten().numpy(),
            "mean_distance": (maps * (at[:, None] - at).abs()).sum(-1).mean(-1).flatten().numpy()}


def notebook_maps(model, ids):
    return measures(torch.cat(model(ids, output_attentions=True).attentions))


def lens_maps(lens, ids):
    _, cache = lens.run_with_cache(ids, names_filter=lambda name: name.endswith("hook_pattern"))
    return measures(torch.cat([cache["pattern", layer] for layer in range(lens.cfg.n_layers)]))


# ---- A page -------------------------------------------------------------------------------------

def words_of(ids):
    return [str(token) for token in ids[0].tolist()]


def bertviz_page(model, ids):
    import bertviz
    return bertviz.model_view(model(ids, output_attentions=True).attentions, words_of(ids), html_action="return").data


def circuitsvis_page(model, ids):
    import circuitsvis
    maps = model(ids, output_attentions=True).attentions
    return "".join(str(circuitsvis.attention.attention_heads(layer[0], words_of(ids))) for layer in maps)


def main():
    tool, job, *rest = sys.argv[1:]
    work = globals().get(f"{tool}_{job}")
    if rest == ["--knows"]:
        sys.exit(work is None)
    path, answer = rest
    with torch.no_grad(), contextlib.redirect_stdout(sys.stderr):
        loaded, ids = globals()[f"load_{tool}"](path), tokens_of(path)
        start = time.monotonic()
        result = work(loaded, ids)
        seconds = time.monotonic() - start
    if isinstance(result, str):
        Path(f"{answer}.html").write_text(result)
    else:
        np.savez(f"{answer}.npz", **result)
    print(seconds)


if __name__ == "__main__":
    main()
