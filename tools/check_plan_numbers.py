#!/usr/bin/env python3
"""Holds what `plan` says against NumPy in float64 and transformers: energies, probes, ranks, perplexities.

    tools/check_plan_numbers.py BINARY [MODEL…]

Of tiny models with tied and untied heads, with and without biases: second moments are those of hooks in transformers,
energies eigenvalues of W G Wᵀ, probes the divergence of a model whose matrix was replaced, ranks those of a Lagrangian
written here, perplexities those of transformers on what `shrink` writes. Needs torch and transformers; exits 77
(skipped) with a line where they are missing.
"""

import json
import pathlib
import sys
import tempfile

from check_smaller_models import CONTEXT, MODELS, VOCABULARY, load, make, run, shard

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM
from transformers.pytorch_utils import Conv1D

torch.set_num_threads(1)
RIDGE, PROBED, KEEP = 0.01, 128, 0.7
PLACES = {
    "llama": {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj",
              "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"},
    "gpt2": {"o": "attn.c_proj", "up": "mlp.c_fc", "down": "mlp.c_proj"},  # q, k and v share one tensor
}
faults = []


def expect(what, ours, theirs, relative, absolute=0.0):
    if not abs(ours - theirs) <= absolute + relative * abs(theirs):
        faults.append(f"{what}: {ours!r}, not {theirs!r}")


def layers_of(model):
    return model.transformer.h if hasattr(model, "transformer") else model.model.layers


def module(model, kind, layer, matrix):
    return layers_of(model)[layer].get_submodule(PLACES["gpt2" if kind == "gpt2" else "llama"][matrix])


def canonical(linear):
    weight = linear.weight.detach().double().numpy()
    return weight.T if isinstance(linear, Conv1D) else weight


def moments_of(model, linears, windows):
    """Means of x xᵀ of what each reads."""
    sums, rows, hooks = {}, {}, []
    for place, linear in linears.items():
        def add(_, inputs, place=place):
            x = inputs[0].reshape(-1, inputs[0].shape[-1]).double().numpy()
            sums[place] = sums.get(place, 0) + x.T @ x
            rows[place] = rows.get(place, 0) + len(x)
        hooks.append(linear.register_forward_pre_hook(add))
    for window in windows:
        model(torch.tensor([window]))
    for hook in hooks:
        hook.remove()
    return {place: sums[place] / rows[place] for place in sums}


def log_p(model, windows):
    return [torch.log_softmax(model(torch.tensor([window])).logits[0].double(), -1) for window in windows]


def mean_nll(model, windows):
    own = [-each[:-1].gather(1, torch.tensor(window[1:])[:, None]) for each, window in zip(log_p(model, windows), windows)]
    return torch.cat(own).mean().item()


def divergence(before, after):
    return torch.cat([(p.exp() * (p - q)).sum(-1) for p, q in zip(before, after)]).mean().item()


def lagrangian(weights, energies, shapes, budget):
    """The rank of each; 0: whole."""
    options = []
    for weight, values, (rows, columns) in zip(weights, energies, shapes):
        dropped = np.concatenate([np.cumsum(values[::-1])[::-1], [0]])
        ranks = np.arange(1, (rows * columns - 1) // (rows + columns) + 1)
        ranks = ranks[ranks <= len(values)]
        options.append((np.append(ranks, 0), np.append(weight * dropped[ranks], 0),
                        np.append(ranks * (rows + columns), rows * columns)))

    def choose(price):
        return [int(np.argmin(loss + price * cost)) for _, loss, cost in options]

    low, high = -80.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        chosen = choose(np.exp(middle))
        low, high = (low, middle) if sum(o[2][at] for o, at in zip(options, chosen)) <= budget else (middle, high)
    return [int(o[0][at]) for o, at in zip(options, choose(np.exp(high)))]


def plan_of(folder, text, scratch, *words):
    path = scratch / "plan.json"
    ran = run("plan", folder, "--token-file", text, "--length", CONTEXT, "--probe-tokens", PROBED, *words, "-o", path, "--quiet")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    return json.loads(path.read_text())


def written(folder, text, scratch, name):
    ran = run("shrink", folder, scratch / "plan.json", "--token-file", text, "-o", scratch / name, "--quiet")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    return scratch / name


def check_ranks(name, kind, original, folder, text, tokens, scratch):
    report = plan_of(folder, text, scratch, "--by", "ranks", "--keep", str(KEEP), "--ridge", str(RIDGE))
    facts, parameters = report["models"][0]["plan"], report["parameters"]
    fitted = len(tokens) * 9 // 10
    windows = [tokens[at * CONTEXT:(at + 1) * CONTEXT] for at in range(parameters["sequences"])]
    held_out = [tokens[at:at + CONTEXT] for at in range(fitted, len(tokens) - 1, CONTEXT)]
    probes = windows[:PROBED // CONTEXT]
    expect(f"{name}: mean_nll_before", facts["mean_nll_before"], mean_nll(original, held_out), 1e-5)
    names = PLACES["gpt2" if kind == "gpt2" else "llama"]
    rows = [row for row in report["rows"] if row["matrix"] in names]
    linears = {(row["layer"], row["matrix"]): module(original, kind, row["layer"], row["matrix"]) for row in rows}
    moments, before = moments_of(original, linears, windows), log_p(original, probes)
    energies, shapes, weights = [], [], []
    for row in rows:
        linear = linears[row["layer"], row["matrix"]]
        weight, g = canonical(linear), moments[row["layer"], row["matrix"]]
        g = g + RIDGE * np.trace(g) / len(g) * np.eye(len(g))
        values, vectors = np.linalg.eigh(weight @ g @ weight.T)
        values, vectors = np.maximum(values[::-1], 0)[:min(weight.shape)], vectors[:, ::-1]
        place = f"{name}: layer {row['layer']} {row['matrix']}"
        probed = max(1, row["break_even_rank"] // 2)
        kept = linear.weight.detach().clone()
        low = torch.tensor(vectors[:, :probed] @ vectors[:, :probed].T @ weight).float()
        linear.weight.copy_(low.T if isinstance(linear, Conv1D) else low)
        expect(f"{place}: sensitivity", row["sensitivity"], divergence(before, log_p(original, probes)), 1e-3, 1e-5)
        linear.weight.copy_(kept)
        if row["rank"] is not None:
            share = values[row["rank"]:].sum() / values[probed:].sum()
            expect(f"{place}: expected_loss", row["expected_loss"], row["sensitivity"] * share, 1e-4)
        energies.append(values)
        shapes.append(weight.shape)
        weights.append(row["sensitivity"] / values[probed:].sum())
    if len(rows) == len(report["rows"]):
        own = lagrangian(weights, energies, shapes, int(KEEP * sum(r * c for r, c in shapes)))
        for row, rank in zip(rows, own):
            if (row["rank"] or 0) != rank:
                faults.append(f"{name}: layer {row['layer']} {row['matrix']}: rank {row['rank']}, not {rank}")
    smaller = load(written(folder, text, scratch, f"{name}-ranks"))
    expect(f"{name}: mean_nll_after", facts["mean_nll_after"], mean_nll(smaller, held_out), 1e-4)


def check_layers(name, original, folder, text, tokens, scratch):
    plan_of(folder, text, scratch, "--set", "without=1")
    smaller, x = load(written(folder, text, scratch, f"{name}-layers")), torch.tensor([tokens[:24]])
    theirs = smaller(x, use_cache=False).logits
    layers = layers_of(original)
    del layers[1]
    difference = (original(x, use_cache=False).logits - theirs).abs().max().item()
    expect(f"{name}: logits without layer 1", difference, 0, 0, 1e-6)


def check_masks(scratch):
    """The perplexity of masked tokens."""
    folder, words = scratch / "bert", [f"w{at}" for at in range(43)]
    torch.manual_seed(1)
    model = BertForMaskedLM(BertConfig(vocab_size=48, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
                                       intermediate_size=40, max_position_embeddings=16)).eval()
    for weight in model.parameters():
        if weight.ndim > 1:
            weight.mul_(8)
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
    ids = np.random.default_rng(2).integers(0, 43, 600).tolist()
    text = scratch / "words.txt"
    text.write_text(" ".join(words[at] for at in ids))
    ran = run("plan", folder, "--text-file", text, "--length", 16, "--set", "width=40", "--format", "json", "--quiet")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    held_out, losses = [at + 5 for at in ids[540:]], []
    for first in range(0, len(held_out) - 1, 14):
        window = [2, *held_out[first:first + 14], 3]
        masks = list(range(3, len(window) - 1, 7))
        hidden = [window[at] for at in masks]
        for at in masks:
            window[at] = 4
        found = torch.log_softmax(model(torch.tensor([window])).logits[0].double(), -1)
        losses += [-found[at, token].item() for at, token in zip(masks, hidden)]
    expect("bert: mean_nll of masks", json.loads(ran.stdout)["models"][0]["plan"]["mean_nll_before"], np.mean(losses), 1e-5)


@torch.no_grad()
def main():
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, 3000).tolist()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        text = scratch / "text.bin"
        shard(text, tokens)
        for model in sys.argv[2:] or ("llama-biased", "gpt2"):
            kind, values = MODELS[model]
            original = make(scratch / model, kind, values)
            try:
                check_ranks(model, kind, original, scratch / model, text, tokens, scratch)
                check_layers(model, original, scratch / model, text, tokens, scratch)
            except (ValueError, OSError, RuntimeError) as error:
                faults.append(f"{model}: {str(error)[:300]}")
        check_masks(scratch)
    for fault in faults:
        print("fault:", fault)
    print("energies, probes, ranks and perplexities were compared")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
