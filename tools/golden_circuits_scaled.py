#!/usr/bin/env python3
"""Write tests/golden/circuits/scaled/figures.json: `circuits --rope-offset` with scaled rotary positions.

    python tools/golden_circuits_scaled.py

The checkpoints are those of tests/data/forward with the configs named below. Frequencies and the factor of cosines and sines
are the float32 values of the transformers module after a text just long enough for the offset. Everything else is
float64, as in golden_circuits.py.
"""

import json

import golden_circuits as circuits
import numpy as np
import torch
import transformers
from golden_forward import FORWARD, load
from golden_forward_cases import CASES
from golden_variants import config_of
from observed_linear_maps import observe

VARIANTS = (("llama", "linear"), ("llama", "llama3"), ("llama", "dynamic"), ("llama", "yarn"), ("llama", "yarn-mscale"),
            ("llama", "longrope"), ("phi3", "longrope"), ("gpt_neox", "dynamic"), ("gpt_neox", "yarn"))
OFFSETS = (-3, 21)  # within the original context lengths of dynamic and longrope, and beyond them


def turned(frequencies: np.ndarray, gain: float, head_dim: int, offset: int) -> np.ndarray:
    """Return the rotation by `offset`. The gain applies to queries and to keys, so rotary dimensions are scaled by its square."""
    matrix = circuits.rotation(frequencies, head_dim, offset)
    matrix[: 2 * len(frequencies)] *= gain**2
    return matrix


def frequencies_at(model: torch.nn.Module, offset: int) -> tuple[np.ndarray, float]:
    rotary = next(m for m in model.modules() if type(m).__name__.endswith("RotaryEmbedding"))
    positions = torch.arange(abs(offset) + 1)[None]
    rotary(torch.zeros(1, 1), positions)
    return rotary.inv_freq.double().numpy(), rotary.attention_scaling


def rows(case, variant: str, offset: int) -> list:
    folder = FORWARD / case.name
    model = load(case, folder / "model.safetensors", config_of(folder, variant))
    frequencies, gain = frequencies_at(model, offset)
    found = []
    for index, layer in enumerate(observe(model.double())):
        for part in layer.heads["k"]:
            part.matrix = turned(frequencies, gain, len(part.matrix), offset) @ part.matrix
        found.append(circuits.Variant(layer, None, None, None).rows(index, only_sum=True)[0])
    return found


def main() -> None:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    cases = {case.name: case for case in CASES}
    golden = {"thresholds": list(circuits.THRESHOLDS),
              "columns": ["layer", "circuit", "head", *circuits.RANKS, *circuits.SCORES]}
    lines = []
    with torch.no_grad():
        for name, variant in VARIANTS:
            for offset in OFFSETS:
                entry = {"folder": name, "variant": variant, "offset": offset,
                         "rows": rows(cases[name], variant, offset)}
                lines.append(json.dumps(entry, separators=(",", ":")))
    text = json.dumps(golden, separators=(",", ":"))[:-1] + ',\n"cases":[\n' + ",\n".join(lines) + "]}\n"
    path = circuits.FOLDER / "scaled" / "figures.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    main()
