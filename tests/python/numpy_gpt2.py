"""The forward pass of GPT-2 in float64, from the tensors of a checkpoint: what the pages of docs/notebooks are compared with."""

import json
import pathlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
HEADS = 6
EPS = 1e-5


def tensors(folder: str) -> dict[str, Array]:
    """Return the tensors of a folder's file. It is in bfloat16, the upper half of float32."""
    whole = (pathlib.Path(folder) / "model.safetensors").read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        assert entry["dtype"] == "BF16"
        begin, end = entry["data_offsets"]
        halves = np.frombuffer(whole[8 + size + begin : 8 + size + end], "<u2")
        values = (halves.astype(np.uint32) << 16).view(np.float32)
        found[name] = values.reshape(entry["shape"]).astype(np.float64)
    return found


@dataclass
class Run:
    """Arrays (layers, heads, T, T), (layers + 1, T, D) and (T, V), as transformers returns them."""

    attentions: Array
    hidden_states: Array
    logits: Array


def _normed(x: Array, found: dict[str, Array], name: str) -> Array:
    centered = x - x.mean(-1, keepdims=True)
    scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + EPS)
    return np.asarray(scaled * found[f"{name}.weight"] + found[f"{name}.bias"])


def _linear(x: Array, found: dict[str, Array], name: str) -> Array:
    return np.asarray(x @ found[f"{name}.weight"] + found[f"{name}.bias"])


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def forward(found: dict[str, Array], ids: NDArray[np.int64]) -> Run:
    """Run the model on the token ids (T,)."""
    length = len(ids)
    x = found["transformer.wte.weight"][ids] + found["transformer.wpe.weight"][:length]
    future = np.triu(np.full((length, length), -np.inf), k=1)
    maps: list[Array] = []
    states = [x]
    while f"transformer.h.{len(maps)}.ln_1.weight" in found:
        layer = f"transformer.h.{len(maps)}"
        qkv = _linear(_normed(x, found, f"{layer}.ln_1"), found, f"{layer}.attn.c_attn")
        q, k, v = (part.reshape(length, HEADS, -1).transpose(1, 0, 2) for part in np.split(qkv, 3, axis=1))
        maps.append(_softmax(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]) + future))
        mixed = (maps[-1] @ v).transpose(1, 0, 2).reshape(length, -1)
        x = x + _linear(mixed, found, f"{layer}.attn.c_proj")
        inner = _linear(_normed(x, found, f"{layer}.ln_2"), found, f"{layer}.mlp.c_fc")
        gelu = inner / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        x = x + _linear(gelu, found, f"{layer}.mlp.c_proj")
        states.append(x)
    states[-1] = _normed(x, found, "transformer.ln_f")
    return Run(np.stack(maps), np.stack(states), states[-1] @ found["transformer.wte.weight"].T)
