#!/usr/bin/env python3
"""Check the output of `plan` against float64 NumPy and transformers: energies, probes, ranks, perplexities, methods.

    tools/check_plan_numbers.py BINARY [MODEL…]

Uses tiny models with tied and untied heads, with and without biases. The reference values are:
- second moments from hooks in transformers, and energies from eigenvalues of W G Wᵀ;
- the KL divergence of a model with one replaced matrix for probes, and a separate Lagrangian solver for ranks;
- perplexities of the output of `shrink` in transformers.
Compression methods must keep what plan_method_references.py keeps, and return the logits of the original model that is
changed in the same way in place. Needs torch and transformers. Exits with 77 (skipped) and prints a line if they are missing.
"""

import copy
import json
import pathlib
import sys
import tempfile
from functools import partial
from typing import NamedTuple

from tiny_models import CONTEXT, MODELS, SAME_LOSS, VOCABULARY, layers_of, load, make, places_of, projection, run, shard

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM

import plan_method_references
from plan_method_references import read, write

RIDGE, PROBED, KEEPS = 0.01, 128, (0.7, 0.4)
# Per method: its in-place reference, the request, and the matrix that is refit to the kept inputs.
CUTS = {
    "llama-biased": {"mlp": (plan_method_references.width, 50, "down"), "heads": (plan_method_references.heads, 4, "o"),
                     "head-dim": (plan_method_references.head_width, 4, None), "kv-heads": (plan_method_references.kv_heads, 1, None)},
    "gpt2": {"mlp": (plan_method_references.width, 50, "down")},
}
faults = []


def expect(what, ours, theirs, relative, absolute=0.0):
    if not abs(ours - theirs) <= absolute + relative * abs(theirs):
        faults.append(f"{what}: {ours!r}, not {theirs!r}")


def moments_of(model, windows):
    """Return the second moments, means of x xᵀ, of each matrix's inputs with a last element of 1."""
    sums, rows, hooks = {}, {}, []
    matrices = {(layer, matrix): projection(model, layer, matrix).module
                for layer in range(len(layers_of(model))) for matrix in places_of(model)}
    for module in set(matrices.values()):
        def add(module, inputs):
            x = inputs[0].reshape(-1, inputs[0].shape[-1]).double().numpy()
            x = np.column_stack([x, np.ones(len(x))])
            sums[module] = sums.get(module, 0) + x.T @ x
            rows[module] = rows.get(module, 0) + len(x)
        hooks.append(module.register_forward_pre_hook(add))
    for window in windows:
        model(torch.tensor([window]))
    for hook in hooks:
        hook.remove()
    return {place: sums[module] / rows[module] for place, module in matrices.items()}


def log_p(model, windows):
    return [torch.log_softmax(model(torch.tensor([window])).logits[0].double(), -1) for window in windows]


def mean_nll(model, windows):
    own = [-each[:-1].gather(1, torch.tensor(window[1:])[:, None]) for each, window in zip(log_p(model, windows), windows)]
    return torch.cat(own).mean().item()


def divergence(before, after):
    return torch.cat([(p.exp() * (p - q)).sum(-1) for p, q in zip(before, after)]).mean().item()


def lagrangian(weights, energies, shapes, budget):
    """Return the rank of each matrix. 0: not factored."""
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
    ran = run("plan", folder, "--calibration-token-file", text, "--length", CONTEXT, "--probe-tokens", PROBED, *words, "-o", path, "--quiet")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    return json.loads(path.read_text())


def written(folder, text, scratch, name):
    ran = run("shrink", folder, scratch / "plan.json", "--calibration-token-file", text, "-o", scratch / name, "--quiet")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    return scratch / name


class Texts(NamedTuple):
    """Calibration windows and evaluation windows."""
    fitted: list[list[int]]
    held_out: list[list[int]]


def texts_of(tokens, sequences):
    return Texts([tokens[at * CONTEXT:(at + 1) * CONTEXT] for at in range(sequences)],
                 [tokens[at:at + CONTEXT] for at in range(len(tokens) * 9 // 10, len(tokens) - 1, CONTEXT)])


def expect_losses(name, facts, original, smaller, texts):
    expect(f"{name}: mean_nll_before", facts["mean_nll_before"], mean_nll(original, texts.held_out), 0, SAME_LOSS)
    expect(f"{name}: mean_nll_after", facts["mean_nll_after"], mean_nll(smaller, texts.held_out), 0, SAME_LOSS)


def check_probes(name, original, rows, texts):
    """Check the energies of each matrix, with the ridge, and its sensitivity for each part that the probe drops."""
    probes, energies, weights = texts.fitted[:PROBED // CONTEXT], [], []
    moments, before = moments_of(original, texts.fitted), log_p(original, probes)
    for row in rows:
        own = projection(original, row["layer"], row["matrix"])
        weight, g = read(own), moments[row["layer"], row["matrix"]][:-1, :-1]
        g = g + RIDGE * np.trace(g) / len(g) * np.eye(len(g))
        values, vectors = np.linalg.eigh(weight @ g @ weight.T)
        values, vectors = np.maximum(values[::-1], 0)[:min(weight.shape)], vectors[:, ::-1]
        probed, kept = max(1, row["break_even_rank"] // 2), own.weight.clone()
        write(own, vectors[:, :probed] @ vectors[:, :probed].T @ weight)
        found = divergence(before, log_p(original, probes))
        own.weight.copy_(kept)
        expect(f"{name}: layer {row['layer']} {row['matrix']}: sensitivity", row["sensitivity"], found, 1e-3, 1e-5)
        energies.append(values)
        weights.append(row["sensitivity"] / values[probed:].sum())
    return energies, weights


def check_allocation(name, keep, rows, energies, weights, shapes):
    own = lagrangian(weights, energies, shapes, int(keep * sum(r * c for r, c in shapes)))
    for row, rank, values, weight in zip(rows, own, energies, weights):
        place = f"{name}, {keep}: layer {row['layer']} {row['matrix']}"
        if (row["rank"] or 0) != rank:
            faults.append(f"{place}: rank {row['rank']}, not {rank}")
        if row["rank"] is not None:
            expect(f"{place}: predicted_kl", row["predicted_kl"], weight * values[row["rank"]:].sum(), 1e-4)


def check_ranks(name, original, folder, text, tokens, scratch):
    found = None
    for keep in KEEPS:
        report = plan_of(folder, text, scratch, "--method", "low-rank", "--keep", str(keep), "--ridge", str(RIDGE))
        texts, rows = texts_of(tokens, report["parameters"]["sequences"]), report["rows"]
        matrices = [(layer, matrix) for layer in range(len(layers_of(original))) for matrix in places_of(original)]
        if sorted((row["layer"], row["matrix"]) for row in rows) != sorted(matrices):
            raise ValueError(f"{len(rows)} matrices are in the plan, expected {len(matrices)}")
        found = found or check_probes(name, original, rows, texts)
        shapes = [tuple(projection(original, row["layer"], row["matrix"]).weight.shape) for row in rows]
        check_allocation(name, keep, rows, *found, shapes)
        smaller = load(written(folder, text, scratch, f"{name}-ranks-{keep}"))
        expect_losses(f"{name}, {keep}", report["models"][0]["plan"], original, smaller, texts)


def check_cut(name, form, original, folder, text, tokens, scratch):
    """Check a written model against the original with the same kept parts, refit in NumPy, in place."""
    cut, size, fitted = CUTS[name][form]
    report, wanted = plan_of(folder, text, scratch, "--set", f"{form}={size}"), copy.deepcopy(original)
    texts = texts_of(tokens, report["parameters"]["sequences"])
    smaller, what = load(written(folder, text, scratch, f"{name}-{form}")), f"{name}, {form}"
    own, x = cut(wanted, moments_of(original, texts.fitted), size), torch.tensor([tokens[:CONTEXT]])
    for layer, (row, (kept, fit)) in enumerate(zip(report["rows"], own, strict=True)):
        if row["kept"] != kept:
            faults.append(f"{what}: layer {layer}: {row['kept']} stay, not {kept}")
        if fit:
            expect(f"{what}: layer {layer} {fitted}", fit.distance(read(projection(smaller, layer, fitted))), 0, 0, 1e-4)
    expect(f"{what}: logits", (smaller(x).logits - wanted(x).logits).abs().max().item(), 0, 0, 1e-4)
    expect_losses(what, report["models"][0]["plan"], original, smaller, texts)


def check_layers(name, _, folder, text, tokens, scratch):
    plan_of(folder, text, scratch, "--set", "remove-layers=1")
    smaller, skipped = load(written(folder, text, scratch, f"{name}-layers")), load(folder)
    del layers_of(skipped)[1]
    x = torch.tensor([tokens[:24]])
    difference = (skipped(x, use_cache=False).logits - smaller(x, use_cache=False).logits).abs().max().item()
    expect(f"{name}: logits without layer 1", difference, 0, 0, 1e-6)


def check_masks(scratch):
    """Check the pseudo-perplexity of masked-language models."""
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
    ran = run("plan", folder, "--calibration-file", text, "--length", 16, "--set", "mlp=40", "--format", "json", "--quiet")
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
    facts = json.loads(ran.stdout)["models"][0]["plan"]
    expect("bert: mean_nll of masks", facts["mean_nll_before"], np.mean(losses), 0, SAME_LOSS)


@torch.no_grad()
def main():
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, 3000).tolist()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        text = scratch / "text.bin"
        shard(text, tokens)
        for model in sys.argv[2:] or CUTS:
            kind, values = MODELS[model]
            of = (make(scratch / model, kind, values), scratch / model, text, tokens, scratch)
            cuts = [partial(check_cut, model, form) for form in CUTS.get(model, ())]
            for check in (partial(check_ranks, model), partial(check_layers, model), *cuts):
                try:
                    check(*of)
                except (ValueError, OSError, RuntimeError) as error:
                    faults.append(f"{model}: {str(error)[:300]}")
        check_masks(scratch)
    for fault in faults:
        print("fault:", fault)
    print("energies, probes, ranks, perplexities and methods were compared")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
