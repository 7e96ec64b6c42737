#!/usr/bin/env python3
"""Time `ablate` and `directions` against the minimum arithmetic and a PyTorch loop with hooks, in one run.

    python benchmarks/compare/interventions.py [--attnscope PROGRAM] [--threads 2] [--repeats 3] [--only CASE]

`ablate`  all heads of GPT-2 small's shape with random weights on 1,024 tokens (4 x 256). The whole command is compared with its
          floating-point operations at the rate of NumPy's sgemm (2048 cubed). It is also compared with one pass with a hook per
          head (run once, because it takes minutes). Both use zero ablation. Startup, imports and loading count only for attnscope.
`read`    five directions of every head with the command `directions`. Reference: the operations for the token scores of all
          directions and of the random baseline, and for the first MLP on the whole vocabulary.

Needs numpy, torch and transformers. All sides have the same number of threads. Results are checked before anything is timed.
"""

import argparse
from pathlib import Path

import numpy as np

from attention import best_blas, gpt2_small, write_shard
from common import RELEASE, WORK, Reference, Results, alternating_medians, command_rows, command_seconds

LAYERS, HEADS, WIDTH, MLP, VOCABULARY = 12, 12, 768, 3072, 50257
WINDOWS, LENGTH = 4, 256
DIRECTIONS, DRAWS = 5, 1000


def ablation_flops() -> float:
    """Count, per ablated head, the operations after its attention: the MLP, the later layers, the logits."""
    mlp = 4 * WIDTH * MLP
    layer = 8 * WIDTH**2 + mlp + 2 * LENGTH * WIDTH  # half of each map is masked
    above = LAYERS * (LAYERS - 1) / 2
    one_head = LAYERS * mlp + above * layer + LAYERS * 2 * WIDTH * VOCABULARY
    return HEADS * one_head * WINDOWS * LENGTH


def reading_flops() -> float:
    """Count the scores of both vectors of every direction, the three random baselines, and the first MLP of every token.

    The baselines are for output vectors, for input vectors in layer 0, and for input vectors in later layers.
    """
    scores = 2 * LAYERS * HEADS * DIRECTIONS + 3 * DRAWS
    return 2 * VOCABULARY * WIDTH * scores + VOCABULARY * 4 * WIDTH * MLP


def sgemm_rate(reference: Reference) -> float:
    """Return operations per second."""
    size, products = 2048, 4
    return 2 * size**3 * products / reference.seconds("sgemm", size=size, products=products)


def measure(case: str, name: str, flops: float, command: list[str], repeats: int, threads: int, results: Results) -> float:
    with Reference(threads, best_blas()) as reference:
        rates = []
        times = alternating_medians({"ours": lambda: command_seconds(command, best_blas()),
                                     "rate": lambda: rates.append(sgemm_rate(reference)) or 0}, repeats)
    least = flops / sorted(rates)[len(rates) // 2]
    results.add_limit(case, f"{name} {times['ours']:.1f} s",
                      f"{flops / 1e12:.2f} TFLOP at sgemm's {flops / least / 1e9:.0f} GF/s: {least:.1f} s", times["ours"] / least, 1.3)
    return times["ours"]


def compare_ablation(program: Path, threads: int, repeats: int, results: Results) -> None:
    model = gpt2_small(1024)
    ids = np.random.default_rng(2).integers(0, VOCABULARY, (WINDOWS, LENGTH))
    command = [str(program), "ablate", str(model), "--token-file", str(write_shard(WORK / "ablated.bin", ids)), "--sequences",
               str(WINDOWS), "--length", str(LENGTH), "--components", "heads", "--ablation", "zero", "--threads", str(threads), "--quiet"]
    found = np.array([row["loss_increase"] for row in command_rows(command)])
    case = f"GPT-2 small's shape, all heads, {WINDOWS} x {LENGTH} tokens"
    with Reference(threads) as reference:
        theirs = reference.call("head_ablation", folder=str(model), tokens=ids.tolist())
    error = np.abs(found - theirs["loss_increase"]).max()
    # Both sides compute losses of about 11 nats in float32.
    assert error <= 1e-5, f"a loss increase differs by {error:.1e}"
    ours = measure(case, "ablate, start to exit", ablation_flops(), command, repeats, threads, results)
    results.add_ratio(case, ("ablate, start to exit", ours), ("PyTorch, one pass with a hook per head", theirs["seconds"]), 4)


def measure_reading(program: Path, threads: int, repeats: int, results: Results) -> None:
    command = [str(program), "read", str(gpt2_small(1024)), "--directions", str(DIRECTIONS), "--threads", str(threads), "--quiet",
               "--format", "json"]
    measure(f"GPT-2 small's shape, {DIRECTIONS} directions of all heads", "read, start to exit", reading_flops(), command, repeats,
            threads, results)


CASES = {"ablate": compare_ablation, "read": measure_reading}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--attnscope", type=Path, default=RELEASE / "attnscope")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    results = Results()
    WORK.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        if options.only in (None, name):
            case(options.attnscope, options.threads, options.repeats, results)
    results.finish("interventions")


if __name__ == "__main__":
    main()
