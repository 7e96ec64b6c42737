#!/usr/bin/env python3
"""Write the expected results of `weights` and `similarity` for the tiny checkpoints, and NumPy's histograms of difficult values.

    python tools/golden_weights.py [--only CASE]
    python tools/golden_weights.py --trained FOLDER...    (the same for existing checkpoints)

tests/golden/weights/<case>.json, tests/golden/similarity/<case>.json and tests/golden/numpy/histograms.json come from
float64 NumPy on matrices observed in the transformers modules (see make_golden.py). A second run gives the same
bytes. Needs numpy, torch, transformers and safetensors, but tests do not.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from golden_checkpoints import CASES, Case, build, save
from observed_linear_maps import Layer, observe, whole_matrix
from make_golden import GOLDEN, load, shortened, trained_case

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
WEIGHT_BINS, WEIGHT_RANGE = 80, (-0.8, 0.8)
COSINE_BINS, COSINE_RANGE = 100, (-0.4, 0.4)
MOST_BINS_WRITTEN = 100
CLEAR = 1e-12  # cosines closer than this to a bin edge can be counted on either side


def stored(matrix: np.ndarray) -> np.ndarray:
    """Return the exact values of the file. Observing them through a bias can change the last float64 digit."""
    values = matrix.astype(np.float32).astype(np.float64)
    assert np.allclose(values, matrix, rtol=1e-9, atol=1e-12)
    return values


# ---- Distribution of weights --------------------------------------------------------------------------------------

def distribution(values: np.ndarray) -> dict:
    values = values.ravel()
    deviations = values - values.mean()
    variance = np.mean(deviations**2)
    return {
        "count": values.size,
        "moments": shortened([values.mean(), values.std(), values.min(), values.max(),
                              np.mean(deviations**3) / variance**1.5, np.mean(deviations**4) / variance**2 - 3]),
        "quantiles": shortened(np.quantile(values, QUANTILES)),
    }


def weight_histograms(values: np.ndarray) -> dict:
    values = values.ravel()
    fixed, _ = np.histogram(values, WEIGHT_BINS, WEIGHT_RANGE)
    outside = int(np.sum((values < WEIGHT_RANGE[0]) | (values > WEIGHT_RANGE[1])))
    fd, edges = np.histogram(values, "fd")
    return {"fixed": fixed.tolist(), "outside": outside, "fd": fd.tolist(),
            "fd_ends": [float(edges[0]), float(edges[-1])]}


def weight_rows(index: int, layer: Layer) -> list[dict]:
    rows = []
    for name in ("q", "k", "v", "o", *layer.mlp):
        whole = stored(whole_matrix(layer, name))
        place = {"layer": index, "matrix": name}
        rows.append(place | {"head": None} | distribution(whole) | weight_histograms(whole))
        rows += [place | {"head": head} | distribution(stored(part.matrix))
                 for head, part in enumerate(layer.heads.get(name, []))]
    return rows


# ---- Similarity ---------------------------------------------------------------------------------------------------

def cosines_of(matrix: np.ndarray) -> np.ndarray:
    units = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return units @ units.T


def clear_histogram(cosines: np.ndarray, bins, limits) -> dict:
    counts, edges = np.histogram(cosines, bins, limits)
    # If the range comes from the values, its ends are unambiguous.
    inner = edges[1:-1] if limits is None else edges
    unclear = inner.size > 0 and np.abs(cosines[:, None] - inner[None, :]).min() < CLEAR
    return {"counts": None if unclear else counts.tolist(), "ends": shortened([edges[0], edges[-1]])}


def scopes_of(matrix: np.ndarray, heads: int) -> list[dict]:
    cosines = cosines_of(matrix)
    owner = np.arange(len(matrix)) // (len(matrix) // heads)
    first, second = np.triu_indices(len(matrix), 1)
    same = owner[first] == owner[second]
    scopes = []
    for name, chosen in (("within_head", same), ("across_head", ~same), ("all", same | True)):
        values = cosines[first, second][chosen]
        row = {"scope": name, "pairs": int(values.size), "mean": None, "std": None, "fixed": None, "fd": None}
        if values.size:
            row |= {"mean": shortened([values.mean()])[0], "std": shortened([values.std()])[0],
                    "fixed": clear_histogram(values, COSINE_BINS, COSINE_RANGE),
                    "fd": clear_histogram(values, "fd", None)}
        scopes.append(row)
    return scopes


def overlap_of(matrix: np.ndarray, heads: int) -> list[list[float]]:
    """Return cos² of the principal angles, from the singular values of the product of two bases."""
    parts = np.split(matrix, heads)
    bases = [np.linalg.svd(part, full_matrices=False)[2] for part in parts]
    assert all(np.linalg.matrix_rank(part) == min(part.shape) for part in parts)
    return [shortened([np.sum(np.linalg.svd(a @ b.T, compute_uv=False)**2) / min(len(a), len(b)) for b in bases])
            for a in bases]


def similarity_rows(index: int, layer: Layer) -> list[dict]:
    rows = []
    for name in "qkv":
        matrix, heads = stored(whole_matrix(layer, name)), len(layer.heads[name])
        rows.append({"layer": index, "matrix": name, "scopes": scopes_of(matrix, heads),
                     "overlap": overlap_of(matrix, heads),
                     "last_row_of_head_0": shortened(cosines_of(np.split(matrix, heads)[0])[-1])})
    return rows


# ---- NumPy's bins --------------------------------------------------------------------------------------------------

def histogram_cases() -> list[dict]:
    generator = np.random.default_rng(5)
    normal = np.round(generator.standard_normal(200), 6)
    integers = generator.integers(-20, 21, 150).astype(float)
    values = {
        "one value": [3.25],
        "one zero": [0.0],
        "two values": [1.0, 2.0],
        "constant": [0.7] * 9,
        "no spread between quartiles": [0.0] * 9 + [1.0, -2.0],
        "three values": [0.1, 0.2, 0.3],
        "normal": normal.tolist(),
        "integers": integers.tolist(),
        "on the edges of ten bins": [index / 10 for index in range(11)] * 3,
        "multiples of 0.1 by addition": np.cumsum([0.1] * 30).tolist(),
        "far from zero": (1e6 + normal[:60]).tolist(),
        "tiny": (normal[:60] * 1e-300).tolist(),
        "huge": (normal[:60] * 1e300).tolist(),
        "one far away": normal[:60].tolist() + [1e4],
        "negative alone": (-np.abs(normal[:40])).tolist(),
        "signed zeros": [-0.0, 0.0, 0.0, -0.0, 1e-3, -1e-3, 2e-3],
    }
    rules = [("fd", None), (10, (-1.0, 1.0)), (7, (0.0, 1.0)), (80, (-0.8, 0.8)), ("fd", (-1.0, 1.0)), ("fd", (5.0, 6.0))]
    cases = []
    for name, data in values.items():
        data = np.array(data)
        for bins, limits in rules:
            try:
                counts, edges = np.histogram(data, bins, limits)
            except (ValueError, MemoryError):
                continue  # NumPy fails: too many bins for memory or float64
            if len(counts) <= MOST_BINS_WRITTEN:
                cases.append({"name": name, "bins": bins, "range": limits, "edges": edges.tolist(),
                              "counts": counts.tolist()})
    return [{"name": name, "values": data, "quantiles": np.quantile(data, QUANTILES).tolist(),
             "histograms": [{key: value for key, value in case.items() if key != "name"}
                            for case in cases if case["name"] == name]}
            for name, data in values.items()]


# ---- Files ----------------------------------------------------------------------------------------------------------

def write(folder: str, name: str, rows: list[dict]) -> None:
    path = GOLDEN / folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "]\n")
    assert folder == "numpy" or path.stat().st_size < 200_000, f"{path} is too large"


def make(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        # Save the model again, because some of tests/data is in formats that transformers no longer reads.
        path = Path(folder) / case.name
        save(case, build(case), path)
        write_layers(case.name, observe(load(case, path)))


def write_layers(name: str, layers: list[Layer]) -> None:
    write("weights", name, [row for index, layer in enumerate(layers) for row in weight_rows(index, layer)])
    write("similarity", name, [row for index, layer in enumerate(layers) for row in similarity_rows(index, layer)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="CASE", choices=[case.name for case in CASES])
    parser.add_argument("--trained", metavar="FOLDER", nargs="+", type=Path)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for folder in arguments.trained or []:
        with torch.no_grad():
            write_layers("trained/" + folder.name, observe(load(trained_case(folder), folder)))
    if arguments.trained:
        return
    write("numpy", "histograms", histogram_cases())
    for case in CASES:
        if arguments.only in (None, case.name):
            make(case)
            print(case.name)


if __name__ == "__main__":
    main()
