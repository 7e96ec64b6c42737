#!/usr/bin/env python3
"""Make tests/data/plan/layers.json: the influence of layers and their components, and their loss increase, by NumPy in float64.

    .venv/bin/python tools/golden_plan_layers.py

Uses both examples and the texts of their intervention golden files. The loss increase is measured when a layer, its attention or its
MLP, including biases, adds nothing. The influence is 1 − the mean cosine similarity of the residual stream before and after
each component. Needs only numpy.
"""

import json
import pathlib
import struct

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADS, HEAD = 6, 32


def tensors(model):
    """Convert bfloat16, which is the upper half of float32."""
    data = (ROOT / "examples" / model / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    out = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        first, last = tensor["data_offsets"]
        halves = np.frombuffer(data[8 + size + first:8 + size + last], np.uint16)
        out[name] = (halves.astype(np.uint32) << 16).view(np.float32).astype(np.float64).reshape(tensor["shape"])
    return out


def softmax(scores):
    odds = np.exp(scores - scores.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def attend(query, key, value):
    """Compute causal attention for inputs of shape (T, H d)."""
    count = len(query)
    split = lambda x: x.reshape(count, -1, HEAD).transpose(1, 0, 2).repeat(HEADS * HEAD // x.shape[1], 0)  # noqa: E731
    q, k, v = split(query), split(key), split(value)
    scores = np.where(np.tri(count, dtype=bool), q @ k.transpose(0, 2, 1) / np.sqrt(HEAD), -np.inf)
    return (softmax(scores) @ v).transpose(1, 0, 2).reshape(count, -1)


class Llama:
    def __init__(self):
        self.w = tensors("shakespeare-llama")
        self.head = self.w["model.embed_tokens.weight"]

    def norm(self, x, name):
        return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-6) * self.w[f"model.{name}.weight"]

    def turn(self, x):
        angles = np.arange(len(x))[:, None] * 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        a, b = np.split(x.reshape(len(x), -1, HEAD), 2, -1)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1).reshape(len(x), -1)

    def enter(self, ids):
        return self.head[ids]

    def attention(self, x, layer):
        at = f"model.layers.{layer}.self_attn."
        q, k, v, o = (self.w[f"{at}{name}_proj.weight"].T for name in "qkvo")
        x = self.norm(x, f"layers.{layer}.input_layernorm")
        return attend(self.turn(x @ q), self.turn(x @ k), x @ v) @ o

    def mlp(self, x, layer):
        gate, up, down = (self.w[f"model.layers.{layer}.mlp.{name}_proj.weight"].T for name in ("gate", "up", "down"))
        x = self.norm(x, f"layers.{layer}.post_attention_layernorm")
        return (x @ gate / (1 + np.exp(-(x @ gate))) * (x @ up)) @ down

    def finish(self, x):
        return self.norm(x, "norm") @ self.head.T


class Gpt2:
    def __init__(self):
        self.w = tensors("shakespeare-gpt2")
        self.head = self.w["transformer.wte.weight"]

    def linear(self, x, name):
        return x @ self.w[f"transformer.{name}.weight"] + self.w[f"transformer.{name}.bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5)
        return x * self.w[f"transformer.{name}.weight"] + self.w[f"transformer.{name}.bias"]

    def enter(self, ids):
        return self.head[ids] + self.w["transformer.wpe.weight"][:len(ids)]

    def attention(self, x, layer):
        x = self.linear(self.norm(x, f"h.{layer}.ln_1"), f"h.{layer}.attn.c_attn")
        return self.linear(attend(*np.split(x, 3, -1)), f"h.{layer}.attn.c_proj")

    def mlp(self, x, layer):
        x = self.linear(self.norm(x, f"h.{layer}.ln_2"), f"h.{layer}.mlp.c_fc")
        x = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))
        return self.linear(x, f"h.{layer}.mlp.c_proj")

    def finish(self, x):
        return self.norm(x, "ln_f") @ self.head.T


def run(model, ids, without=()):
    """Return the mean loss, and the residual stream before and after each component. `without`: (layer, part) pairs that add nothing."""
    x, streams = model.enter(ids), []
    for layer in range(6):
        streams.append([x])
        for part in (model.attention, model.mlp):
            if (layer, part.__name__) not in without:
                x = x + part(x, layer)
            streams[-1].append(x)
    logits = model.finish(x)[:-1]
    logits -= logits.max(-1, keepdims=True)
    scores = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return -scores[np.arange(len(scores)), ids[1:]].mean(), streams


def influence(pairs):
    cosines = [(a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1)) for a, b in pairs]
    return 1 - float(np.concatenate(cosines).mean())


def main():
    out = {}
    for name, model in (("shakespeare-llama", Llama()), ("shakespeare-gpt2", Gpt2())):
        golden = json.loads((ROOT / f"tests/golden/interventions/{name}.json").read_text())
        windows = [np.array(window) for window in golden["tokens"]]
        runs = [run(model, ids) for ids in windows]
        before = np.mean([loss for loss, _ in runs])
        assert abs(before - golden["loss"]) < 1e-6, (before, golden["loss"])  # the value of transformers
        rows = []
        for layer in range(6):
            streams = [own[layer] for _, own in runs]
            row = {"block_influence": influence([(s[0], s[2]) for s in streams]),
                   "attention_influence": influence([(s[0], s[1]) for s in streams]),
                   "mlp_influence": influence([(s[1], s[2]) for s in streams])}
            for field, parts in (("loss_increase", ("attention", "mlp")), ("attention_loss_increase", ("attention",)),
                                 ("mlp_loss_increase", ("mlp",))):
                without = [(layer, part) for part in parts]
                row[field] = float(np.mean([run(model, ids, without)[0] for ids in windows]) - before)
            rows.append(row)
        out[name] = rows
    (ROOT / "tests/data/plan/layers.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
