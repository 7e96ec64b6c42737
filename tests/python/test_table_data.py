"""Tables as data: pickled, compared, selected, and with the same types in every table."""

import copy
import csv
import io
import json
import pathlib
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from attnscope import _core

TEXT = "To be, or not to be, that is the question"


@pytest.fixture(scope="module")
def heads(gpt2: str) -> asc.Table:
    return asc.open(gpt2).spectrum(matrix=["q", "k"], layers=[0, 1], per_head=True, values=True)


@pytest.fixture(scope="module")
def attended(gpt2: str) -> asc.Table:
    return asc.open(gpt2).attention(TEXT, maps=True)


def every_kind(gpt2: str) -> list[asc.Table]:
    model = asc.open(gpt2)
    return [
        asc.info(model),
        asc.info(system=True),
        asc.spectrum(np.eye(3), values=True),
        model.weights(histogram=True, layers=0),
        model.similarity(overlap=True, layers=0),
        model.circuits(layers=0),
        model.attention(TEXT, layers=0, maps=True),
        model.attention(TEXT, heatmap=(0, 1)),
        model.predict(TEXT, top=2, generate=2),
        model.matrix(layer=0, matrix="q", head=0),
        model.directions("ov", layers=0, head=0, top=2),
        model.diff(gpt2, matrix="q", layers=0),
    ]


def test_tables_are_pickled_exactly(gpt2: str) -> None:
    for table in every_kind(gpt2):
        again = pickle.loads(pickle.dumps(table))
        assert again == table and again is not table, table.command
        for one, other in zip(table, again, strict=True):
            for name, value in one.items():
                assert type(value) is type(other[name])
                if isinstance(value, np.ndarray):
                    assert value.dtype == other[name].dtype
        assert again.to_json() == table.to_json() and again.to_csv() == table.to_csv()
        assert repr(again) and again._repr_html_() and again.notes == table.notes
        assert again.skipped == table.skipped and again.columns == table.columns


def test_tables_are_copied_and_compared(heads: asc.Table, gpt2: str) -> None:
    assert copy.copy(heads) == heads == copy.deepcopy(heads)
    assert (heads == heads.filter(layer=0)) is False
    assert heads != heads[["layer", "head"]] and heads != 1
    assert heads == asc.open(gpt2).spectrum(matrix=["q", "k"], layers=[0, 1], per_head=True, values=True)
    with pytest.raises(TypeError, match="unhashable"):
        hash(heads)


@pytest.mark.parametrize(
    "change",
    [
        {"command": "no such command"},
        {"command": 3},
        {"rows": [3]},
        {"rows": None},
        {"rows": [{"model": object()}]},
        {"rows": [{3: 4}]},
        {"rows": [{"a": 1 << 70}]},
        {"rows": [{"a": np.zeros((1 << 40, 0))}]},
        {"rows": [{"a": np.zeros(2, dtype=complex)}]},
        {"rows": [{"a": "\ud800"}]},
        {"columns": 3},
        {"models": {}},
        {"parameters": []},
    ],
)
def test_damaged_pickles_are_refused(heads: asc.Table, change: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)):
        _core.Report.from_state(heads._report.state() | change)
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(ValueError, match="nested too deeply"):
        _core.Report.from_state(heads._report.state() | {"rows": [{"a": deep}]})
    with pytest.raises(KeyError):
        _core.Report.from_state({})


def test_null_columns_keep_their_types(gpt2: str) -> None:
    polars = pytest.importorskip("polars")
    model = asc.open(gpt2)
    one, several = model.attention(TEXT), model.attention(["To be", "or not to"])
    assert one["entropy_error"].dtype == several["entropy_error"].dtype == np.float64
    both = polars.concat([one.to_polars(), several.to_polars()])
    assert len(both) == len(one) + len(several)
    whole, per_head = model.spectrum("q"), model.spectrum("q", per_head=True)
    assert len(polars.concat([whole.to_polars(), per_head.to_polars()]))
    same = model.diff(gpt2, matrix="q").to_polars()  # nothing changed: no spaces
    assert same["input_space_overlap"].dtype == polars.Float64
    assert same["head"].dtype == polars.Int64


def test_numbers_are_floats(attended: asc.Table) -> None:
    # A single text has integer ranks, but their means over several texts are not integers.
    assert attended["energy_rank"].dtype == attended["energy_columns"].dtype == np.float64
    assert np.ma.getdata(attended["activation_dimension"]).dtype == np.int64


def test_pandas_has_no_scalar_objects(gpt2: str) -> None:
    pandas = pytest.importorskip("pandas")
    for table in every_kind(gpt2):
        frame = table.to_pandas()
        for name in table.columns:
            kind = table._column(name)["type"]
            dtype = frame[name].dtype
            if kind in ("list", "record"):
                continue
            assert dtype != object, name
            if kind == "text":
                assert isinstance(dtype, pandas.StringDtype)
            if kind == "boolean":
                assert dtype == pandas.BooleanDtype()
    whole = asc.open(gpt2).spectrum("q").to_pandas()
    assert whole["head"].dtype == pandas.Int64Dtype() and whole["head"].isna().all()


def test_shape_is_a_tuple_and_two_columns(heads: asc.Table, gpt2: str) -> None:
    assert asc.open(gpt2).spectrum("q")[0]["shape"] == (192, 192)
    assert heads["shape_0"].dtype == np.int64
    assert heads["shape"].shape == (len(heads), 2)
    assert heads["shape"][:, 1].tolist() == heads["shape_1"].tolist()
    assert "shape" not in heads.columns and "shape" in heads


def test_rows_are_flat(heads: asc.Table) -> None:
    for row in heads:
        names = ["shape" if name == "shape_0" else name for name in heads.columns]
        assert list(row) == [name for name in names if name != "shape_1"]
    assert heads[0]["energy_rank_0.9"] == heads["energy_rank_0.9"][0]
    message = "energy_rank: use 'energy_rank_0.9' or 'energy_rank_0.99'"
    for wrong in (heads, heads[0]):
        with pytest.raises(KeyError, match=message) as error:
            wrong["energy_rank"]
        assert isinstance(error.value, asc.UsageError) and str(error.value) == message


def test_scope_tells_heads_from_matrices_and_layers(
    heads: asc.Table, attended: asc.Table, gpt2: str
) -> None:
    model = asc.open(gpt2)
    assert set(heads["scope"]) == {"matrix", "head"}
    assert set(attended["scope"]) == {"layer", "head"}
    assert set(model.circuits(layers=0)["scope"]) == {"matrix", "head"}
    assert set(model.diff(gpt2, matrix="q", per_head=True)["scope"]) == {"matrix", "head"}
    assert set(model.ablate(TEXT, layers=0)["scope"]) == {"layer", "head"}
    for row in heads:
        assert row["scope"] == ("matrix" if row["head"] is None else "head")
    assert ",scope," not in heads.to_csv() and '"scope"' not in heads.to_json()
    assert set(model.similarity()["scope"]) & {"within head", "within_head"}  # a field of its own


def test_columns_are_selected(heads: asc.Table, gpt2: str) -> None:
    some = heads[["layer", "scope", "energy_rank_0.9", "shape", "singular_values"]]
    assert some.columns == ["layer", "scope", "energy_rank_0.9", "shape_0", "shape_1", "singular_values"]
    assert list(some[0]) == ["layer", "scope", "energy_rank_0.9", "shape", "singular_values"]
    assert some[["layer"]].columns == ["layer"] and len(some) == len(heads)
    assert some.to_arrow().column_names == some.columns
    assert list(some.to_pandas()) == list(some.to_polars().columns) == some.columns
    lines = list(csv.reader(io.StringIO(some.to_csv())))
    whole = list(csv.DictReader(io.StringIO(heads.to_csv())))
    at = lines[0].index("singular_values_3")
    assert lines[0][:5] == some.columns[:5] and len(lines) == len(heads) + 1
    for line, row, full in zip(lines[1:], heads, whole, strict=True):
        assert line[1] == row["scope"] and line[2] == full["energy_rank_0.9"]
        assert line[at] == full["singular_values_3"]
    assert list(json.loads(some.to_json())["rows"][0]) == list(some[0])
    assert "energy_rank_0.9" in repr(some) and "<th" in some._repr_html_()
    assert some.charts == {} and pickle.loads(pickle.dumps(some)) == some
    with pytest.raises(ValueError, match="plot the whole table"):
        some.plot()
    with pytest.raises(KeyError, match="energy_rank: use"):
        heads[["energy_rank"]]


def test_rows_are_filtered(heads: asc.Table, gpt2: str) -> None:
    of_head = heads.filter(layer=1, matrix="q", head=2)
    assert len(of_head) == 1 and of_head[0]["head"] == 2
    assert len(heads.filter(matrix="W_Q", head=None)) == 2
    assert len(heads.filter(layer=range(1, 9), head={0, 1})) == 4
    assert len(heads.filter(lambda row: row["stable_rank"] > 1e9)) == 0
    assert {row["scope"] for row in heads.filter(scope="head")} == {"head"}
    narrow = heads[["stable_rank"]].filter(layer=0)
    assert narrow.columns == ["stable_rank"] and len(narrow) == len(heads) // 2
    assert of_head.to_csv().count("\r\n") == 2 and "layer" in repr(of_head)
    assert list(heads.filter(layer=0).charts) == list(heads.charts)
    with pytest.raises(KeyError, match=r"layers \(did you mean 'layer'\?\); columns: "):
        heads.filter(layers=0)
    with pytest.raises(TypeError, match="filter: expected a function"):
        heads.filter("q")  # type: ignore[arg-type]


def test_parts_of_tables_are_printed(gpt2: str) -> None:
    """Tables of the command line expect all rows of a run, for example pairs of signs."""
    directions = asc.open(gpt2).directions("ov", layers=0, head=0, top=3)
    for part in (directions.filter(sign="+"), directions.filter(direction=1, sign="-")):
        for table in (part, pickle.loads(pickle.dumps(part))):
            assert "direction" in repr(table) and "<th" in table._repr_html_()
            assert len(repr(table).splitlines()) <= len(part) + 1


def test_names_of_columns(heads: asc.Table) -> None:
    assert "stable_rank" in heads and "stable" not in heads and 3 not in heads
    assert {"stable_rank", "shape", "energy_rank_0.9"} <= set(heads._ipython_key_completions_())
    for key in (1.5, None):
        with pytest.raises(TypeError, match="expected a column name"):
            heads[key]  # type: ignore[call-overload]


def test_files(heads: asc.Table, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    assert heads.to_csv(tmp_path / "rows.csv") is None
    assert (tmp_path / "rows.csv").read_bytes().decode() == heads.to_csv()
    assert heads.to_json(tmp_path / "rows.json") is None
    assert (tmp_path / "rows.json").read_text() == heads.to_json()
    heads.to_parquet(tmp_path / "rows.parquet")
    assert pyarrow.read_table(tmp_path / "rows.parquet") == heads.to_arrow()
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    heads.to_parquet(tmp_path / "polars.parquet")
    assert pyarrow.read_table(tmp_path / "polars.parquet").num_rows == len(heads)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(asc.UnsupportedError, match="needs pyarrow or polars"):
        heads.to_parquet(tmp_path / "none.parquet")
    with pytest.raises(FileNotFoundError):
        heads.to_csv(tmp_path / "no/rows.csv")


def test_grid_of_layers_and_heads(heads: asc.Table, attended: asc.Table, gpt2: str) -> None:
    model = asc.open(gpt2)
    grid = attended.to_numpy("entropy")
    assert grid.shape == (model.info["layers"], model.info["heads"])
    for row in attended.filter(scope="head"):
        assert grid[row["layer"], row["head"]] == row["entropy"]
    of_q = heads.filter(matrix="q").to_numpy("stable_rank")
    assert of_q.shape == grid.shape and np.isnan(of_q[2:]).all() and np.isfinite(of_q[:2]).all()
    assert model.ablate(TEXT, layers=0).to_numpy("loss_increase").shape == grid.shape
    with pytest.raises(asc.UsageError, match=r"select one with table.filter\(matrix='q'\)"):
        heads.to_numpy("stable_rank")
    with pytest.raises(asc.UsageError, match="no rows of heads"):
        model.spectrum("q").to_numpy("stable_rank")
    with pytest.raises(KeyError, match="nothing; columns"):
        heads.to_numpy("nothing")


def test_rows_of_a_matrix_are_an_array(gpt2: str) -> None:
    model = asc.open(gpt2)
    table = model.matrix("q", layer=0)
    weights = np.asarray(table)
    assert weights.shape == (192, 192) and weights.tolist() == [row["values"].tolist() for row in table]
    assert np.asarray(table, dtype=np.float64).dtype == np.float64
    heatmap = np.asarray(model.attention(TEXT, heatmap=(0, 1)))
    np.testing.assert_allclose(heatmap.sum(axis=1), 1, atol=1e-5)
    assert not hasattr(model.spectrum("q"), "__array__")


def test_scalars(heads: asc.Table, attended: asc.Table) -> None:
    scalars = attended.to_scalars()
    assert scalars["attention/entropy/layer_0/head_3"] == attended.to_numpy("entropy")[0, 3]
    assert "attention/max_rank/layer_0" in scalars
    assert all(type(value) is float for value in scalars.values())
    of_heads = heads.to_scalars()
    one = heads.filter(layer=1, matrix="k", head=2)[0]
    assert of_heads["spectrum/stable_rank/layer_1/k/head_2"] == one["stable_rank"]


def test_scalars_name_every_row(gpt2: str) -> None:
    model = asc.open(gpt2)
    ablated = model.ablate(TEXT, layers=0).to_scalars()
    assert {name.partition("layer_0/")[2] for name in ablated} >= {"attention", "mlp", "head_0"}
    for table in (model.similarity(), model.circuits(composition=True), model.directions("ov", layers=0)):
        scalars = table.to_scalars()
        assert len(scalars) >= len(table)
    assert "similarity/mean/layer_0/q/within_head" in model.similarity().to_scalars()


def test_notebooks_show_what_print_shows(heads: asc.Table, gpt2: str) -> None:
    shown = heads._repr_html_()
    printed = shown[shown.index("<pre") : shown.index("</pre>")]
    assert repr(heads).splitlines()[-1].split()[0] in printed and "<details>" in shown
    directions = asc.open(gpt2).directions("ov", layers=0, head=0, top=3)._repr_html_()
    assert directions.index(">tokens<") < directions.index(">coherence<")


def test_masks_select_rows(llama: str) -> None:
    table = asc.spectrum(llama)
    chosen = table[table["layer"] == 1]
    assert isinstance(chosen, asc.Table)
    assert list(chosen) == [row for row in table if row["layer"] == 1] != []
    assert table.filter(table["layer"] == 1, matrix="q") == chosen.filter(matrix="q")
    assert list(table[[row["matrix"] == "o" for row in table]]) == list(table.filter(matrix="o"))
    heads = asc.spectrum(llama, per_head=True)
    by_head = heads["head"] == 0  # null for whole matrices
    assert list(heads[by_head]) == [row for row in heads if row["head"] == 0] != []
    assert len(table[table["layer"] > 99]) == 0
    with pytest.raises(asc.Error, match="mask of shape"):
        table[np.array([True, False])]
    with pytest.raises(asc.Error, match="a list of names or a mask"):
        table[np.arange(3)]  # type: ignore[index]


def test_tables_have_a_shape_a_head_and_a_tail(llama: str) -> None:
    table = asc.spectrum(llama)
    assert table.shape == (len(table), len(table.columns)) == table.to_polars().shape
    rows = list(table)
    for count in (0, 1, 3, -2, 1000):
        assert list(table.head(count)) == rows[:count]
    assert list(table.tail(2)) == rows[-2:] and list(table.tail(-2)) == rows[2:]
    assert list(table.tail(0)) == [] and list(table.tail(1000)) == rows
    with pytest.raises(asc.Error, match="whole number"):
        table.head("x")  # type: ignore[arg-type]
    assert table["layer", "matrix"] == table[["layer", "matrix"]]
