#!/usr/bin/env python3
"""Times attnscope's circuits beside NumPy's and TransformerLens's ways to the same numbers, in one run.

    python benchmarks/compare/circuits.py [--attnscope PROGRAM] [--bench PROGRAM]

1. A layer of the shape of Llama-3-8B's (width 4096, 32 query and 8 key/value heads, d 128): every per-head figure of
   `circuits`, qk and ov, on one thread, against NumPy's SVD of the 4096 x 4096 products of two heads.
2. The 144 qk circuits of GPT-2 small's shape (d 64, width 768): their singular values on all cores, against
   TransformerLens's FactoredMatrix.S, or where it is not installed its algorithm in NumPy: an SVD of each factor and one
   of what stands between. NumPy takes as many threads as it likes.

Needs numpy. Answers are compared before times are.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
RELEASE = ROOT / "build" / "release"


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    header, at = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in tensors.values():
            file.write(values.tobytes())


def write_model(folder: Path, q: np.ndarray, k: np.ndarray, heads: int) -> Path:
    write_safetensors(folder / "model.safetensors", {"q.0": q, "k.0": k})
    layout = folder / "layout.json"
    layout.write_text(json.dumps({
        "schema": "attnscope-layout/1", "layers": 1, "heads": heads, "head_dim": len(q) // heads, "width": q.shape[1],
        "weights": [{"role": "q", "tensor": "q.{layer}"}, {"role": "k", "tensor": "k.{layer}"}]}))
    return layout


def energy_rank(values: np.ndarray, threshold: float) -> int:
    cumulative = np.cumsum(values**2)
    return int(np.searchsorted(cumulative, threshold * cumulative[-1])) + 1


def median_time(work, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return sorted(times)[repeats // 2]


def bench_seconds(bench: str, benchmark: str) -> float:
    command = [bench, f"--benchmark_filter={benchmark}", "--benchmark_format=json", "--benchmark_repetitions=3"]
    report = json.loads(subprocess.check_output(command, stderr=subprocess.DEVNULL))
    median = next(run for run in report["benchmarks"] if run.get("aggregate_name") == "median")
    return median["real_time"] * 1e-3


def compare_llama_heads(program: str, bench: str) -> None:
    heads, head_dim, width = 2, 128, 4096
    random = np.random.default_rng(1)
    q, k = (random.standard_normal((heads * head_dim, width), dtype=np.float32) for _ in range(2))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        layout = write_model(folder, q, k, heads)
        command = [program, "circuits", str(folder), "--layout", str(layout), "--circuit", "qk", "--format", "json"]
        rows = json.loads(subprocess.check_output(command))["rows"]
    ours = bench_seconds(bench, "layer_heads/width:4096/heads:32") / 32

    spent = 0.0
    for head in range(heads):
        rows_of_head = slice(head * head_dim, (head + 1) * head_dim)
        product = q[rows_of_head].T.astype(np.float64) @ k[rows_of_head].astype(np.float64)
        start = time.perf_counter()
        values = np.linalg.svd(product, compute_uv=False)
        spent += time.perf_counter() - start
        row = next(row for row in rows if row["head"] == head)
        assert abs(row["frobenius_norm"] / np.linalg.norm(product) - 1) < 1e-9, "another norm"
        for threshold, rank in row["energy_rank"].items():
            assert rank == energy_rank(values, float(threshold)), "another rank"
    theirs = spent / heads
    print(f"a head of Llama-3-8B's shape: attnscope, all figures of qk and ov, one thread {ours * 1e3:.1f} ms; "
          f"numpy.linalg.svd of the product, values alone {theirs * 1e3:.0f} ms; ratio {theirs / ours:.0f}")


def factored_values(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """FactoredMatrix.S for A = left.T, B = right: svd(A), svd(B), svd of S_A V_Aᵀ U_B S_B."""
    try:
        import torch
        from transformer_lens import FactoredMatrix
        return FactoredMatrix(torch.from_numpy(left.transpose(0, 2, 1).copy()), torch.from_numpy(right)).S.numpy()
    except ImportError:
        _, s_left, v_left = np.linalg.svd(left.transpose(0, 2, 1), full_matrices=False)
        u_right, s_right, _ = np.linalg.svd(right, full_matrices=False)
        middle = s_left[:, :, None] * (v_left @ u_right) * s_right[:, None, :]
        return np.linalg.svd(middle, full_matrices=False)[1]


def compare_gpt2_circuits(bench: str) -> None:
    circuits, head_dim, width = 144, 64, 768
    random = np.random.default_rng(2)
    left, right = (random.standard_normal((circuits, head_dim, width)).astype(np.float32) for _ in range(2))
    values = factored_values(left[:1], right[:1])[0]
    expected = np.linalg.svd(left[0].T.astype(np.float64) @ right[0], compute_uv=False)[:head_dim]
    assert np.allclose(values, expected, rtol=1e-4), "not the same values"
    theirs = median_time(lambda: factored_values(left, right), 5)
    ours = bench_seconds(bench, "gpt2_singular_values")
    print(f"144 qk circuits of GPT-2 small's shape: attnscope, float64 {ours * 1e3:.0f} ms; "
          f"FactoredMatrix.S, float32 {theirs * 1e3:.0f} ms; ratio {theirs / ours:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attnscope", default=str(RELEASE / "attnscope"))
    parser.add_argument("--bench", default=str(RELEASE / "benchmarks" / "circuits_bench"))
    arguments = parser.parse_args()
    compare_gpt2_circuits(arguments.bench)
    compare_llama_heads(arguments.attnscope, arguments.bench)


if __name__ == "__main__":
    main()
