#!/usr/bin/env python3
"""Print the results for trained models that docs/findings.md cites.

    python tools/findings_experiments.py build/release/attnscope HELD_OUT.txt examples/shakespeare-gpt2 examples/shakespeare-llama

attnscope computes the results that it can. PyTorch hooks compute the others: the effect of ablating a head on the logits of its
attended tokens."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

WINDOWS, LENGTH = 16, 256
HOOKED = 4  # windows for experiments that need one PyTorch pass per head


def ranks(values):
    values = np.asarray(values, float)
    out = np.empty(len(values))
    out[np.argsort(values)] = np.arange(len(values))
    for value in np.unique(values):
        out[values == value] = out[values == value].mean()
    return out


def spearman(a, b):
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


class Measured:
    def __init__(self, program, model, text):
        self.program, self.model, self.text = program, model, text
        self.windows = ["--text-file", text, "--sequences", str(WINDOWS), "--length", str(LENGTH)]

    def rows(self, command, *options):
        out = subprocess.run([self.program, command, self.model, *options, "--quiet", "--format", "json"], check=True, capture_output=True)
        return json.loads(out.stdout)["rows"]

    def of_heads(self, command, *options, value):
        rows = [row for row in self.rows(command, *options) if row.get("head") is not None]
        return {(row["layer"], row["head"]): value(row) for row in rows}

    def matrix(self, name, layer, head):
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/m.npy"
            subprocess.run([self.program, "matrix", self.model, "--matrix", name, "--layer", str(layer), "--quiet", "-o", file,
                            *([] if head is None else ["--head", str(head)])], check=True)
            return np.load(file)


def matters(of):
    by_how = {how: of.of_heads("ablate", *of.windows, "--components", "heads", "--ablation", how, value=lambda row: row["loss_increase"])
              for how in ("mean", "zero", "resample")}
    heads = sorted(by_how["mean"])
    values = {how: [by[head] for head in heads] for how, by in by_how.items()}
    print(f"  ablation: Spearman of zero and mean {spearman(values['zero'], values['mean']):.2f}, "
          f"of mean and resample {spearman(values['mean'], values['resample']):.2f}; most: {max(values['mean']):.3f} of "
          f"{heads[int(np.argmax(values['mean']))]}")
    return by_how["mean"]


def weights_against_effect(of, loss):
    attention = {(row["layer"], row["head"]): row for row in of.rows("attention", *of.windows) if row["head"] is not None}
    circuits = {(row["circuit"], row["layer"], row["head"]): row for row in of.rows("circuits") if row["head"] is not None}
    heads = sorted(loss)
    negative = [head for head in heads if circuits["ov", *head]["copying_score"] < -0.5]
    beyond = [attention[head] for head in negative if abs(attention[head]["attended_token_effect"]) > 2 * attention[head]["attended_token_effect_error"]]
    lower = sum(row["attended_token_effect"] < 0 for row in beyond)
    print(f"  copying: of {len(negative)} heads with a score below -0.5, {lower} suppress their attended tokens, {len(beyond) - lower} promote them")
    back = {head: attention[head]["previous_token"] for head in heads}
    first = max(back, key=back.get)
    place = 1 + sum(loss[head] > loss[first] for head in heads)
    print(f"  previous token: {first} is the strongest previous-token head ({back[first]:.2f}); rank by loss increase {place} of {len(heads)}")
    increase = [loss[head] for head in heads]
    cheap = {"magnitude of the copying score": [abs(circuits["ov", *head]["copying_score"]) for head in heads],
             "norm of OV": [circuits["ov", *head]["frobenius_norm"] for head in heads],
             "norm of QK": [circuits["qk", *head]["frobenius_norm"] for head in heads],
             "symmetry of QK": [circuits["qk", *head]["symmetry"] for head in heads],
             "previous token": [back[head] for head in heads],
             "magnitude of attended_token_effect": [abs(attention[head]["attended_token_effect"]) for head in heads]}
    for name, values in cheap.items():
        print(f"  {name} and loss: Spearman {spearman(values, increase):+.2f}")
    return circuits, {head: attention[head]["attended_token_effect"] for head in heads}


def scores_on_text(of, circuits):
    """Compare QK scores of normalized states with their similarity per layer, and scores in both directions per head."""
    text = pathlib.Path(of.text).read_text()
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/s.safetensors"
        subprocess.run([of.program, "predict", of.model, "--text", text[:400], "--quiet", "--save", file], check=True, capture_output=True)
        states = load_file(file)["hidden_states"].astype(float)
    by_layer, symmetry, both_ways = [], [], []
    layers = sorted({layer for _, layer, _ in circuits})
    gpt2 = json.loads((pathlib.Path(of.model) / "config.json").read_text())["model_type"] == "gpt2"
    for layer in layers:
        x = states[layer] - (states[layer].mean(1, keepdims=True) if gpt2 else 0)
        x /= np.sqrt((x * x).mean(1, keepdims=True))
        apart = ~np.eye(len(x), dtype=bool)
        scores = x @ of.matrix("qk", layer, None) @ x.T
        by_layer.append(np.corrcoef(scores[apart], (x @ x.T)[apart])[0, 1])
        for circuit, at, head in circuits:
            if (circuit, at) != ("qk", layer):
                continue
            scores = x @ of.matrix("qk", layer, head) @ x.T
            symmetry.append(circuits["qk", layer, head]["symmetry"])
            both_ways.append(np.corrcoef(scores[apart], scores.T[apart])[0, 1])
    print("  identity part: correlation of scores and similarity by layer " + " ".join(f"{each:.2f}" for each in by_layer))
    print(f"  symmetric: symmetry against corr(s_ij, s_ji) over heads {np.corrcoef(symmetry, both_ways)[0, 1]:.2f}")


def total_effect(of, raises):
    """Measure the total effect of each head on the logits of its attended tokens, relative to the text's mean token."""
    tokenizer = AutoTokenizer.from_pretrained(of.model)
    model = AutoModelForCausalLM.from_pretrained(of.model, attn_implementation="eager", dtype=torch.float32).eval()
    ids = torch.tensor(tokenizer(pathlib.Path(of.text).read_text()[:40000])["input_ids"][:HOOKED * LENGTH]).reshape(HOOKED, LENGTH)
    frequency = torch.bincount(ids.flatten(), minlength=model.config.vocab_size) / ids.numel()
    inner = model.transformer.h if hasattr(model, "transformer") else model.model.layers
    outputs = [layer.attn.c_proj if hasattr(layer, "attn") else layer.self_attn.o_proj for layer in inner]
    with torch.no_grad():
        clean = model(ids, output_attentions=True)
        total = {}
        for layer, head in raises:
            width = outputs[layer].weight.shape[0 if hasattr(inner[0], "attn") else 1] // model.config.num_attention_heads

            def without(_, inputs):
                changed = inputs[0].clone()
                changed[..., head * width:(head + 1) * width] = 0
                return (changed, *inputs[1:])

            hook = outputs[layer].register_forward_pre_hook(without)
            moved = clean.logits - model(ids).logits
            hook.remove()
            of_read = torch.gather(moved, 2, ids[:, None, :].expand(-1, LENGTH, -1)) - (moved @ frequency)[..., None]
            total[layer, head] = float((clean.attentions[layer][:, head] * of_read).sum(-1).mean())
    heads = sorted(raises)
    print(f"  attended_token_effect: Spearman of direct and total effect {spearman([raises[head] for head in heads], [total[head] for head in heads]):.2f}")


def names_of_reads(of):
    """Correlate the activations of OV's leading input directions on the text with the scores of their candidate tokens.

    Scores come from the embeddings, or from the embeddings plus the output of the first MLP. Correlations are over the distinct
    tokens of the text, with mean activations, averaged over the first five directions of all heads."""
    tokenizer = AutoTokenizer.from_pretrained(of.model)
    model = AutoModelForCausalLM.from_pretrained(of.model, dtype=torch.float32).eval()
    ids = torch.tensor(tokenizer(pathlib.Path(of.text).read_text()[:40000])["input_ids"][:HOOKED * LENGTH]).reshape(HOOKED, LENGTH)
    gpt2 = hasattr(model, "transformer")
    first = model.transformer.h[0] if gpt2 else model.model.layers[0]
    layers = model.transformer.h if gpt2 else model.model.layers
    before = (lambda layer: layer.ln_1) if gpt2 else (lambda layer: layer.input_layernorm)

    def normed(x):
        x = x - x.mean(-1, keepdim=True) if gpt2 else x
        return (x / x.pow(2).mean(-1, keepdim=True).sqrt()).double()

    with torch.no_grad():
        states = model(ids, output_hidden_states=True).hidden_states
        embedding = model.get_input_embeddings().weight.clone()
        if gpt2:
            embedding = embedding + model.transformer.wpe.weight.mean(0)
        norm = first.ln_2 if gpt2 else first.post_attention_layernorm
        extended = embedding + first.mlp(norm(embedding))
        kinds, place = ids.flatten().unique(return_inverse=True)
        count = torch.bincount(place).double()
        for name, basis in (("embedding", embedding), ("embedding and first MLP", extended)):
            names, out = normed(basis)[kinds], []
            for index, layer in enumerate(layers):
                activations = normed(states[index]).flatten(0, 1)
                mean = torch.zeros(len(kinds), activations.shape[1], dtype=torch.float64).index_add(0, place, activations) / count[:, None]
                found = []
                for head in range(model.config.num_attention_heads):
                    ov = torch.from_numpy(of.matrix("ov", index, head)) * before(layer).weight.double()
                    if gpt2:
                        ov = ov - ov.mean(1, keepdim=True)
                        ov = ov - ov.mean(0, keepdim=True)
                    reads = torch.linalg.svd(ov).Vh[:5].T
                    found += [np.corrcoef((mean @ reads)[:, i], (names @ reads)[:, i])[0, 1] for i in range(5)]
                out.append(f"{np.mean(found):.2f}")
            print(f"  input directions, candidate tokens by {name}, by layer: {' '.join(out)}")


def main():
    program, text, *models = sys.argv[1:]
    for model in models:
        print(model)
        of = Measured(program, model, text)
        names_of_reads(of)
        loss = matters(of)
        circuits, raises = weights_against_effect(of, loss)
        scores_on_text(of, circuits)
        total_effect(of, raises)


main()
