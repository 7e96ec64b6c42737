#!/usr/bin/env python3
"""Makes tests/data/plan/activations.json: ranks of matrices on a text, by NumPy in float64.

    .venv/bin/python tools/golden_activations.py

Runs tests/data/forward/{llama,gpt2} in float64, which must give the logits that transformers gave; G is the mean of x xᵀ of what a
matrix reads, and ranks are those of the eigenvalues of W G Wᵀ, without biases, and of G. Texts are ids, which the test spells as words:
the first random ones of which no rank hangs on what float32 rounds. Needs numpy alone; a second run gives the same bytes.
"""

import json
import pathlib
import struct

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENERGY = (0.6, 0.9, 0.99)
CONTEXT, WORDS, WIDTH, HEAD = 16, 48, 24, 8
CLEAR = 2e-5  # a share of the energy nearer to a threshold than that is in doubt: ten times what the test allows shares to err
TEXTS = {"long": 200, "short": 10}  # words: 12 windows and a rest; fewer than any matrix has inputs


def tensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, tensor in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        first, last = tensor["data_offsets"]
        raw = data[8 + size + first:8 + size + last]
        if tensor["dtype"] == "BF16":  # the upper half of float32
            values = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, {"F32": "<f4", "F16": "<f2", "I32": "<i4"}[tensor["dtype"]])
        out[name] = values.astype(np.int64 if tensor["dtype"] == "I32" else np.float64).reshape(tensor["shape"])
    return out


def attend(query, key, value):
    """Of (T, H, d) each, causal: (T, H d)."""
    heads = query.shape[1]
    key, value = (np.repeat(each, heads // each.shape[1], 1) for each in (key, value))
    scores = np.einsum("qhd,khd->hqk", query, key) / np.sqrt(HEAD)
    odds = np.exp(np.where(np.tri(len(query), dtype=bool), scores, -np.inf))
    return np.einsum("hqk,khd->qhd", odds / odds.sum(-1, keepdims=True), value).reshape(len(query), -1)


class Llama:
    layers = 2
    reads = {"q": "q", "k": "q", "v": "q", "o": "o", "gate": "up", "up": "up", "down": "down"}

    def __init__(self, folder):
        self.w = tensors(folder / "model.safetensors")

    def matrix(self, layer, name):
        part = "mlp" if name in ("gate", "up", "down") else "self_attn"
        return self.w[f"model.layers.{layer}.{part}.{name}_proj.weight"]

    def norm(self, x, name):
        return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-6) * self.w[f"model.{name}.weight"]

    def turn(self, x):
        angles = np.arange(len(x))[:, None] * 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        a, b = np.split(x, 2, -1)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def run(self, ids, seen):
        x = self.w["model.embed_tokens.weight"][ids]
        for layer in range(self.layers):
            read = self.norm(x, f"layers.{layer}.input_layernorm")
            q, k, v = ((read @ self.matrix(layer, name).T).reshape(len(ids), -1, HEAD) for name in "qkv")
            mixed = attend(self.turn(q), self.turn(k), v)
            x = x + mixed @ self.matrix(layer, "o").T
            read_by_mlp = self.norm(x, f"layers.{layer}.post_attention_layernorm")
            gate = read_by_mlp @ self.matrix(layer, "gate").T
            inner = gate / (1 + np.exp(-gate)) * (read_by_mlp @ self.matrix(layer, "up").T)
            x = x + inner @ self.matrix(layer, "down").T
            seen(layer, {"q": read, "o": mixed, "up": read_by_mlp, "down": inner})
        return self.norm(x, "norm") @ self.w["lm_head.weight"].T


class Gpt2:
    layers = 3
    reads = {"q": "q", "k": "q", "v": "q", "o": "o", "up": "up", "down": "down"}

    def __init__(self, folder):
        self.w = {name.removeprefix("transformer."): values for name, values in tensors(folder / "model.safetensors").items()}

    def matrix(self, layer, name):
        if name in "qkv":
            return self.w[f"h.{layer}.attn.c_attn.weight"].T["qkv".index(name) * WIDTH:][:WIDTH]
        return self.w[f"h.{layer}." + {"o": "attn.c_proj", "up": "mlp.c_fc", "down": "mlp.c_proj"}[name] + ".weight"].T

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5)
        return x * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def run(self, ids, seen):
        x = self.w["wte.weight"][ids] + self.w["wpe.weight"][:len(ids)]
        for layer in range(self.layers):
            def linear(read, name):
                return read @ self.w[f"h.{layer}.{name}.weight"] + self.w[f"h.{layer}.{name}.bias"]
            read = self.norm(x, f"h.{layer}.ln_1")
            q, k, v = (part.reshape(len(ids), -1, HEAD) for part in np.split(linear(read, "attn.c_attn"), 3, -1))
            mixed = attend(q, k, v)
            x = x + linear(mixed, "attn.c_proj")
            read_by_mlp = self.norm(x, f"h.{layer}.ln_2")
            up = linear(read_by_mlp, "mlp.c_fc")
            inner = up / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (up + 0.044715 * up ** 3)))
            x = x + linear(inner, "mlp.c_proj")
            seen(layer, {"q": read, "o": mixed, "up": read_by_mlp, "down": inner})
        return self.norm(x, "ln_f") @ self.w["wte.weight"].T


def check_run(model, folder):
    expected = tensors(folder / "expected.safetensors")
    for name in (each for each in expected if each.startswith("tokens.")):
        logits = model.run(expected[name], lambda *_: None)
        assert np.abs(logits - expected[name.replace("tokens", "logits")]).max() < 2e-5, "not the model that transformers runs"


class InDoubt(Exception):
    """A rank hangs on rounding."""


def ranks(energies):
    """Of squares of singular values."""
    energies = np.sort(np.maximum(energies, 0))[::-1]
    shares = np.cumsum(energies) / energies.sum()
    if min(np.abs(shares - energy).min() for energy in ENERGY) < CLEAR:
        raise InDoubt
    return {str(energy): int(np.searchsorted(shares, energy)) + 1 for energy in ENERGY}


def rows_of(model, ids):
    length = min(CONTEXT, len(ids))
    inputs = {}
    for first in range(0, len(ids) - length + 1, length):
        model.run(ids[first:first + length],
                  lambda layer, read: [inputs.setdefault((layer, name), []).append(x) for name, x in read.items()])
    rows = []
    for layer in range(model.layers):
        for name, site in model.reads.items():
            x, w = np.concatenate(inputs[layer, site]), model.matrix(layer, name)
            g = x.T @ x / len(x)
            own = np.linalg.eigvalsh(g)
            rows.append({"layer": layer, "matrix": name, "shape": list(w.shape),
                         "energy_rank": ranks(np.linalg.svd(w, compute_uv=False) ** 2),
                         "activation_energy_rank": ranks(np.linalg.eigvalsh(w @ g @ w.T)), "input_energy_rank": ranks(own),
                         "input_top_share": own.max() / np.trace(g), "possible_rank": min(w.shape)})
    return rows


def clear_text(model, count, random):
    """The first of which no rank is in doubt."""
    while True:
        ids = random.integers(0, WORDS, count)
        try:
            return ids, rows_of(model, ids)
        except InDoubt:
            continue


def main():
    random = np.random.default_rng(4)
    cases = []
    for name, kind in (("llama", Llama), ("gpt2", Gpt2)):
        folder = ROOT / "tests/data/forward" / name
        model = kind(folder)
        check_run(model, folder)
        for text, count in TEXTS.items():
            ids, rows = clear_text(model, count, random)
            length = min(CONTEXT, count)
            cases.append({"model": name, "text": text, "ids": ids.tolist(), "sequences": count // length, "length": length,
                          "rows": rows})
    lines = [json.dumps(case | {"rows": []})[:-2] + "\n" + ",\n".join(json.dumps(row) for row in case["rows"]) + "\n]}" for case in cases]
    (ROOT / "tests/data/plan/activations.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
