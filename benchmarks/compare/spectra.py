#!/usr/bin/env python3
"""Time attnscope's spectra against PyTorch and OpenBLAS on the same files, in one run.

    python benchmarks/compare/spectra.py [--only CASE] [--threads 2] [--repeats 3]

attnscope is timed as a whole process, from start to exit, including opening, reading and printing. For PyTorch and
OpenBLAS, only the decompositions are timed, in a process that keeps running. Importing and loading are not, which favors
them. Runs alternate, and results are medians. Before anything is timed, attnscope's singular values and energy ranks
are checked against NumPy's float64 SVD.

Models are made by tools/make_synthetic.py. They (4.5 GB), the answers and the results are kept in build/compare.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from common import (RELEASE, Reference, Results, alternating_medians, bench_seconds, check_row, command_rows,
                    command_seconds, kept_values, median, read_tensors, synthetic_model)

LLAMA = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj",
         "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"}
# Kernels of a machine without AVX-512, on all sides.
WITHOUT_AVX512 = {"ATTNSCOPE_KERNELS": "avx2", "OPENBLAS_CORETYPE": "Haswell", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                  "ATEN_CPU_CAPABILITY": "avx2"}
WITHOUT_KERNELS = {"ATTNSCOPE_KERNELS": "none"}


class Bench:
    """Settings that every case needs."""

    def __init__(self, arguments):
        self.program = str(arguments.attnscope)
        self.small_matrices = arguments.small_matrices
        self.threads, self.repeats = arguments.threads, arguments.repeats
        self.results = Results()

    def spectrum(self, folder: Path, *options: str) -> list[str]:
        return [self.program, "spectrum", str(folder), "--quiet", "--threads", str(self.threads), *options]

    def reference(self, environment: dict[str, str] = {}) -> Reference:
        return Reference(self.threads, environment)


def llama() -> Path:
    return synthetic_model("llama-3-8b", "--model", "llama-3-8b", "--layers", "8")


def llama_tensors(matrices: str) -> list[str]:
    return [f"model.layers.0.{LLAMA[matrix]}.weight" for matrix in matrices.split(",")]


def check_llama(bench: Bench, matrices: str, environment: dict[str, str] = {}) -> None:
    rows = command_rows(bench.spectrum(llama(), "--layers", "0", "--matrix", matrices, "--values"), environment)
    for row, tensor in zip(rows, llama_tensors(matrices), strict=True):
        check_row(row, kept_values(f"llama-3-8b-{row['matrix']}", lambda: read_tensors(llama(), [tensor])[0]))


def compare_llama(bench: Bench, case: str, matrices: str, targets: dict[str, float], environment={}) -> None:
    """Compare with functions of reference.py. `targets`: by how many times attnscope must be faster."""
    check_llama(bench, matrices, environment)
    command = bench.spectrum(llama(), "--layers", "0", "--matrix", matrices)
    tensors = llama_tensors(matrices)
    with bench.reference(environment) as reference:
        def runner(function):
            # The reference is always one sgesdd of 4096 x 4096.
            own = tensors[:1] if function == "sgesdd" else tensors
            return lambda: reference.seconds(function, folder=str(llama()), tensors=own)
        sides = {"attnscope": lambda: command_seconds(command, environment)}
        sides |= {function: runner(function) for function in targets}
        times = alternating_medians(sides, bench.repeats)
    names = {"sgesdd": "one sgesdd 4096 x 4096", "svdvals": "torch svdvals float32",
             "svd": "torch svd(full_matrices=False)"}
    for function, least in targets.items():
        bench.results.add_ratio(case, (f"spectrum {matrices}", times["attnscope"]), (names[function], times[function]),
                                least)


def llama_attention(bench: Bench) -> None:
    compare_llama(bench, "Llama-3-8B, one layer", "q,k,v,o", {"sgesdd": 1 / 0.46, "svdvals": 5, "svd": 8})


def llama_attention_avx2(bench: Bench) -> None:
    compare_llama(bench, "the same without AVX-512", "q,k,v,o", {"svdvals": 4}, WITHOUT_AVX512)


def llama_query_plain(bench: Bench) -> None:
    compare_llama(bench, "Llama-3-8B, W_Q, kernels off", "q", {"sgesdd": 1}, WITHOUT_KERNELS)


def llama_mlp(bench: Bench) -> None:
    compare_llama(bench, "Llama-3-8B, the MLP of one layer", "gate,up,down", {"svdvals": 2.8})


def llama_memory(bench: Bench) -> None:
    """Measure the peak memory without the mapped file: anonymous pages, sampled during the run."""
    process = subprocess.Popen(bench.spectrum(llama(), "--layers", "0", "--matrix", "q,k,v,o"),
                               stdout=subprocess.DEVNULL)
    most_kib = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            most_kib = max(most_kib, *(int(line.split()[1]) for line in status.splitlines()
                                       if line.startswith("RssAnon")))
        except (OSError, TypeError):  # the process has ended
            break
        time.sleep(0.002)
    assert process.wait() == 0
    bench.results.add_limit("Llama-3-8B, one layer: memory beyond the file, GiB", "spectrum q,k,v,o",
                            f"{bench.threads} threads", most_kib / 2**20, 1.2)


def llama_layers(bench: Bench) -> None:
    """Compare the seconds per layer for 2, 4 and 8 layers: the largest divided by the smallest."""
    counts = (2, 4, 8)
    commands = {count: bench.spectrum(llama(), "--layers", f"0-{count - 1}", "--matrix", "q,k,v,o")
                for count in counts}
    times = alternating_medians({count: lambda count=count: command_seconds(commands[count]) for count in counts},
                                bench.repeats)
    per_layer = [times[count] / count for count in counts]
    shown = ", ".join(f"{seconds:.3g}" for seconds in per_layer)
    bench.results.add_limit("Llama-3-8B, time in proportion to layers", "spectrum q,k,v,o of 2, 4, 8 layers",
                            f"{shown} s per layer", max(per_layer) / min(per_layer), 1.15)


def bert(bench: Bench) -> None:
    folder = synthetic_model("bert-base", "--model", "bert-base")
    options = ("--matrix", "q,k,v,o,qk,ov", "--per-head", "--energy", "0.99")
    check_bert(bench, folder, options)
    with bench.reference() as reference:
        times = alternating_medians({
            "attnscope": lambda: command_seconds(bench.spectrum(folder, *options)),
            "torch": lambda: reference.seconds("bert_layers", folder=str(folder), layers=12, heads=12),
        }, bench.repeats)
    bench.results.add_ratio("BERT-base, 12 layers, whole and per head", ("spectrum q,k,v,o,qk,ov --per-head",
                            times["attnscope"]), ("torch svdvals in a notebook", times["torch"]), 15)


def check_bert(bench: Bench, folder: Path, options: tuple[str, ...]) -> None:
    """Check the whole matrices and two heads of one layer."""
    rows = {(row["matrix"], row["head"]): row
            for row in command_rows(bench.spectrum(folder, *options, "--layers", "3", "--values"))}
    names = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    q, k, v, o = (tensor.astype(float) for tensor in
                  read_tensors(folder, [f"encoder.layer.3.{name}.weight" for name in names]))
    for head in (None, 0, 11):
        own = slice(None) if head is None else slice(64 * head, 64 * head + 64)
        expected = {"q": q[own], "k": k[own], "v": v[own], "o": o[:, own], "qk": q[own].T @ k[own],
                    "ov": o[:, own] @ v[own]}
        for matrix, values in expected.items():
            check_row(rows[matrix, head], kept_values(f"bert-base-3-{matrix}-{head}", lambda: values))


def gpt2_xl(bench: Bench) -> None:
    folder = synthetic_model("gpt2-xl", "--model", "gpt2-xl", "--layers", "2")
    matrices = "q,k,v,o,up,down"
    rows = command_rows(bench.spectrum(folder, "--layers", "0", "--matrix", matrices, "--values"))
    attention, output, up, down = read_tensors(folder, [
        "h.0.attn.c_attn.weight", "h.0.attn.c_proj.weight", "h.0.mlp.c_fc.weight", "h.0.mlp.c_proj.weight"])
    expected = dict(zip("qkv", (attention[:, at : at + 1600] for at in (0, 1600, 3200)))) | {
        "o": output, "up": up, "down": down}
    for row in rows:
        check_row(row, kept_values(f"gpt2-xl-{row['matrix']}", lambda: expected[row["matrix"]]))
    command = bench.spectrum(folder, "--layers", "0", "--matrix", matrices)
    with bench.reference() as reference:
        times = alternating_medians({
            "attnscope": lambda: command_seconds(command),
            "torch": lambda: reference.seconds("gpt2_layer", folder=str(folder)),
        }, bench.repeats)
    bench.results.add_ratio("GPT-2 XL, one layer", (f"spectrum {matrices}", times["attnscope"]),
                            ("torch svdvals float32", times["torch"]))


def attention_maps(bench: Bench) -> None:
    if not bench.small_matrices.exists():
        print(f"skipping attention_maps: {bench.small_matrices} not found", file=sys.stderr)
        return
    ours = bench_seconds(bench.small_matrices, "attention_maps/size:100/count:14400")
    with bench.reference() as reference:
        times = [reference.seconds("attention_maps", count=14400, size=100) for _ in range(bench.repeats)]
    bench.results.add_ratio("14,400 attention maps of 100 x 100", ("batched_singular_values_bench", ours),
                            ("torch svdvals float64, one batch", median(times)), 20)


def start(bench: Bench) -> None:
    """Compare a run on a model of 260 thousand parameters with the startup time of a Python program."""
    folder = synthetic_model("llama-260k", "--width", "64", "--layers", "5", "--heads", "8", "--kv-heads", "4",
                             "--head-dim", "8", "--mlp-width", "172", "--vocabulary", "512", "--dtype", "f32")
    times = alternating_medians({
        "attnscope": lambda: command_seconds([bench.program, "spectrum", str(folder)]),
        "torch": lambda: command_seconds([sys.executable, "-c", "import torch"]),
    }, max(bench.repeats, 5))
    bench.results.add_ratio("start to exit, 5 layers of width 64", ("spectrum", times["attnscope"]),
                            ('python -c "import torch"', times["torch"]))
    bench.results.add_limit("the same, ms", "spectrum", "", times["attnscope"] * 1e3, 60)


CASES = {case.__name__: case for case in (
    start, llama_attention, llama_attention_avx2, llama_query_plain, llama_mlp, llama_memory, llama_layers, bert,
    gpt2_xl, attention_maps)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attnscope", type=Path, default=RELEASE / "attnscope")
    parser.add_argument("--small-matrices", type=Path, default=RELEASE / "benchmarks" / "batched_singular_values_bench",
                        help="Google Benchmark of attention maps")
    parser.add_argument("--only", action="append", choices=CASES, help="run only this case (repeatable)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every side")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    bench = Bench(arguments)
    for name in arguments.only or CASES:
        CASES[name](bench)
    bench.results.finish("spectra")


if __name__ == "__main__":
    main()
