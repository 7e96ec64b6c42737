#!/usr/bin/env python3
"""Time attnscope's attention on an image against typical code with PyTorch and transformers, in one run.

    python benchmarks/compare/images.py [--attnscope PROGRAM] [--threads 2] [--repeats 3]

ViT-B/16's shape (12 layers, 12 heads, 197 positions) with random weights, one image of 224 x 224 preprocessed pixels. The
whole command, from start to exit, is compared with transformers with output_attentions and the same statistics, with ranks
from svdvals in float64. Startup, imports and loading of the reference are not counted.

Needs numpy, torch and transformers. Both sides have the same number of threads, and runs alternate. Results are checked
before anything is timed.
"""

import argparse
import os
from pathlib import Path

import numpy as np

from common import RELEASE, WORK, Reference, Results, alternating_medians, command_rows, command_seconds


def vit_base() -> Path:
    folder = WORK / "vit-base-16"
    if not (folder / "model.safetensors").exists():
        os.environ["HF_HUB_OFFLINE"] = "1"
        import torch
        import transformers
        torch.manual_seed(1)
        transformers.ViTModel(transformers.ViTConfig(), add_pooling_layer=False).save_pretrained(folder)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=RELEASE / "attnscope")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    results = Results()
    WORK.mkdir(parents=True, exist_ok=True)
    model, pixels = vit_base(), WORK / "pixels.npy"
    np.save(pixels, np.random.default_rng(2).normal(size=(1, 3, 224, 224)).astype(np.float32))
    command = [str(arguments.attnscope), "attention", str(model), "--pixel-values", str(pixels), "--threads",
               str(arguments.threads), "--quiet"]
    with Reference(arguments.threads) as reference:
        asked = {"folder": str(model), "pixels": str(pixels)}
        theirs = reference.call("image_measures", **asked)
        for row in command_rows(command):
            if row["head"] is None:
                continue
            for name in ("energy_rank", "energy_columns", "entropy", "patch_distance", "sink_mass", "current_token"):
                difference = abs(row[name] - theirs[name][row["layer"]][row["head"]])
                # The float32 maps of both sides differ in the last digits, so a value can cross the threshold on one side.
                allowed = 1 if name in ("energy_rank", "energy_columns") else 1e-4
                assert difference <= allowed, f"layer {row['layer']}, head {row['head']}: {name} differs by {difference}"
        times = alternating_medians({
            "ours": lambda: command_seconds(command),
            "theirs": lambda: reference.seconds("image_measures", **asked)}, arguments.repeats)
    results.add_ratio("ViT-B/16's shape, one image of 197 positions", ("attention, start to exit", times["ours"]),
                      ("transformers and the same statistics", times["theirs"]), 3)
    results.finish("images")


if __name__ == "__main__":
    main()
