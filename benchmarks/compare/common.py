"""What the comparisons share: models and their tensors, runs that alternate, and the table of results."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
RELEASE = ROOT / "build" / "release"
WORK = ROOT / "build" / "compare"  # models, answers and results, kept between runs
DTYPES = {"F32": np.float32, "BF16": np.uint16}


# ---- Models and their numbers -------------------------------------------------------------------

def synthetic_model(name: str, *options: str) -> Path:
    """A folder made by tools/make_synthetic.py, once for each set of options."""
    folder = WORK / name
    stamp = folder / "options.json"
    if not stamp.exists() or json.loads(stamp.read_text()) != list(options):
        print(f"making {folder.relative_to(ROOT)}", file=sys.stderr)
        subprocess.run([sys.executable, str(ROOT / "tools" / "make_synthetic.py"), str(folder), *options], check=True)
        stamp.write_text(json.dumps(options))
    return folder


def read_tensors(folder: Path, names: list[str]) -> list[np.ndarray]:
    """Tensors of a model.safetensors as they are stored, exact in float32."""
    path = folder / "model.safetensors"
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    tensors = []
    for name in names:
        entry = header[name]
        at = 8 + length + entry["data_offsets"][0]
        stored = np.memmap(path, DTYPES[entry["dtype"]], "r", at, tuple(entry["shape"]))
        if entry["dtype"] == "BF16":
            tensors.append((stored.astype(np.uint32) << 16).view(np.float32))
        else:
            tensors.append(np.array(stored))
    return tensors


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Tensors of float32."""
    header, at = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in tensors.values():
            file.write(values.tobytes())


def energy_rank(values: np.ndarray, threshold: float) -> int:
    cumulative = np.cumsum(values**2)
    return int(np.searchsorted(cumulative, threshold * cumulative[-1])) + 1


def kept_values(key: str, make) -> np.ndarray:
    """Singular values in float64, computed once: they take NumPy up to a minute."""
    path = WORK / "answers" / f"{key}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.linalg.svd(make().astype(np.float64), compute_uv=False))
    return np.load(path)


def check_row(row: dict, expected: np.ndarray) -> None:
    """A row of `spectrum --values`: the same values within 1e-6 of the largest, and the same energy ranks."""
    found = np.array(row["singular_values"])
    place = f"layer {row['layer']}, {row['matrix']}, head {row['head']}"
    assert len(found) <= len(expected), f"{place}: too many values"
    error = max(np.abs(found - expected[: len(found)]).max(), expected[len(found) :].max(initial=0)) / expected[0]
    assert error <= 1e-6, f"{place}: a value is off by {error:.1e} of the largest"
    for threshold, rank in row["energy_rank"].items():
        assert rank == energy_rank(expected, float(threshold)), f"{place}: another energy rank at {threshold}"


# ---- Runs ---------------------------------------------------------------------------------------

def command_seconds(command: list[str], environment: dict[str, str] = {}) -> float:
    """A whole process, from its start to its exit."""
    start = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env={**os.environ, **environment})
    return time.monotonic() - start


def command_rows(command: list[str], environment: dict[str, str] = {}) -> list[dict]:
    output = subprocess.check_output([*command, "--format", "json"], env={**os.environ, **environment})
    return json.loads(output)["rows"]


def bench_seconds(bench: Path, benchmark: str) -> float:
    """The median of a Google Benchmark."""
    command = [str(bench), f"--benchmark_filter={benchmark}", "--benchmark_format=json", "--benchmark_repetitions=3"]
    report = json.loads(subprocess.check_output(command, stderr=subprocess.DEVNULL))
    median = next(run for run in report["benchmarks"] if run.get("aggregate_name") == "median")
    return median["real_time"] * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[median["time_unit"]]


class Reference:
    """PyTorch and OpenBLAS in a process of their own (reference.py), so that each sees its environment from the start.
    Calls give the seconds of the decompositions alone: starting, importing and loading are not counted."""

    def __init__(self, threads: int, environment: dict[str, str] = {}):
        counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("reference.py"))], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env={**os.environ, **counts, **environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def call(self, function: str, **arguments) -> dict:
        self.process.stdin.write(json.dumps({"function": function, **arguments}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"{function} failed"
        return json.loads(answer)

    def seconds(self, function: str, **arguments) -> float:
        return self.call(function, **arguments)["seconds"]


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def alternating_medians(sides: dict, repeats: int) -> dict[str, float]:
    """The median seconds of each side; they take turns, so that what else the machine does falls on all."""
    times = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            times[name].append(run())
    return {name: median(seconds) for name, seconds in times.items()}


# ---- Results ------------------------------------------------------------------------------------

@dataclass
class Row:
    case: str
    ours: str      # what was measured, with its figure
    theirs: str    # beside what, with its figure
    value: float   # the ratio, or another figure
    target: str    # empty: none
    passed: bool | None = None


@dataclass
class Results:
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self):
        load = os.getloadavg()[0]
        if load > 0.5:  # threads that wait for each other by spinning lose most: PyTorch's, three times over
            print(f"warning: this machine is busy (load {load:.1f}); the ratios will mean little", file=sys.stderr)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print(f"{row.case}: {row.ours}; {row.theirs}; {row.value:.3g} {row.target} {verdict(row)}", file=sys.stderr)

    def add_ratio(self, case: str, ours: tuple[str, float], theirs: tuple[str, float],
                  least: float | None = None) -> None:
        """How many times faster ours is, and should be at least."""
        ratio = theirs[1] / ours[1]
        target, passed = ("", None) if least is None else (f">= {least:.3g}", ratio >= least)
        texts = (f"{name} {duration(seconds)}" for name, seconds in (ours, theirs))
        self.add(Row(case, *texts, ratio, target, passed))

    def add_limit(self, case: str, ours: str, theirs: str, value: float, most: float) -> None:
        self.add(Row(case, ours, theirs, value, f"<= {most:.3g}", value <= most))

    def finish(self, name: str) -> None:
        """Prints the table and leaves it as JSON and Markdown in build/compare."""
        WORK.mkdir(parents=True, exist_ok=True)
        lines = ["| case | attnscope | beside | ratio or figure | target | |", "|---|---|---|---|---|---|"]
        for row in self.rows:
            lines.append(f"| {row.case} | {row.ours} | {row.theirs} | {row.value:.3g} | {row.target} | {verdict(row)} |")
        text = "\n".join(lines) + "\n"
        (WORK / f"{name}.md").write_text(text)
        (WORK / f"{name}.json").write_text(json.dumps([asdict(row) for row in self.rows], indent=1) + "\n")
        print(text, end="")


def verdict(row: Row) -> str:
    return {None: "", True: "pass", False: "MISSED"}[row.passed]


def duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
