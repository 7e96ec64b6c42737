"""Test of the package in an environment with only pip and NumPy."""

import importlib.metadata
import pathlib

import numpy as np

import attnscope as asc

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OURS = {"attnscope", "numpy", "pip", "setuptools"}


def main() -> None:
    assert ROOT not in pathlib.Path(asc.__file__).parents or "site-packages" in asc.__file__
    packages = {found.metadata["Name"].lower() for found in importlib.metadata.distributions()}
    assert packages <= OURS, packages - OURS
    model = asc.open(ROOT / "examples/shakespeare-gpt2")
    table = model.spectrum(matrix=["q", "k"], per_head=True)
    assert len(table) == 6 * 2 * 7
    assert model.predict("To be, or not to be")[0]["probability"] > 0
    assert len(model.report(layers=0)) > 100_000
    assert table.charts
    norm = float(np.linalg.norm(np.diag([3.0, 4.0])))
    assert asc.spectrum(np.diag([3.0, 4.0]))["frobenius_norm"][0] == norm
    files = importlib.metadata.files("attnscope") or []
    assert any(file.name == "THIRD_PARTY_LICENSES.txt" for file in files)


if __name__ == "__main__":
    main()
