#!/usr/bin/env python3
"""Time saving the residual stream after every layer against the same forward passes without it.

    python benchmarks/compare/saving.py [--attnscope PROGRAM] [--threads 2] [--texts 64] [--repeats 3]

GPT-2 small's shape with random weights, texts of 1,024 tokens. Both runs compute no logits: the plain one saves the final norm at the
last position only. They alternate, and the medians of wall-clock seconds count. Needs numpy, torch and transformers.
"""

import argparse
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np

from attention import gpt2_small
from common import RELEASE, WORK

LENGTH, VOCABULARY = 1024, 50257


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--attnscope", type=Path, default=RELEASE / "attnscope")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    ids = np.random.default_rng(2).integers(0, VOCABULARY, (options.texts, LENGTH))
    file = WORK / "saved.safetensors"
    command = [str(options.attnscope), "predict", str(gpt2_small(LENGTH)), "--threads", str(options.threads), "--quiet",
               "--save", str(file)]
    for text in ids:
        command += ["--tokens", ",".join(map(str, text))]
    kinds = {"plain": ["--activations", "final_norm", "--positions", "last"], "resid_post": ["--activations", "resid_post"]}
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(options.repeats):
        for kind, own in kinds.items():
            file.unlink(missing_ok=True)
            start = time.perf_counter()
            subprocess.run([*command, *own], check=True, stdout=subprocess.DEVNULL)
            seconds[kind].append(time.perf_counter() - start)
    size = file.stat().st_size / 1e9
    file.unlink()
    plain, saving = (statistics.median(seconds[kind]) for kind in kinds)
    print(f"{options.texts} x {LENGTH} tokens: plain {plain:.1f} s, with resid_post ({size:.1f} GB) {saving:.1f} s: "
          f"{saving / plain:.2f} x")


if __name__ == "__main__":
    main()
