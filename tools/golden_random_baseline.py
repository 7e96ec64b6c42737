#!/usr/bin/env python3
"""Write tests/golden/random_baseline/curves.json (spectra of random matrices) and tests/golden/kv/<case>.json (W_K stacked on W_V).

    python tools/golden_random_baseline.py [--only CASE]

Has the same requirements as make_golden.py, whose tiny checkpoints must exist. A second run gives the same bytes.

The random baseline is computed differently than in attnscope. The Marchenko–Pastur density is summed over a fine grid, and the density
of a product comes from the roots of its cubic. Both are checked against singular values of random matrices.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from golden_checkpoints import CASES, build, save
from observed_linear_maps import observe, whole_matrix
from make_golden import DATA, GOLDEN, as_text, energy_rank, load, row, shortened

THRESHOLDS = (0.3, 0.6, 0.8, 0.9, 0.99)
GRID = 400_000
DRAWS = 40


# ---- Random matrices ------------------------------------------------------------------------------------------------

def shares(values: np.ndarray, density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return cumulative shares of the count and of the energy, from the largest value, by the midpoint rule."""
    count, energy = np.cumsum(density), np.cumsum(values * density)
    return count / count[-1], energy / energy[-1]


def midpoints(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points from `high` to `low` and their widths. They are dense at both ends, where densities have roots or poles."""
    edges = low + (high - low) * ((1 + np.cos(np.linspace(0, np.pi, GRID + 1))) / 2)**2
    return (edges[:-1] + edges[1:]) / 2, edges[:-1] - edges[1:]


def matrix_curve(rows: int, cols: int) -> tuple[np.ndarray, np.ndarray]:
    ratio = min(rows, cols) / max(rows, cols)
    low, high = (1 - np.sqrt(ratio))**2, (1 + np.sqrt(ratio))**2
    values, widths = midpoints(low, high)
    return shares(values, np.sqrt((high - values) * (values - low)) / values * widths)


def product_curve(inner: int, rows: int, cols: int) -> tuple[np.ndarray, np.ndarray]:
    """Solve λ z = (1 + z)(1 + α z)(1 + β z) by Cardano's formula, for the complex pair of roots that exists inside the support."""
    a, b = inner / rows, inner / cols
    cubic = np.array([a * b, a * b + a + b, 1 + a + b, 1])  # to be subtracted: λ z
    # At the edges of the support, λ(z) is stationary.
    stationary = np.roots([2 * a * b, a * b + a + b, 0, -1])
    edges = sorted(np.polyval(cubic, z).real / z.real for z in stationary if abs(z.imag) < 1e-6)
    values, widths = midpoints(max(edges[0], 0), edges[-1])
    second, first = cubic[1] / cubic[0], (cubic[2] - values) / cubic[0]
    p, q = first - second**2 / 3, 2 * second**3 / 27 - second * first / 3 + 1 / cubic[0]
    root = np.sqrt(np.maximum((q / 2)**2 + (p / 3)**3, 0))
    imaginary = np.sqrt(3) / 2 * np.abs(np.cbrt(-q / 2 + root) - np.cbrt(-q / 2 - root))
    return shares(values, imaginary / values * widths)


def drawn(rows: int, cols: int, inner: int | None) -> np.ndarray:
    """Return the mean share of the energy in the largest r of k singular values, r = 1 … k."""
    random = np.random.default_rng(rows * 1_000_003 + cols * 1009 + (inner or 0))
    possible = min(rows, cols, inner or rows)
    total = np.zeros(possible)
    for _ in range(DRAWS):
        if inner is None:
            matrix = random.standard_normal((rows, cols))
        else:
            matrix = random.standard_normal((inner, rows)).T @ random.standard_normal((inner, cols))
        energy = np.linalg.svd(matrix, compute_uv=False)[:possible]**2
        total += np.cumsum(energy) / energy.sum()
    return total / DRAWS


def null_row(rows: int, cols: int, inner: int | None = None) -> dict:
    count, energy = matrix_curve(rows, cols) if inner is None else product_curve(inner, rows, cols)
    possible = min(rows, cols, inner or rows)
    quarters = sorted({max(1, possible * part // 4) for part in (1, 2, 3)})
    result = {
        "shape": [rows, cols],
        "inner": inner,
        "rank_share": {str(t): float(f"{np.interp(t, energy, count):.9g}") for t in THRESHOLDS},
        "energy_at": {str(r): float(f"{np.interp(r / possible, count, energy):.9g}") for r in quarters},
        "drawn_energy_at": None,
    }
    if max(rows, cols) <= 400:
        mean = drawn(rows, cols, inner)
        result["drawn_energy_at"] = {str(r): float(f"{mean[r - 1]:.6g}") for r in quarters}
    return result


def null_golden() -> dict:
    matrices = [(4096, 4096), (2048, 4096), (4096, 14336), (1024, 4096), (512, 4096), (64, 768), (768, 64), (128, 4096),
                (64, 64), (40, 200), (300, 200), (32, 96), (16, 16), (8, 64)]
    products = [(768, 768, 64), (4096, 4096, 128), (4096, 4096, 1024), (192, 192, 32), (100, 100, 100), (100, 100, 50),
                (100, 100, 250), (64, 64, 16), (48, 48, 64), (400, 240, 100), (24576, 7168, 1536), (40, 300, 96), (192, 7168, 1536)]
    return {"made_with": {"numpy": np.__version__, "draws": DRAWS},
            "nulls": [null_row(*shape) for shape in matrices] + [null_row(*shape) for shape in products]}


# ---- W_K stacked on W_V ---------------------------------------------------------------------------------------------

def stacked_row(layer: int, head: int | None, matrix: np.ndarray) -> dict:
    values = np.linalg.svd(matrix, compute_uv=False)
    cumulative = np.cumsum(values**2) / np.sum(values**2)
    ranks = [1, round(0.1 * matrix.shape[1]), len(values)]
    return row(layer, "kv", head, {
        "shape": list(matrix.shape),
        "energy_rank": {str(t): energy_rank(cumulative, t) for t in (0.9, 0.99)},
        "energy_at_rank": shortened(np.array([cumulative[max(rank, 1) - 1] for rank in ranks])),
        "frobenius_norm": float(np.linalg.norm(matrix)),
        "singular_values": shortened(values),
    })


def loaded(case) -> torch.nn.Module:
    """Load a case from tests/data. If transformers cannot read its files back, make readable ones."""
    if case.loads_back:
        return load(case, DATA / case.name)
    with tempfile.TemporaryDirectory() as folder:
        save(case, build(case), Path(folder))
        return load(case, Path(folder))


def stacked_golden(case) -> dict:
    with torch.no_grad():
        layers = observe(loaded(case))
    rows = []
    for index, layer in enumerate(layers):
        rows.append(stacked_row(index, None, np.vstack([whole_matrix(layer, "k"), whole_matrix(layer, "v")])))
        rows += [stacked_row(index, head, np.vstack([key.matrix, value.matrix]))
                 for head, (key, value) in enumerate(zip(layer.heads["k"], layer.heads["v"]))]
    return {"rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="CASE", choices=[case.name for case in CASES])
    only = parser.parse_args().only
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for name in ("random_baseline", "kv"):
        (GOLDEN / name).mkdir(parents=True, exist_ok=True)
    if only is None:
        (GOLDEN / "random_baseline" / "curves.json").write_text(as_text(null_golden()))
    for case in CASES:
        if only in (None, case.name):
            (GOLDEN / "kv" / f"{case.name}.json").write_text(as_text(stacked_golden(case)))
            print(case.name)


if __name__ == "__main__":
    main()
