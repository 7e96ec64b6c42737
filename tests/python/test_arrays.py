"""Analyses of arrays in memory."""

import pathlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import attnscope as asc


def matrix(rows: int = 40, cols: int = 60, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(1).standard_normal((rows, cols)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", ">f4"])
def test_singular_values(dtype: str) -> None:
    array = matrix(dtype=dtype) if dtype != "int32" else (10 * matrix()).astype("int32")
    table = asc.spectrum(array, values=True)
    expected = np.linalg.svd(array.astype("float64"), compute_uv=False)
    np.testing.assert_allclose(table["singular_values"][0], expected, atol=1e-6 * expected[0])
    assert table[0]["shape"] == (40, 60)


def test_small_singular_values_of_float64() -> None:
    random = np.random.default_rng(3)
    bases = [np.linalg.qr(random.standard_normal((100, 100)))[0] for _ in range(2)]
    array = bases[0] @ np.diag(np.geomspace(1, 1e-16, 100)) @ bases[1]
    row = asc.spectrum(array, values=True)[0]
    expected = np.linalg.svd(array, compute_uv=False)
    np.testing.assert_allclose(row["singular_values"], expected, rtol=0, atol=40 * np.finfo(float).eps)
    assert row["numerical_rank"] == np.linalg.matrix_rank(array)
    assert asc.spectrum(array.astype("float32"))[0]["numerical_rank"] == 31


def test_views() -> None:
    whole = matrix(80, 120)
    for view in (whole.T, whole[::2, ::3], whole[::-1], np.asfortranarray(whole)):
        found = asc.spectrum(view, values=True)["singular_values"][0]
        expected = np.linalg.svd(view, compute_uv=False)
        np.testing.assert_allclose(found, expected, atol=1e-5 * expected[0])


def test_ranks_and_thresholds() -> None:
    row = asc.spectrum(np.diag([2.0, 1.0, 1.0]), energy=[0.5, 0.9], rank=[1, 2])[0]
    assert (row["energy_rank_0.5"], row["energy_rank_0.9"]) == (1, 3)
    assert row["energy_at_rank_1"] == pytest.approx(4 / 6)


def test_unsupported_keywords_and_shapes() -> None:
    with pytest.raises(TypeError, match="per_head"):
        asc.spectrum(matrix(), per_head=True)
    with pytest.raises(ValueError, match="two axes"):
        asc.spectrum(np.zeros(3))
    with pytest.raises(asc.UsageError, match="0.1D"):
        asc.spectrum(matrix(), rank="0.1D")


def test_attention_rank() -> None:
    scores = np.random.default_rng(2).standard_normal((2, 3, 16, 16))
    maps = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    found = asc.attention_rank(maps.astype("float32"), energy=0.99)
    assert found.shape == (2, 3)
    squares = np.linalg.svd(maps, compute_uv=False) ** 2
    shares = np.cumsum(squares, axis=-1) / squares.sum(axis=-1, keepdims=True)
    np.testing.assert_array_equal(found, (shares < 0.99).sum(axis=-1) + 1)
    with pytest.raises(ValueError, match="square"):
        asc.attention_rank(np.zeros((2, 3), dtype="float32"))


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.nn.Linear(30, 20).weight
    row = asc.spectrum(weight)[0]
    assert row["spectral_norm"] == pytest.approx(float(torch.linalg.matrix_norm(weight.detach(), 2)))
    assert asc.spectrum(weight.to(torch.bfloat16))[0]["shape"] == (20, 30)
    assert asc.spectrum(torch.ones(2, 3, dtype=torch.int32))["spectral_norm"][0] == pytest.approx(
        6**0.5
    )
    maps = torch.softmax(torch.randn(2, 5, 5), dim=-1).to(torch.bfloat16)
    assert asc.attention_rank(maps).shape == (2,)
    for strange in (torch.eye(3).to_sparse(), torch.eye(3) * 1j, torch.empty(2, 2, device="meta")):
        with pytest.raises((TypeError, ValueError, NotImplementedError)):
            asc.spectrum(strange)


def test_everything_that_numpy_accepts() -> None:
    numbers: list[list[float]] = [[3, 0, 0], [0, 4, 0.5]]
    expected = asc.spectrum(np.array(numbers)).to_json()
    alike: list[Any] = [
        numbers,
        tuple((*row,) for row in numbers),
        [np.array(row) for row in numbers],
        np.array(numbers).data,
        np.array(numbers, dtype=np.longdouble),
        np.array(numbers, dtype=object),
        [[Fraction(number) for number in row] for row in numbers],
        np.ma.MaskedArray(numbers),
    ]
    for name in ("pandas", "polars"):
        library = pytest.importorskip(name)
        alike.append(library.DataFrame(np.array(numbers)))
    for array in alike:
        assert asc.spectrum(array).to_json() == expected
    assert asc.spectrum([[True, False], [False, True]])["spectral_norm"][0] == 1
    assert asc.attention_rank([[1.0]]).shape == ()
    assert asc.attention_rank([[[1.0, 0.0], [0.5, 0.5]]]).tolist() == [2]


def test_values_that_are_not_arrays(gpt2: str) -> None:
    refused: list[tuple[Any, str]] = [
        (3, "two axes"),
        ([1.0, 2.0], "two axes"),
        ([[]], "two axes"),
        (None, "not NoneType"),
        ({"weight": [[1.0]]}, "not dict"),
        (object(), "not object"),
        ([[1.0, 2.0], [3.0]], "rows of equal length"),
        ([["1", "2"]], "not <U1"),
        (np.array([["1", 2.0]], dtype=object), "not strings"),
        (np.array([[1.0, {}]], dtype=object), "not 'dict'"),
        (np.eye(2) * 1j, "not complex128"),
        (np.zeros((2, 2), dtype="M8[s]"), "not datetime64"),
        (np.zeros((2, 2), dtype=[("a", "f4")]), "not "),
        (np.ma.masked_greater(np.eye(3), 0.5), "masked"),
    ]
    for value, message in refused:
        with pytest.raises((TypeError, ValueError), match=message) as error:
            asc.spectrum(value)
        assert "\n" not in str(error.value)
    with pytest.raises(TypeError, match="maps: expected a matrix of numbers, not NoneType"):
        asc.attention_rank(None)
    with pytest.raises(TypeError, match="not int"):
        asc.open(3)
    with pytest.raises(TypeError, match="not int"):
        asc.spectrum([gpt2, 3])


def test_model_names_are_not_arrays(gpt2: str) -> None:
    for names in (np.str_(gpt2), gpt2.encode(), [np.str_(gpt2)], pathlib.Path(gpt2)):
        assert len(asc.spectrum(names, matrix="q")) == 6
