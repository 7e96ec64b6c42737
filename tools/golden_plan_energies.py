#!/usr/bin/env python3
"""Make tests/data/plan/energies.json: output energies of trained matrices, by NumPy in float64.

    .venv/bin/python tools/golden_plan_energies.py

The file has the eigenvalues of W G Wᵀ, with G the mean of x xᵀ over inputs. Both sides compute the same inputs
(tests/features/common/calibration/energies_test.cpp). They are multiples of 1/128, so that float32 sums of their products, and so G,
are exact. The matrices are wide, tall and square. One has its bias as an additional column, with a constant input of 1.
"""

import json
import pathlib

import numpy as np
from safetensors.torch import load_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKENS = 700
LLAMA, GPT2 = "examples/shakespeare-llama", "examples/shakespeare-gpt2"


def inputs(width):
    token, col = np.meshgrid(np.arange(TOKENS, dtype=np.uint64), np.arange(width, dtype=np.uint64), indexing="ij")
    mixed = ((token * 2654435761) ^ (col * 2246822519)) * 3266489917 % 2**32
    return ((mixed >> 16) % 65).astype(np.float64) / 16 / 2.0 ** (col % 4) - 2


def canonical(model, layer, matrix):
    tensors = load_file(ROOT / model / "model.safetensors")
    if model == LLAMA:
        module = {"k": "self_attn.k_proj", "q": "self_attn.q_proj", "gate": "mlp.gate_proj", "down": "mlp.down_proj"}[matrix]
        return tensors[f"model.layers.{layer}.{module}.weight"].double().numpy()
    place = next(name for name in tensors if name.endswith(f"h.{layer}.attn.c_attn.weight"))
    weight, bias = tensors[place].double().numpy().T, tensors[place.replace("weight", "bias")].double().numpy()
    width = len(weight) // 3
    return np.hstack([weight, bias[:, None]])[2 * width:]  # v


def main():
    cases = []
    for model, layer, matrix, biased, ridge in [(LLAMA, 2, "k", False, 0), (LLAMA, 1, "down", False, 0.01),
                                                (LLAMA, 0, "gate", False, 0), (LLAMA, 5, "gate", False, 0.01),
                                                (LLAMA, 3, "q", False, 0.01), (GPT2, 2, "v", True, 0)]:
        w = canonical(model, layer, matrix)
        x = inputs(w.shape[1] - biased)
        if biased:
            x = np.hstack([x, np.ones((TOKENS, 1))])
        g = x.T @ x / TOKENS
        g += ridge * np.trace(g) / len(g) * np.eye(len(g))
        values = np.linalg.eigvalsh(w @ g @ w.T)[::-1][:min(w.shape)]
        cases.append({"model": model, "layer": layer, "matrix": matrix, "biased": biased, "ridge": ridge,
                      "energies": np.maximum(values, 0).tolist()})
    path = ROOT / "tests/data/plan/energies.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"tokens": TOKENS, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
