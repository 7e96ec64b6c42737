"""Calls with the names and habits of other libraries: they work, or the error names what to use."""

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from attnscope.callbacks import Monitor
from fake_module import softmax_maps
from test_models import ROOT

TEXT = "To be, or not to be"


@pytest.fixture(scope="module")
def model() -> asc.Model:
    return asc.open(ROOT / "examples/shakespeare-gpt2")


@pytest.fixture(scope="module")
def table(model: asc.Model) -> asc.Table:
    return model.spectrum()


def test_a_model_compared_with_itself_has_not_changed(model: asc.Model, gpt2: str) -> None:
    for found in (
        asc.diff(model, model, matrix="q"),
        asc.diff([model, model], matrix="q"),
        model.diff(model, matrix="q"),
        asc.diff(gpt2, gpt2, matrix="q"),
        asc.diff(gpt2, model, matrix="q"),
    ):
        assert len(found) == 6 and not found["relative_change"].any()
        assert [one["name"] for one in found.models] == ["shakespeare-gpt2", "shakespeare-gpt2#2"]


def test_second_argument_is_the_text_or_the_matrix(model: asc.Model, gpt2: str) -> None:
    assert asc.predict(model, TEXT) == model.predict(TEXT)
    assert asc.lens(gpt2, TEXT) == model.lens(TEXT)
    assert asc.attention(model, TEXT) == asc.attention(gpt2, TEXT) == model.attention(TEXT)
    assert asc.spectrum(model, "W_Q") == asc.spectrum(model, "q_proj") == model.spectrum("q")
    assert asc.matrix(model, "q", layer=0) == model.matrix("q", layer=0)
    with pytest.raises(asc.UsageError, match="matrix: expected a name or a list of names"):
        asc.spectrum(model, model)  # type: ignore[arg-type]


def test_output_of_a_tokenizer_as_text(model: asc.Model) -> None:
    first, second = [397, 305, 12, 530], [41, 322]
    expected = model.attention(tokens=[first, second])
    padded = {"input_ids": [first, [*second, 0, 0]], "attention_mask": [[1] * 4, [1, 1, 0, 0]]}
    arrays = {name: np.array(value) for name, value in padded.items()}
    texts: list[Any] = [padded, arrays, [first, second]]
    for text in texts:
        assert model.attention(text) == expected
    assert asc.attention(model, padded) == expected
    one: list[Any] = [first, np.array(first), np.array([first]), {"input_ids": first}, np.array(first, np.int32)]
    for text in one:
        assert model.predict(text)["logit"].tolist() == model.predict(tokens=first)["logit"].tolist()
    with pytest.raises(asc.UsageError, match="tokens: not supported if text has token ids"):
        model.attention(first, tokens=first)
    with pytest.raises(asc.UsageError, match="attention_mask has another shape"):
        model.attention({"input_ids": first, "attention_mask": [1]})


def test_token_types_of_a_tokenizer() -> None:
    bert = asc.open(ROOT / "tests/data/classifiers/bert")
    ids, types = [2, 5, 3, 6, 3], [0, 0, 0, 1, 1]
    text: Any = {"input_ids": [ids], "token_type_ids": [types], "attention_mask": [[1] * 5]}
    assert bert.attention(text) == bert.attention(tokens=ids, token_types=types)
    assert bert.attention(text) != bert.attention(tokens=ids)
    text = {"input_ids": [ids, ids], "token_type_ids": [types, types]}
    with pytest.raises(asc.UsageError, match="pass pairs of texts"):
        bert.attention(text)


def test_a_text_that_is_too_long(model: asc.Model) -> None:
    with pytest.raises(asc.UsageError, match="longer than the 256 positions.*shorten it, or pass text_file") as error:
        model.attention(TEXT * 100)
    assert error.value.hint is not None


def test_columns_are_attributes(model: asc.Model, table: asc.Table) -> None:
    columns: Any = table
    assert columns.stable_rank.tolist() == table["stable_rank"].tolist()
    assert {"stable_rank", "layer", "filter"} <= set(dir(table)) and "energy_rank_0.9" not in dir(table)
    assert callable(columns.head), "methods come first"
    described = asc.info(model)
    assert "dtype" in described and not hasattr(described, "dtype")  # it is not an array
    assert pickle.loads(pickle.dumps(table)).layer.tolist() == columns.layer.tolist()


def test_rows_of_a_matrix_as_numpy(model: asc.Model, table: asc.Table) -> None:
    matrix = model.matrix("q", layer=0)
    np.testing.assert_array_equal(matrix.to_numpy(), np.asarray(matrix))
    with pytest.raises(TypeError, match=r"missing column, as in table.to_numpy\('entropy'\)"):
        table.to_numpy()


def test_maps_as_one_array_or_one_per_layer() -> None:
    maps = softmax_maps(2, 3, 5, 5)
    expected = asc.attention(maps=[(0, maps[0]), (1, maps[1])])
    assert asc.attention(maps=maps) == asc.attention(maps=tuple(maps)) == expected
    nothing: list[Any] = [(None, None), ()]
    for attentions in nothing:
        with pytest.raises(asc.UsageError, match='attn_implementation="eager"'):
            asc.attention(attentions)
        with pytest.raises(asc.UsageError, match='attn_implementation="eager"'):
            asc.attention(maps=attentions)


def test_heads_as_texts_in_views(model: asc.Model) -> None:
    table = model.attention(TEXT, maps=True)
    assert table.view("L3H2").html == table.view(head="L3H2").html == table.view(3, 2).html
    with pytest.raises(TypeError, match="layer: expected a number, or only a text such as 'L3H2'"):
        table.view("L3H2", 1)


KEYWORDS: list[tuple[str, str]] = [
    ("model.spectrum(matrx='q')", "spectrum: unknown keyword 'matrx': did you mean 'matrix'?"),
    ("model.spectrum(layer=0)", "did you mean 'layers'?"),
    ("model.spectrum(heads=[0])", "pass per_head=True, then use table.filter(head=...)"),
    ("model.attention(TEXT, head=2)", "use table.filter(head=...) on the result"),
    ("model.lens(TEXT, layers=[0])", "use table.filter(layer=...) on the result"),
    ("model.attention(prompt=TEXT)", "did you mean 'text'?"),
    ("model.attention(input_ids=[1])", "did you mean 'tokens'?"),
    ("asc.attention(model, input_ids=[1])", "did you mean 'inputs'?"),
    ("model.predict(TEXT, top_k=3)", "did you mean 'top'?"),
    ("model.predict(TEXT, max_new_tokens=3)", "did you mean 'generate'?"),
    ("model.attention(TEXT, output_attentions=True)", "did you mean 'maps'?"),
    ("model.matrix('q', layers=0)", "did you mean 'layer'?"),
    ("model.matrix('q', 0)", "pass others by keyword: layer, head"),
    ("model.matrix('q')", "missing 1 required keyword-only argument: 'layer'"),
    ("model.shrink('plan.json', plan='x')", "got multiple values for argument 'plan'"),
    ("asc.spectrum()", "spectrum: missing 1 required positional argument: 'models'"),
    ("asc.open(model, None)", "pass others by keyword: layout, config, tokenizer"),
    ("asc.open('x', revision='main')", "open: unknown keyword 'revision'"),
    ("asc.attention_rank([[1]], enery=0.5)", "did you mean 'energy'?"),
    ("model.attention(TEXT).view(heads=[1])", "view: unknown keyword 'heads': did you mean 'head'?"),
    ("table.plot(kind='bar')", "plot: unknown keyword 'kind'; keywords: name"),
    ("table.to_csv(index=False)", "to_csv: unknown keyword 'index'; keywords: path"),
    ("table.plot().png(dpi=300)", "png: unknown keyword 'dpi'; keywords: scale"),
    ("Monitor(every=10, layer=[0])", "Monitor: unknown keyword 'layer': did you mean 'layers'?"),
    ("table.filter('layer == 0')", "filter: expected a function of a row or columns as keywords"),
    ("asc.Model('gpt2')", "use attnscope.open(path)"),
]


@pytest.mark.parametrize(("call", "words"), KEYWORDS)
def test_errors_name_the_keyword(model: asc.Model, table: asc.Table, call: str, words: str) -> None:
    with pytest.raises(TypeError) as error:
        eval(call, globals() | {"model": model, "table": table})
    assert isinstance(error.value, asc.UsageError) and words in str(error.value)


ATTRIBUTES: list[tuple[str, str]] = [
    ("model.n_layers", "model.info['layers']"),
    ("model.W_Q", "model.matrix('W_Q', layer=0)"),
    ("model.run_with_cache", "model.predict(text, save=True).arrays"),
    ("model.generate", "model.predict(text, generate=20)"),
    ("model.head_view", "model.attention(text).view(layer=0, head=0)"),
    ("model.matrices", "did you mean 'matrix'?"),
    ("table.groupby", "table.to_pandas().groupby"),
    ("table.to_dict", "list(table), whose rows are dicts"),
    ("table.df", "table.to_pandas()"),
    ("table.stable_rnk", "did you mean 'stable_rank'?"),
    ("table.plot().show", "chart.save('chart.png')"),
    ("model.report().show", "page.save('report.html')"),
    ("model.attention(TEXT).view().show", "view.save('heads.html')"),
    ("asc.load", "attnscope.open(path)"),
    ("asc.spectra", "did you mean 'spectrum'?"),
]


@pytest.mark.parametrize(("name", "words"), ATTRIBUTES)
def test_errors_name_the_method(model: asc.Model, table: asc.Table, name: str, words: str) -> None:
    with pytest.raises(AttributeError) as error:
        eval(name, globals() | {"model": model, "table": table})
    assert isinstance(error.value, asc.UsageError) and words in str(error.value)


KEYS: list[tuple[str, str]] = [
    ("table['Stable_Rank']", "did you mean 'stable_rank'?"),
    ("model.info['num_layers']", "did you mean 'layers'?"),
    ("table.charts['atlas']", "names: overview-atlas"),
    ("model.attention(TEXT, maps=True).arrays['attention']", "did you mean 'attentions'?"),
]


@pytest.mark.parametrize(("lookup", "words"), KEYS)
def test_errors_name_the_key(model: asc.Model, table: asc.Table, lookup: str, words: str) -> None:
    with pytest.raises(KeyError) as error:
        eval(lookup, globals() | {"model": model, "table": table})
    assert isinstance(error.value, asc.UsageError) and words in str(error.value)


def test_hints_are_of_methods_that_exist(model: asc.Model) -> None:
    """Check that no hint hides a method, and that guided methods keep their signatures."""
    for kind in (asc.Model, asc.Table, asc.Chart, asc.Page, asc.HeadView):
        assert not [name for name in kind._hints if hasattr(kind, name)], kind
    assert list(inspect.signature(asc.spectrum).parameters)[:2] == ["models", "matrix"]
    assert "layers" in inspect.signature(model.spectrum).parameters


def test_errors_inside_a_call_keep_their_message(table: asc.Table) -> None:
    def broken(row: Any) -> Any:
        return row["layer"] + "text"

    with pytest.raises(TypeError, match="unsupported operand") as error:
        table.filter(broken)
    assert not isinstance(error.value, asc.Error)
