#!/usr/bin/env python3
"""Check `attention` against float64 NumPy on the maps that attnscope itself saves.

    python tools/check_attention.py BINARY MODEL TEXT_FILE [--sequences 100] [--length 100] [--exclude-first-token]

Each window of the text is run separately for its maps, and all windows together for the rows. Ranks, energy columns and top
columns must be equal; everything else must agree to a relative error of 1e-6. Needs numpy, safetensors and tokenizers.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from attention_measures import rows_of
from safetensors.numpy import load_file
from tokenizers import Tokenizer

EXACT = ("energy_rank", "energy_columns", "top_columns", "max_rank", "mean_max_rank", "collapsed", "sequences")
TOLERANCE = 1e-6


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "model", "text_file"):
        parser.add_argument(name)
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--energy", type=float, default=0.9)
    parser.add_argument("--exclude-first-token", action="store_true")
    asked = parser.parse_args()
    ids = Tokenizer.from_file(f"{asked.model}/tokenizer.json").encode(
        Path(asked.text_file).read_text(), add_special_tokens=False).ids
    maps = []
    with tempfile.TemporaryDirectory() as folder:
        for window in range(asked.sequences):
            tokens = ",".join(map(str, ids[window * asked.length:(window + 1) * asked.length]))
            file = f"{folder}/maps.safetensors"
            run(asked.binary, "attention", asked.model, "--tokens", tokens, "--maps", file, "--quiet")
            maps.append(load_file(file)["attentions"])
    expected, clear = rows_of(np.stack(maps), asked.energy, asked.exclude_first_token)
    words = ["--exclude-first-token"] if asked.exclude_first_token else []
    report = json.loads(run(asked.binary, "attention", asked.model, "--text-file", asked.text_file, "--sequences",
                            str(asked.sequences), "--length", str(asked.length), "--energy", str(asked.energy),
                            "--consecutive", "--format", "json", *words))
    faults, worst = 0, 0.0
    for got, wanted in zip(report["rows"], expected, strict=True):
        for name, value in wanted.items():
            if name in EXACT or value is None or name in ("layer", "head"):
                wrong = got[name] != value
            else:
                error = abs(got[name] - value) / max(abs(value), 1e-3)
                worst = max(worst, error)
                wrong = error > TOLERANCE
            if wrong:
                faults += 1
                print(f"layer {wanted['layer']} head {wanted['head']}: {name} {got[name]}, not {value}")
    print(f"{asked.model}: {len(expected)} rows of {asked.sequences} sequences, {faults} errors; "
          f"largest relative error {worst:.1e}; smallest margin of a rank or column count {clear:.1e} of the energy")
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main())
