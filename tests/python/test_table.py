"""Tables: rows, columns, and conversions to other libraries."""

import json
import re
import subprocess
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from conftest import ROOT


@pytest.fixture(scope="module")
def table(gpt2: str) -> asc.Table:
    return asc.open(gpt2).spectrum(matrix=["q", "qk"], per_head=True, values=True)


@pytest.fixture(scope="module")
def rows(table: asc.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(table.to_json())["rows"]
    return found


def test_rows(table: asc.Table, rows: list[dict[str, Any]]) -> None:
    assert len(table) == len(rows) > 0
    for mine, theirs in zip(table, rows, strict=True):
        assert mine["energy_rank_0.9"] == theirs["energy_rank"]["0.9"]
        assert list(mine["shape"]) == theirs["shape"]
        assert mine["stable_rank"] == theirs["stable_rank"]
        assert mine["singular_values"].tolist() == theirs["singular_values"]
    assert table[-1]["head"] == rows[-1]["head"]
    assert [row["layer"] for row in table[:3]] == [row["layer"] for row in rows[:3]]
    with pytest.raises(IndexError):
        table[len(table)]


def test_columns(table: asc.Table, rows: list[dict[str, Any]]) -> None:
    assert table["stable_rank"].tolist() == [row["stable_rank"] for row in rows]
    assert table["energy_rank_0.9"].tolist() == [row["energy_rank"]["0.9"] for row in rows]
    assert table["matrix"].tolist() == [row["matrix"] for row in rows]
    heads = table["head"]
    assert isinstance(heads, np.ma.MaskedArray)
    assert heads.tolist() == [row["head"] for row in rows]
    assert table["shape"][0].tolist() == rows[0]["shape"]
    assert table["singular_values"][0].tolist() == rows[0]["singular_values"]
    with pytest.raises(KeyError, match="stable_rank"):
        table["stable"]
    with pytest.raises(ValueError):
        table["stable_rank"][0] = 1


def test_columns_are_views_that_outlive_the_table(gpt2: str) -> None:
    table = asc.open(gpt2).spectrum(matrix="q")
    again = table["stable_rank"]
    assert np.shares_memory(again, table["stable_rank"])
    copied = again.copy()
    del table
    assert (again == copied).all()


def test_pandas(table: asc.Table, rows: list[dict[str, Any]]) -> None:
    pandas = pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert list(frame.columns) == table.columns
    assert frame["stable_rank"].tolist() == [row["stable_rank"] for row in rows]
    assert frame["head"].dtype == pandas.Int64Dtype()
    assert frame["head"].isna().sum() == sum(row["head"] is None for row in rows)


def test_arrow_does_not_copy(table: asc.Table, rows: list[dict[str, Any]]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    arrow = table.to_arrow()
    arrow.validate(full=True)
    assert isinstance(arrow, pyarrow.Table)
    assert arrow.column("head").to_pylist() == [row["head"] for row in rows]
    assert arrow.column("singular_values").to_pylist() == [row["singular_values"] for row in rows]
    address = arrow.column("stable_rank").chunk(0).buffers()[1].address
    assert address == table["stable_rank"].__array_interface__["data"][0]
    assert arrow.schema == pyarrow.schema(table)


def test_polars(table: asc.Table, rows: list[dict[str, Any]]) -> None:
    pytest.importorskip("polars")
    frame = table.to_polars()
    assert frame["stable_rank"].to_list() == [row["stable_rank"] for row in rows]
    assert frame["matrix"].to_list() == [row["matrix"] for row in rows]


def test_arrow_supports_every_kind_of_row(gpt2: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    model = asc.open(gpt2)
    for table in (
        asc.info(model),
        model.similarity(overlap=True),
        model.weights(histogram=True),
        model.circuits(layers=0),
        model.attention("To be, or not to be"),
        model.predict("To be, or not to be", top=2),
        model.matrix(layer=0, matrix="q"),
    ):
        arrow = pyarrow.table(table)
        arrow.validate(full=True)
        assert arrow.num_rows == len(table)
        for name in table.columns:
            assert len(table[name]) == len(table)


def test_display(table: asc.Table) -> None:
    html = table._repr_html_()
    assert "<th" in html and "stable" in html and f"{len(table)} rows" in html
    assert "q" in repr(table)
    assert len(repr(table).splitlines()) <= 61


def test_names_are_escaped(gpt2: str, tmp_path: Any) -> None:
    folder = tmp_path / "<b>bold<"
    folder.symlink_to(gpt2)
    assert "<b>bold" not in asc.open(folder).spectrum(matrix="q")._repr_html_()


def test_display_omits_null_columns(gpt2: str) -> None:
    whole = asc.open(gpt2).spectrum(matrix="q", values=True)._repr_html_()
    assert "192 values: " in whole and ">shape_<wbr>0<" in whole
    assert ">head<" not in whole  # all null
    shown = asc.open(gpt2).circuits(layers=0)._repr_html_()
    assert "energy_<wbr>rank_<wbr>0.9<" in shown
    assert 'title="query head index, from 0. Null for the sum over heads."' in shown
    assert ">–<" in shown


TITLED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("spectrum", {}, []),
    ("spectrum", {"mla": True}, ["--mla"]),
    ("weights", {}, []),
    ("similarity", {}, []),
    ("similarity", {"overlap": True}, ["--overlap"]),
    ("circuits", {}, []),
    ("circuits", {"composition": True}, ["--composition"]),
    ("attention", {"tokens": [1, 2, 3]}, ["--tokens", "1,2,3"]),
    ("attention", {"induction": True, "length": 8}, ["--induction", "--length", "8"]),
    ("attention", {"tokens": [1, 2, 3], "heatmap": (0, 0)}, ["--tokens", "1,2,3", "--heatmap", "0,0"]),
]


@pytest.mark.parametrize(("command", "keywords", "words"), TITLED)
def test_model_titles_match_the_command_line(
    command: str, keywords: dict[str, Any], words: list[str], llama: str, program: str
) -> None:
    for folder in (llama, str(ROOT / "tests/data/albert")):  # key/value heads; shared weights
        shown = getattr(asc, command)(folder, **keywords)._repr_html_()
        [(name, title)] = re.findall("<b>([^<]*)</b> <small>([^<]*)</small>", shown)
        printed = subprocess.run([program, command, folder, *words], capture_output=True, check=True)
        lines = [" ".join(line.split()) for line in printed.stdout.decode().splitlines()]
        assert "layer" in title and lines.count(f"{name} {title}") == 1


def test_every_table_has_model_titles(gpt2: str, llama: str) -> None:
    title = asc.spectrum(gpt2)._report.model_titles
    for table in (asc.predict(gpt2, tokens=[1]), asc.matrix(gpt2, layer=0, matrix="q"), asc.info(gpt2)):
        assert table._report.model_titles == title
    assert len(set(asc.spectrum([gpt2, llama])._report.model_titles)) == 2
    for table in (asc.spectrum(np.eye(3)), asc.spectrum(gpt2, tensor="transformer.wpe.weight")):
        assert table._report.model_titles == [""] and "<small></small>" in table._repr_html_()


def test_info_shows_models_first(gpt2: str, llama: str) -> None:
    shown = asc.info([gpt2, llama])._repr_html_()
    assert shown.index("2,915,328") < shown.index("transformer.h.0")
    assert "102 rows" in shown  # shown of 132


def test_text_is_escaped(gpt2: str) -> None:
    shown = asc.open(gpt2).predict("To be, <b>or</b> $x$", generate=3)._repr_html_()
    assert "&lt;b&gt;or&lt;/b&gt; &#36;x&#36;" in shown
    assert "␣a<" in asc.open(gpt2).predict("To be, or not to be")._repr_html_()


def test_matrices_are_shown_as_images(gpt2: str) -> None:
    model = asc.open(gpt2)
    table = model.matrix(layer=0, matrix="q", head=1)
    assert "data:image/png;base64," in table._repr_html_()
    assert list(table.charts) == ["q-layer-0-head-1"]
    assert len(model.similarity(head_matrix=(0, 1)).charts) == 3
    chart = model.attention("To be", heatmap=(0, 2)).charts["map-of-layer-0-head-2"]
    names = chart["layer"][0]["encoding"]["y"]["axis"]["labelExpr"]
    assert json.loads(names[: names.index("]") + 1]) == ["To", "␣be"]


def test_charts_have_data(gpt2: str) -> None:
    table = asc.open(gpt2).circuits()
    assert "heads-symmetry" in table.charts and "spectra-values-by-layer" not in table.charts
    assert len({json.dumps(chart) for chart in table.charts.values()}) == len(table.charts)
    assert table.plot("symmetry").name == "heads-symmetry"
    with pytest.raises(KeyError, match="heads-qk-rank, heads-ov-rank"):
        table.plot("rank")
    with pytest.raises(ValueError, match="no chart"):
        asc.info(gpt2).plot()


def test_charts_of_several_models(gpt2: str, llama: str) -> None:
    charts = list(asc.spectrum([gpt2, llama], matrix="q").charts)
    assert charts[0] == "models-ranks"
    assert any(name.startswith("model-1-") for name in charts)


def test_charts_of_small_results(gpt2: str) -> None:
    array = asc.spectrum(np.eye(4), values=True)
    assert list(array.charts) == ["spectrum-values", "spectrum-null", "spectrum-energy"]
    assert asc.spectrum(np.eye(4)).charts == {}
    model = asc.open(gpt2)
    assert list(model.spectrum(mla=True).charts) == ["latent-energy"]
    assert "weights-histogram-q-1" in model.weights(layers=1, histogram=True).charts
