#!/usr/bin/env python3
"""Time attnscope's attention maps against typical code with PyTorch and transformers, in one run.

    python benchmarks/compare/attention.py [--attnscope PROGRAM] [--bench PROGRAM] [--threads 2] [--repeats 3] [--only CASE]

`ranks`   GPT-2 small's shape with random weights, 100 sequences of 100 tokens, float64 energy ranks and energy columns. The
          whole command, from start to exit, is compared with a typical notebook (transformers with output_attentions,
          one sequence at a time, svdvals in float64). It is also compared with the fastest PyTorch code (base model
          without logits, batches of 10 sequences). Their startup, imports and loading are not counted.
`long`    one sequence of 1024 and of 2048 tokens with all maps and without ranks; and the peak memory at 2048.
`share`   the rate of a whole pass as a share of OpenBLAS's sgemm rate (2048 cubed, same run, its best kernels). Models:
          GPT-2 small's shape, 5 x 100 tokens, and Llama-1B's shape in bfloat16, also with its memory relative to its file.

Needs numpy, torch and transformers. All sides have the same number of threads, and runs alternate. Results are checked
before anything is timed.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

import numpy as np

from common import (RELEASE, WORK, Reference, Results, Row, alternating_medians, command_rows, command_seconds, 
                    median, synthetic_model)

SEQUENCES, LENGTH, TOGETHER = 100, 100, 10


def gpt2_small(positions: int) -> Path:
    """Return a model of GPT-2 small's shape with transformers' random initialization. Make it only once."""
    folder = WORK / f"gpt2-small-{positions}"
    if not (folder / "model.safetensors").exists():
        os.environ["HF_HUB_OFFLINE"] = "1"
        import torch
        import transformers
        torch.manual_seed(1)
        config = transformers.GPT2Config(n_positions=positions)
        transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def write_shard(path: Path, ids: np.ndarray) -> Path:
    header = np.zeros(256, dtype="<i4")
    header[:3] = 20240520, 1, ids.size
    path.write_bytes(header.tobytes() + ids.astype("<u2").tobytes())
    return path


def compare_ranks(program: Path, threads: int, repeats: int, results: Results) -> None:
    model = gpt2_small(1024)
    ids = np.random.default_rng(2).integers(0, 50257, (SEQUENCES, LENGTH))
    shard = write_shard(WORK / "random.bin", ids)
    command = [str(program), "attention", str(model), "--token-file", str(shard), "--sequences", str(SEQUENCES),
               "--length", str(LENGTH), "--threads", str(threads), "--quiet"]
    with Reference(threads) as reference:
        notebook = {"folder": str(model), "tokens": ids.tolist(), "together": 1, "head": True}
        best = {"folder": str(model), "tokens": ids.tolist(), "together": TOGETHER, "head": False}
        theirs = reference.call("attention_ranks", **best)
        for row in command_rows(command):
            if row["head"] is None:
                continue
            place = row["layer"], row["head"]
            for name, expected in (("energy_rank", theirs["ranks"]), ("energy_columns", theirs["energy_columns"])):
                difference = abs(row[name] - expected[place[0]][place[1]])
                # The float32 maps of both sides differ in the last digits, so a value can cross the threshold on one side.
                assert difference <= 0.02, f"layer {place[0]}, head {place[1]}: {name} differs by {difference}"
        times = alternating_medians({
            "ours": lambda: command_seconds(command),
            "notebook": lambda: reference.seconds("attention_ranks", **notebook),
            "best": lambda: reference.seconds("attention_ranks", **best)}, repeats)
    case = f"GPT-2 small's shape, {SEQUENCES} x {LENGTH} tokens, ranks and columns"
    results.add_ratio(case, ("attention, start to exit", times["ours"]),
                      ("transformers, one sequence at a time", times["notebook"]), 3)
    results.add_ratio(case, ("attention, start to exit", times["ours"]),
                      (f"base model, batches of {TOGETHER}", times["best"]), 2)


def best_blas() -> dict[str, str]:
    """Return the environment that makes OpenBLAS use AVX-512: on CPUs that it does not know it uses AVX2."""
    has_avx512 = "avx512f" in Path("/proc/cpuinfo").read_text().split()
    return {"OPENBLAS_CORETYPE": "SkylakeX"} if has_avx512 else {}


def bench(program: Path, model: Path, tokens: int, sequences: int, threads: int, maps: bool, passes: int,
          environment: dict[str, str] = {}) -> dict:
    command = [str(program), str(model), str(tokens), str(sequences), str(threads), str(int(maps)), str(passes)]
    return json.loads(subprocess.check_output(command, env={**os.environ, **environment}))


def compare_long(program: Path, threads: int, repeats: int, results: Results) -> None:
    model = gpt2_small(2048)
    for tokens, least in ((1024, 1.8), (2048, 4)):
        ids = np.random.default_rng(3).integers(0, 50257, (1, tokens)).tolist()
        peak = []

        def ours() -> float:
            run = bench(program, model, tokens, 1, threads, maps=True, passes=1)
            peak.append(run["peak_bytes"])
            return run["seconds"]

        with Reference(threads) as reference:
            times = alternating_medians({
                "ours": ours,
                "theirs": lambda: reference.seconds("forward_maps", folder=str(model), tokens=ids)}, repeats)
        results.add_ratio(f"one sequence of {tokens} tokens with maps", ("one pass", times["ours"]),
                          ("transformers, base model", times["theirs"]), least)
        if tokens == 2048:
            results.add_limit("peak memory at 2048 tokens", f"{median(peak) / 2**30:.2f} GiB", "", median(peak) / 2**30, 1)


def measure_share(program: Path, threads: int, repeats: int, results: Results) -> None:
    llama = synthetic_model("llama-1b", "--layers", "16", "--width", "2048", "--heads", "32", "--kv-heads", "8",
                            "--head-dim", "64", "--mlp-width", "8192", "--vocabulary", "1024")
    for case, model, sequences in (("GPT-2 small's shape, 5 x 100 tokens", gpt2_small(1024), 5),
                                   ("Llama of 1B's shape, bfloat16, 4 x 100 tokens", llama, 4)):
        run = bench(program, model, LENGTH, sequences, threads, maps=True, passes=2 * repeats + 1,
                    environment=best_blas())
        rate = run["product_flops"] / run["seconds"]
        peak = run["sgemm_flops"] / run["sgemm_seconds"]
        results.add(Row(f"{case}: the whole pass", f"{rate / 1e9:.0f} GF/s of products",
                        f"sgemm {peak / 1e9:.0f} GF/s", rate / peak, ">= 0.8", rate >= 0.8 * peak))
        if model == llama:
            size = (model / "model.safetensors").stat().st_size
            results.add_limit(f"{case}: memory over the file's size", f"{run['peak_bytes'] / 1e9:.2f} GB",
                              f"{size / 1e9:.2f} GB", run["peak_bytes"] / size, 1.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=RELEASE / "attnscope")
    parser.add_argument("--bench", type=Path, default=RELEASE / "benchmarks" / "forward_bench")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("ranks", "long", "share"))
    arguments = parser.parse_args()
    results = Results()
    WORK.mkdir(parents=True, exist_ok=True)
    if arguments.only in (None, "ranks"):
        compare_ranks(arguments.attnscope, arguments.threads, arguments.repeats, results)
    if arguments.only in (None, "long"):
        compare_long(arguments.bench, arguments.threads, arguments.repeats, results)
    if arguments.only in (None, "share"):
        measure_share(arguments.bench, arguments.threads, arguments.repeats, results)
    results.finish("attention")


if __name__ == "__main__":
    main()
