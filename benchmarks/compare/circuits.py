#!/usr/bin/env python3
"""Time attnscope's circuits against NumPy and TransformerLens for the same results, in one run.

    python benchmarks/compare/circuits.py [--attnscope PROGRAM] [--bench PROGRAM] [--threads 2] [--repeats 5]

1. Singular values of the 144 qk circuits of GPT-2 small's shape (d 64, hidden size 768), against TransformerLens's
   FactoredMatrix.S, or its algorithm in NumPy if it is not installed.
2. All per-head statistics of `circuits`, qk and ov, for one layer of Llama-3-8B's shape (hidden size 4096, 32 query and
   8 key/value heads, d 128) on one thread. Reference: NumPy's SVD of the 4096 x 4096 products of two heads, with any
   number of threads.
3. Composition scores of all heads of GPT-2 small's shape, from the file to the printed rows, against TransformerLens's
   all_composition_scores on weights in memory.
4. Composition scores of a pair of layers of Llama-3-8B's shape on one thread: the rate, from the benchmark.

Needs numpy, and torch for TransformerLens. Results are checked before anything is timed.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from common import (RELEASE, Reference, Results, Row, alternating_medians, bench_seconds, command_rows, command_seconds,
                    duration, energy_rank, median, write_safetensors)


def write_model(folder: Path, q: np.ndarray, k: np.ndarray, heads: int) -> Path:
    write_safetensors(folder / "model.safetensors", {"q.0": q, "k.0": k})
    layout = folder / "layout.json"
    layout.write_text(json.dumps({
        "schema": "attnscope-layout/1", "layers": 1, "heads": heads, "head_dim": len(q) // heads, "hidden_size": q.shape[1],
        "weights": [{"role": "q", "tensor": "q.{layer}"}, {"role": "k", "tensor": "k.{layer}"}]}))
    return layout


def compare_llama_heads(program: Path, bench: Path, results: Results) -> None:
    heads, head_dim, width = 2, 128, 4096
    random = np.random.default_rng(1)
    q, k = (random.standard_normal((heads * head_dim, width), dtype=np.float32) for _ in range(2))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        layout = write_model(folder, q, k, heads)
        rows = command_rows([str(program), "circuits", str(folder), "--layout", str(layout), "--circuit", "qk"])
    ours = bench_seconds(bench, "layer_heads/width:4096/heads:32") / 32

    times = []
    for head in range(heads):
        rows_of_head = slice(head * head_dim, (head + 1) * head_dim)
        product = q[rows_of_head].T.astype(np.float64) @ k[rows_of_head].astype(np.float64)
        start = time.monotonic()
        values = np.linalg.svd(product, compute_uv=False)
        times.append(time.monotonic() - start)
        row = next(row for row in rows if row["head"] == head)
        assert abs(row["frobenius_norm"] / np.linalg.norm(product) - 1) < 1e-9, "another norm"
        for threshold, rank in row["energy_rank"].items():
            assert rank == energy_rank(values, float(threshold)), "another rank"
    results.add_ratio("a head of Llama-3-8B", ("all figures of qk and ov, one thread", ours),
                      ("numpy.linalg.svd of the product, values alone", median(times)))


def compare_gpt2_circuits(bench: Path, threads: int, repeats: int, results: Results) -> None:
    with Reference(threads) as reference:
        runs = [reference.call("factored_matrices", count=144, head_dim=64, width=768) for _ in range(repeats)]
    ours = bench_seconds(bench, "gpt2_singular_values")
    results.add_ratio("144 qk circuits of GPT-2 small", ("values in float64", ours),
                      (f"{runs[0]['way']}, float32", median([run["seconds"] for run in runs])), 30)


def compare_composition(program: Path, bench: Path, threads: int, repeats: int, results: Results) -> None:
    layers, heads, width = 12, 12, 768
    random = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_safetensors(folder / "model.safetensors", {
            f"{role}.{layer}": random.standard_normal((width, width), dtype=np.float32)
            for layer in range(layers) for role in "qkvo"})
        layout = folder / "layout.json"
        layout.write_text(json.dumps({
            "schema": "attnscope-layout/1", "layers": layers, "heads": heads, "head_dim": width // heads, "hidden_size": width,
            "weights": [{"role": role, "tensor": f"{role}.{{layer}}"} for role in "qkvo"]}))
        command = [str(program), "circuits", str(folder), "--layout", str(layout), "--composition"]
        ours = sum(row["score"] for row in command_rows(command))
        with Reference(threads) as reference:
            times = alternating_medians({
                "ours": lambda: command_seconds([*command, "--format", "csv", "--threads", str(threads)]),
                "theirs": lambda: reference.seconds("composition_scores", folder=name, layers=layers, heads=heads),
            }, repeats)
            theirs = reference.call("composition_scores", folder=name, layers=layers, heads=heads)
    assert abs(ours / theirs["sum"] - 1) < 1e-5, "different scores"
    results.add_ratio("composition of GPT-2 small, 28,512 pairs of heads", ("whole process, float64", times["ours"]),
                      (f"{theirs['way']}, float32", times["theirs"]))
    pair = bench_seconds(bench, "composition_of_a_pair/width:4096")
    results.add(Row("composition of a pair of layers of Llama-3-8B", f"one thread, {duration(pair)}",
                    "2.15e11 operations", 2.15e11 / pair / 1e9, "GF/s"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attnscope", type=Path, default=RELEASE / "attnscope")
    parser.add_argument("--bench", type=Path, default=RELEASE / "benchmarks" / "circuits_bench")
    parser.add_argument("--threads", type=int, default=2, help="threads of the reference")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    results = Results()
    compare_gpt2_circuits(arguments.bench, arguments.threads, arguments.repeats, results)
    compare_llama_heads(arguments.attnscope, arguments.bench, results)
    compare_composition(arguments.attnscope, arguments.bench, arguments.threads, arguments.repeats, results)
    results.finish("circuits")


if __name__ == "__main__":
    main()
