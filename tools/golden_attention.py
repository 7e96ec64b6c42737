#!/usr/bin/env python3
"""Write tests/golden/attention/<case>.json: expected results of `attention` for tiny checkpoints.

    python tools/golden_attention.py

Maps come from transformers' eager attention in float32, on the checkpoints of tests/data/forward and random tokens. The
statistics are computed in float64 NumPy (attention_measures.py). A second run gives the same bytes. Needs numpy, torch
and transformers, but tests do not.
"""

import json
from pathlib import Path

import numpy as np
import torch
import transformers
from attention_measures import even_map, repeated, rows_of

ROOT = Path(__file__).resolve().parent.parent
DATA, GOLDEN = ROOT / "tests/data/forward", ROOT / "tests/golden/attention"
CASES = {"gpt2": 16, "llama": 24, "gemma3": 16, "bert": 16, "gpt_oss": 16}  # tokens per sequence: as many as the model has positions
SEQUENCES = 3
ASKED = ((0.9, False), (0.6, False), (0.9, True))  # energy, exclude the first token
# Float32 maps of two programs differ by about 1e-7. Ranks and columns with a larger margin must be equal.
CLEAR = 1e-5


def maps_of(folder: Path, tokens: np.ndarray) -> np.ndarray:
    """Return maps (sequences, layers, heads, T, T)."""
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        attentions = model(input_ids=torch.from_numpy(tokens), output_attentions=True, use_cache=False).attentions
    return np.stack([layer.numpy() for layer in attentions], axis=1)


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.9g}")
    return value


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, length in CASES.items():
        config = json.loads((DATA / name / "config.json").read_text())
        for seed in range(100):
            tokens = np.random.default_rng(seed).integers(0, config["vocab_size"], (SEQUENCES, length))
            maps = maps_of(DATA / name, tokens)
            runs = [(energy, exclude_first_token, *rows_of(maps, energy, exclude_first_token)) for energy, exclude_first_token in ASKED]
            if min(clear for *_, clear in runs) > CLEAR:
                break
        else:
            raise RuntimeError(f"{name}: no tokens with unambiguous ranks")
        # Per layer, on a text whose second half repeats the first: the uniform baseline.
        even = [even_map((layer > 0).any(axis=(0, 1))) for layer in np.moveaxis(maps, 1, 0)]
        nulls = [{"uniform_induction": repeated(layer, length // 2 - 1), "uniform_duplicate_token": repeated(layer, length // 2)}
                 for layer in even]
        golden = {"model": name, "tokens": tokens.tolist(), "induction": [rounded(row) for row in nulls],
                  "runs": [{"energy": energy, "exclude_first_token": exclude_first_token, "rows": [rounded(row) for row in rows]}
                           for energy, exclude_first_token, rows, _ in runs]}
        text = json.dumps(golden).replace('{"layer"', '\n{"layer"').replace('{"energy"', '\n{"energy"')
        (GOLDEN / f"{name}.json").write_text(text + "\n")
        print(f"{name}: seed {seed}, {len(text)} bytes")


if __name__ == "__main__":
    main()
