"""Calls with values of NumPy, sets and other types that run. test_types.py checks them with mypy, and runs them."""

import pathlib
from collections.abc import Iterator

import numpy as np

import attnscope as asc

TEXT = "To be, or not to be"


def accepted(path: str, folder: pathlib.Path) -> Iterator[asc.Table]:
    """Yield the tables of calls that mypy accepts."""
    model = asc.open(pathlib.Path(path))
    yield model.spectrum({"q", "k"}, layers={0, 3}, energy=np.linspace(0.5, 0.9, 3), rank=np.array([2, 4]))
    yield model.spectrum(("q", "W_K"), layers=np.arange(0, 6, 2), threads=np.int64(1), energy=np.float32(0.5))
    yield model.spectrum(np.array(["q", "k"]), layers=np.int32(1), energy={0.5, 0.9}, rank={2, "0.1D"})
    yield asc.spectrum(np.eye(3, dtype=np.float32), values=True)
    yield asc.spectrum([[1.0, 2.0], [3.0, 4.0]])
    yield asc.spectrum([model, path], matrix=frozenset({"q"}), layers=slice(0, 2))
    for name in ("q", "W_K"):
        yield model.matrix(name, layer=np.int64(0), head=np.int64(1))
    for layer in np.arange(2):
        yield model.weights("q", layers=layer, histogram=True, bins=np.int16(8), range=np.array([-1, 1]))
    yield model.similarity("q", head_matrix=np.array([0, 1]))
    yield model.similarity(["q"], histogram=True, bins=4, range=[-1, 1])
    yield model.attention([TEXT, TEXT], layers=[0, range(1, 3)], heatmap=None)
    yield model.attention(np.array([TEXT, TEXT]), layers=range(2))
    yield model.attention(TEXT, heatmap=[0, 1])
    yield model.attention(tokens=np.arange(12).reshape(2, 6), layers=[np.int64(0), -1])
    yield model.attention(tokens={"a": 1}.values(), layers=0)
    yield asc.attention(np.full((2, 3, 4, 4), 0.25))
    yield model.predict(tokens=range(5), top=np.uint8(2))
    yield model.lens(TEXT, score_positions=np.array([2, 3]))
    yield model.ablate(TEXT, layers={0}, score_positions=range(1, 3))
    yield model.directions("ov", layers=0, head=np.int64(0), top=2)
    yield model.diff(path, matrix={"q"}, layers=0)
    table = model.spectrum("q", per_head=True)
    table.to_csv(folder / "rows.csv")
    first: asc.Table = table.filter(layer={0, 1}, head=np.arange(3)).filter(lambda row: row["stable_rank"] > 1)
    number: float = table[np.int64(0)]["stable_rank"] + table["stable_rank"].mean() + table.to_numpy("stable_rank")[0, 0]
    assert number > 0 and asc.attention_rank(np.eye(4), np.float64(0.5)) == 2
    yield first[["layer", "head"]]


def refused(path: str) -> None:
    """Make calls that mypy refuses: each comment is an error if it is not needed."""
    model = asc.open(path)
    model.spectrum(5)  # type: ignore[arg-type]
    model.spectrum("q", layers=1.5)  # type: ignore[arg-type]
    model.spectrum("q", per_head="yes")  # type: ignore[arg-type]
    model.spectrum("q", nothing=1)  # type: ignore[call-arg]
    model.similarity("q", head_matrix={0, 1})  # type: ignore[arg-type]
    model.spectrum({1, 2})  # type: ignore[arg-type]
    model.matrix("q", layer="0")  # type: ignore[arg-type]
    model.attention(TEXT, sequences=1.5)  # type: ignore[arg-type]
    model.ablate(TEXT, ablation="nothing")  # type: ignore[arg-type]
