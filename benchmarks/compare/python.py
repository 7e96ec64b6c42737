#!/usr/bin/env python3
"""Time attnscope.spectrum(array) against the library's benchmark of the same matrix, and time the import.

    python benchmarks/compare/python.py [--repeats 5]

Needs a Python with the package (./dev wheel puts it into build/packages). Both sides use one thread, and runs alternate. Results
are medians. The singular values are first checked against NumPy's.
"""

import argparse
import subprocess
import sys
import time

import numpy as np
from common import RELEASE, Results, alternating_medians, bench_seconds, duration, median

import attnscope as asc

SIZES = ((768, 768), (2048, 2048))
IMPORT_SECONDS = 0.08  # upper limit, in addition to NumPy's import: unnoticeable in a short script
IMPORT = "import time, numpy; start = time.perf_counter(); import attnscope; print(time.perf_counter() - start)"


def python_seconds(array):
    times = []
    until = time.monotonic() + 1
    while time.monotonic() < until or len(times) < 5:
        start = time.perf_counter()
        asc.spectrum(array, threads=1)
        times.append(time.perf_counter() - start)
    return median(times)


def import_seconds(repeats):
    return median([float(subprocess.check_output([sys.executable, "-c", IMPORT])) for _ in range(repeats)])


def check(array):
    found = asc.spectrum(array, values=True)["singular_values"][0]
    expected = np.linalg.svd(array.astype(np.float64), compute_uv=False)
    assert np.abs(found - expected).max() <= 1e-6 * expected[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    results = Results()
    for rows, cols in SIZES:
        array = np.random.default_rng(1).standard_normal((rows, cols), dtype=np.float32)
        check(array)
        seconds = alternating_medians({
            "python": lambda: python_seconds(array),
            "library": lambda: bench_seconds(RELEASE / "benchmarks/singular_values_bench",
                                             f"weight/rows:{rows}/cols:{cols}/"),
        }, repeats)
        results.add_limit(f"an array of {rows} x {cols}", f"asc.spectrum {duration(seconds['python'])}",
                          f"singular_values_bench {duration(seconds['library'])}",
                          seconds["python"] / seconds["library"], 1.05)
    seconds = import_seconds(4 * repeats)
    results.add_limit("import attnscope", duration(seconds), "after import numpy", seconds, IMPORT_SECONDS)
    results.finish("python")


if __name__ == "__main__":
    main()
