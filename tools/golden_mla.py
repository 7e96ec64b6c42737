#!/usr/bin/env python3
"""Write tests/golden/mla/<case>.json: spectra and circuits of tiny models with multi-head latent attention.

    python tools/golden_mla.py

The checkpoints are those of tests/data/forward/<case>. Every matrix is multiplied out in float64, head by head, from the tensors and
config.json only, by the definitions of docs/metrics.md, and decomposed by NumPy. The RMS of each latent on a text is measured by
hooks on transformers' norms. Needs numpy, torch, safetensors and transformers.
"""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

ROOT = Path(__file__).resolve().parent.parent
CASES = ("deepseek_v3", "deepseek_v2-no-latent", "minicpm3")
OFFSET = -3
# Options of `circuits`: whether to fold the gain, and the rotary offset.
TEXT = [4, 17, 29, 33, 8, 12, 40, 3, 21]
VARIANTS = {"plain": (False, 0), "fold": (True, 0), "offset": (False, OFFSET), "fold-offset": (True, OFFSET)}


class Layer:
    """The matrices of one layer per head, including the latents' norm gains divided by their RMS: `on_text`, or for white input."""

    def __init__(self, config: dict, tensors: dict, layer: int, fold: bool, on_text: dict | None = None):
        get = lambda name: tensors[f"model.layers.{layer}.{name}.weight"].double().numpy()
        self.heads, self.rope = config["num_attention_heads"], config["qk_rope_head_dim"]
        self.own, self.value, rank = config["qk_nope_head_dim"], config["v_head_dim"], config["kv_lora_rank"]
        gain = get("input_layernorm")
        folded = gain if fold else np.ones_like(gain)
        down = get("self_attn.kv_a_proj_with_mqa")
        rms = lambda name, rows: on_text[name] if on_text else np.linalg.norm(rows * gain) / np.sqrt(len(rows))
        latent = get("self_attn.kv_a_layernorm")[:, None] / rms("kv", down[:rank]) * down[:rank] * folded
        self.shared = down[rank:] * folded
        up = get("self_attn.kv_b_proj").reshape(self.heads, self.own + self.value, rank)
        self.keys_up, self.values_up = up[:, :self.own], up[:, self.own:]
        self.content = [up[head, :self.own] @ latent for head in range(self.heads)]
        self.v = [up[head, self.own:] @ latent for head in range(self.heads)]
        if config["q_lora_rank"] is None:
            queries = get("self_attn.q_proj") * folded
            self.queries_up = np.split(queries, self.heads)
        else:
            rows = get("self_attn.q_a_proj")
            self.queries_up = np.split(get("self_attn.q_b_proj"), self.heads)
            queries = get("self_attn.q_b_proj") @ (get("self_attn.q_a_layernorm")[:, None] / rms("q", rows) * rows * folded)
        self.q = np.split(queries, self.heads)
        self.o = np.split(get("self_attn.o_proj"), self.heads, axis=1)

    def k(self, config: dict, offset: int) -> list[np.ndarray]:
        pairs = self.rope // 2
        turned = self.shared.copy()
        halves = config["model_type"] == "minicpm3"
        for pair in range(pairs):
            a, b = (pair, pair + pairs) if halves else (2 * pair, 2 * pair + 1)
            theta = config["rope_parameters"]["rope_theta"]
            angle = offset * float(np.float32(1) / np.float32(theta ** np.float64(np.float32(2 * pair) / np.float32(self.rope))))
            turned[a] = np.cos(angle) * self.shared[a] - np.sin(angle) * self.shared[b]
            turned[b] = np.cos(angle) * self.shared[b] + np.sin(angle) * self.shared[a]
        return [np.vstack([content, turned]) for content in self.content]


def values(matrix: np.ndarray, count: int) -> list[float]:
    return np.linalg.svd(matrix, compute_uv=False)[:count].tolist()


def spectra(layer: Layer, config: dict) -> dict:
    """Return singular values per matrix: first of the whole, then of each head. Products have as many values as their maximum rank."""
    queries_rank = config["q_lora_rank"] or config["hidden_size"]
    rank = config["kv_lora_rank"]
    joint = rank + layer.rope
    k = layer.k(config, 0)
    kv = [np.vstack([key, value]) for key, value in zip(k, layer.v)]
    qk = [q.T @ key for q, key in zip(layer.q, k)]
    ov = [o @ value for o, value in zip(layer.o, layer.v)]
    own = {"q": (np.vstack(layer.q), layer.q, queries_rank),
           "k": (np.vstack([*layer.content, layer.shared]), k, joint),
           "v": (np.vstack(layer.v), layer.v, rank),
           "kv": (np.vstack([*layer.content, layer.shared, *layer.v]), kv, joint)}
    out = {name: [values(matrix, rank) for matrix in (whole, *heads)] for name, (whole, heads, rank) in own.items()}
    out["qk"] = [values(sum(qk), min(queries_rank, joint)), *(values(matrix, layer.own + layer.rope) for matrix in qk)]
    out["ov"] = [values(sum(ov), rank), *(values(matrix, layer.value) for matrix in ov)]
    parts = {"qk_content": ([q[:layer.own].T @ key for q, key in zip(layer.q, layer.content)], min(queries_rank, rank)),
             "qk_rotary": ([q[layer.own:].T @ layer.shared for q in layer.q], min(queries_rank, layer.rope)),
             "qk_latent": ([q[:layer.own].T @ key for q, key in zip(layer.queries_up, layer.keys_up)], min(queries_rank, rank)),
             "ov_latent": ([o @ value for o, value in zip(layer.o, layer.values_up)], rank)}
    inner = {"qk_content": layer.own, "qk_rotary": layer.rope, "qk_latent": layer.own, "ov_latent": layer.value}
    for name, (heads, possible) in parts.items():
        out[name] = [values(sum(heads), possible), *(values(matrix, inner[name]) for matrix in heads)]
    return out


def measures(matrix: np.ndarray) -> dict[str, float]:
    width = len(matrix)
    norm, trace = np.linalg.norm(matrix), np.trace(matrix)
    symmetric = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    eigenvalues = np.linalg.eigvals(matrix)
    return {"frobenius_norm": norm, "identity_cosine": trace / np.sqrt(width) / norm, "identity_scale": trace / width,
            "symmetry": np.trace(matrix @ matrix) / norm ** 2,
            "positive_fraction": symmetric[symmetric > 0].sum() / np.abs(symmetric).sum(),
            "copying_score": eigenvalues.real.sum() / np.abs(eigenvalues).sum()}


def circuits(config: dict, tensors: dict, fold: bool, offset: int, on_text: list[dict] | None = None) -> list[dict]:
    rows = []
    for number in range(config["num_hidden_layers"]):
        layer = Layer(config, tensors, number, fold, on_text and on_text[number])
        products = {"qk": [q.T @ key for q, key in zip(layer.q, layer.k(config, offset))],
                    "ov": [o @ value for o, value in zip(layer.o, layer.v)]}
        for circuit, heads in products.items():
            for head, matrix in enumerate([sum(heads), *heads], -1):
                rows.append({"layer": number, "circuit": circuit, "head": None if head < 0 else head} | measures(matrix))
    return rows


def rms_on_text(data: Path, layers: int) -> list[dict[str, float]]:
    """Return, per layer, the mean over tokens of the RMS of each latent in transformers' forward pass."""
    model = AutoModelForCausalLM.from_pretrained(data, attn_implementation="eager", dtype=torch.float32)
    seen = [{} for _ in range(layers)]

    def watch(norm, found: dict, name: str) -> None:
        def hook(module, inputs):
            rows = inputs[0][0].double()
            found[name] = (rows.pow(2).mean(-1) + module.variance_epsilon).sqrt().mean().item()
        norm.register_forward_pre_hook(hook)

    for found, layer in zip(seen, model.model.layers):
        for name in ("q", "kv"):
            norm = getattr(layer.self_attn, f"{name}_a_layernorm", None)
            if norm is not None:
                watch(norm, found, name)
    with torch.no_grad():
        model(torch.tensor([TEXT]))
    return seen


def on_text(data: Path, config: dict, tensors: dict) -> dict:
    layers = range(config["num_hidden_layers"])
    rms = rms_on_text(data, len(layers))
    found = [spectra(Layer(config, tensors, layer, fold=False, on_text=rms[layer]), config) for layer in layers]
    return {"tokens": TEXT, "latent_rms": rms, "spectra": [{name: layer[name] for name in ("k", "kv", "qk")} for layer in found],
            "circuits": circuits(config, tensors, True, OFFSET, rms)}


def main() -> None:
    folder = ROOT / "tests" / "golden" / "mla"
    folder.mkdir(exist_ok=True)
    for case in CASES:
        data = ROOT / "tests" / "data" / "forward" / case
        config = json.loads((data / "config.json").read_text())
        tensors = load_file(data / "model.safetensors")
        layers = [spectra(Layer(config, tensors, layer, fold=False), config) for layer in range(config["num_hidden_layers"])]
        result = {"spectra": layers,
                  "circuits": {name: circuits(config, tensors, *variant) for name, variant in VARIANTS.items()},
                  "on_text": on_text(data, config, tensors)}
        (folder / f"{case}.json").write_text(json.dumps(result) + "\n")
        print(f"latent/{case}")


if __name__ == "__main__":
    main()
