"""Shared code of the comparisons: models, tensors, alternating runs, and the table of results."""

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
    """Return a folder made by tools/make_synthetic.py. Make it only once per set of options."""
    folder = WORK / name
    stamp = folder / "options.json"
    if not stamp.exists() or json.loads(stamp.read_text()) != list(options):
        print(f"making {folder.relative_to(ROOT)}", file=sys.stderr)
        subprocess.run([sys.executable, str(ROOT / "tools" / "make_synthetic.py"), str(folder), *options], check=True)
        stamp.write_text(json.dumps(options))
    return folder


def read_tensors(folder: Path, names: list[str]) -> list[np.ndarray]:
    """Read tensors of a model.safetensors exactly, as float32."""
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
    """Write float32 tensors."""
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
    """Return cached float64 singular values. NumPy needs up to a minute to compute them."""
    path = WORK / "answers" / f"{key}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.linalg.svd(make().astype(np.float64), compute_uv=False))
    return np.load(path)


def check_row(row: dict, expected: np.ndarray) -> None:
    """Check a row of `spectrum --values`: values within 1e-6 of the largest, and equal energy ranks."""
    found = np.array(row["singular_values"])
    place = f"layer {row['layer']}, {row['matrix']}, head {row['head']}"
    assert len(found) <= len(expected), f"{place}: too many values"
    error = max(np.abs(found - expected[: len(found)]).max(), expected[len(found) :].max(initial=0)) / expected[0]
    assert error <= 1e-6, f"{place}: a value differs by {error:.1e} × the largest"
    for threshold, rank in row["energy_rank"].items():
        assert rank == energy_rank(expected, float(threshold)), f"{place}: different energy rank at {threshold}"


# ---- Runs ---------------------------------------------------------------------------------------

def command_seconds(command: list[str], environment: dict[str, str] = {}) -> float:
    """Time a whole process, from start to exit."""
    start = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env={**os.environ, **environment})
    return time.monotonic() - start


def command_rows(command: list[str], environment: dict[str, str] = {}) -> list[dict]:
    output = subprocess.check_output([*command, "--format", "json"], env={**os.environ, **environment})
    return json.loads(output)["rows"]


def bench_seconds(bench: Path, benchmark: str) -> float:
    """Return the median of a Google Benchmark."""
    command = [str(bench), f"--benchmark_filter={benchmark}", "--benchmark_format=json", "--benchmark_repetitions=3"]
    report = json.loads(subprocess.check_output(command, stderr=subprocess.DEVNULL))
    median = next(run for run in report["benchmarks"] if run.get("aggregate_name") == "median")
    return median["real_time"] * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[median["time_unit"]]


class Reference:
    """PyTorch and OpenBLAS in a separate process (reference.py), which has the environment from its start.

    Calls return the seconds of the computation only: starting, importing and loading are not counted.
    """

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
    """Return the median seconds of each side. Runs alternate, so that other load affects all sides equally."""
    times = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            times[name].append(run())
    return {name: median(seconds) for name, seconds in times.items()}


# ---- Results ------------------------------------------------------------------------------------

@dataclass
class Row:
    case: str
    ours: str      # what was measured, and the result
    theirs: str    # the reference, and its result
    value: float   # the ratio, or another result
    target: str    # empty: none
    passed: bool | None = None


@dataclass
class Results:
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self):
        load = os.getloadavg()[0]
        if load > 0.5:  # spinning threads lose most: PyTorch's become three times slower
            print(f"warning: this machine is busy (load {load:.1f}); the ratios are unreliable", file=sys.stderr)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print(f"{row.case}: {row.ours}; {row.theirs}; {row.value:.3g} {row.target} {verdict(row)}", file=sys.stderr)

    def add_ratio(self, case: str, ours: tuple[str, float], theirs: tuple[str, float],
                  least: float | None = None) -> None:
        """Add how many times faster ours is. `least`: the minimum required."""
        ratio = theirs[1] / ours[1]
        target, passed = ("", None) if least is None else (f">= {least:.3g}", ratio >= least)
        texts = (f"{name} {duration(seconds)}" for name, seconds in (ours, theirs))
        self.add(Row(case, *texts, ratio, target, passed))

    def add_limit(self, case: str, ours: str, theirs: str, value: float, most: float) -> None:
        self.add(Row(case, ours, theirs, value, f"<= {most:.3g}", value <= most))

    def finish(self, name: str) -> None:
        """Print the table, and save it as JSON and Markdown in build/compare."""
        WORK.mkdir(parents=True, exist_ok=True)
        lines = ["| case | attnscope | reference | ratio or result | target | |", "|---|---|---|---|---|---|"]
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
