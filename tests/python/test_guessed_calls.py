"""Calls as people write them first: names of TransformerLens, modules, batches, pairs of models."""

import re
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from attnscope import _core, _errors
from fake_module import softmax_maps
from test_models import CONFIG, ROOT, weights

TEXT = "To be, or not to be"
SOURCES = ROOT / "python/attnscope"


class FakeModel:
    """A module with only the interface that `asc.open` needs."""

    def __init__(self, before: str = "") -> None:
        self.config = CONFIG | {"vocab_size": 1024}
        tensors = weights() | {"wte.weight": np.ones((1024, 48), dtype="float32")}
        tensors["wte.weight"][:, 0] = np.arange(1024)
        self.tensors = {name.replace("attn.", f"attn.{before}"): one for name, one in tensors.items()}

    def state_dict(self) -> dict[str, Any]:
        return self.tensors


def test_names_of_transformer_lens(gpt2: str) -> None:
    model = asc.open(gpt2)
    plain = model.spectrum(matrix=["q", "v"])
    assert model.spectrum(["W_Q", "W_V"]) == model.spectrum("W_Q,W_V") == plain
    assert model.spectrum("q") == model.spectrum(matrix="q")
    assert model.weights("W_in", layers=0) == model.weights("up", layers=0)
    assert np.asarray(model.matrix("W_O", layer=0)).shape == (192, 192)
    assert model.directions("OV", layers=0, head=0).parameters["matrix"] == "ov"
    with pytest.raises(asc.UsageError, match="W_U belongs to no layer: pass its tensor"):
        model.spectrum("W_U")


def test_layers_as_ranges_sets_and_arrays(gpt2: str) -> None:
    model = asc.open(gpt2)
    expected = model.spectrum("q", layers="0,2,4")
    layers: list[Any] = [
        range(0, 6, 2), {0, 2, 4}, np.arange(0, 6, 2), [np.int64(0), 2, 4], range(4, -1, -2), [range(0, 5, 2)],
    ]
    for given in layers:
        assert model.spectrum("q", layers=given) == expected
    assert model.spectrum("q", layers=np.int32(1)) == model.spectrum("q", layers=np.array(1))
    with pytest.raises(asc.UsageError, match=r"layers: expected a slice with step 1: use a range"):
        model.spectrum("q", layers=slice(0, 6, 2))
    with pytest.raises(asc.UsageError, match="layers: empty range"):
        model.spectrum("q", layers=range(0))


def test_pairs_of_models(gpt2: str) -> None:
    model = asc.open(gpt2)
    expected = asc.diff([gpt2, model], matrix="q", layers=0)
    assert asc.diff(gpt2, model, matrix="q", layers=0) == expected
    assert model.diff(gpt2, matrix="q", layers=0)["relative_change"].tolist() == [0.0]
    with pytest.raises(asc.UsageError, match="other: not supported with a list"):
        asc.diff([gpt2, gpt2], gpt2)
    with pytest.raises(asc.UsageError):
        asc.diff(gpt2)


def test_batches_of_tokens(gpt2: str) -> None:
    model = asc.open(gpt2)
    rows = [[1, 2, 3], [4, 5, 6]]
    batches: list[Any] = [rows, np.array(rows), [np.array(row) for row in rows], ("1,2,3", "4,5,6")]
    expected = model.attention(tokens=batches[0])
    assert expected.parameters["sequences"] == 2
    for batch in batches[1:]:
        assert model.attention(tokens=batch) == expected
    ones: list[Any] = [[1, 2, 3], np.array([1, 2, 3]), [[1, 2, 3]], "1,2,3", (1, 2, 3)]
    for one in ones:
        assert model.attention(tokens=one).parameters["sequences"] == 1
    of_first, of_both = model.attention(tokens=rows[0]), model.attention(tokens=rows)
    mean = (of_first["entropy"] + model.attention(tokens=rows[1])["entropy"]) / 2
    np.testing.assert_allclose(of_both["entropy"], mean, rtol=1e-12)
    with pytest.raises(TypeError, match="tokens: expected a str, or a list of ints"):
        model.attention(tokens=[[1.5]])
    with pytest.raises(asc.UsageError, match="tokens: 'x' is not a token id"):
        model.attention(tokens=["1", "x"])


def test_pairs_of_sentences() -> None:
    model = asc.open(str(ROOT / "tests/data/classifiers/bert"))
    expected = model.attention(text=["a b", "c"], text_pair=["d", "e f"])
    assert expected.parameters["sequences"] == 2
    assert model.attention([("a b", "d"), ("c", "e f")]) == expected
    with pytest.raises(asc.UsageError, match="text_pair: not supported if text has pairs"):
        model.attention([("a b", "d")], text_pair="e")


def test_maps_in_the_place_of_models() -> None:
    stacked = softmax_maps(2, 3, 5, 5)  # layers, heads, T, T
    expected = asc.attention(maps=[(0, stacked[0]), (1, stacked[1])])
    assert asc.attention(stacked) == expected
    per_layer = tuple(layer[np.newaxis] for layer in stacked)
    assert asc.attention(per_layer) == asc.attention(list(per_layer)) == expected
    assert asc.attention(np.stack(per_layer)) == expected

    class Output:
        last_hidden_state = None
        attentions: Any = per_layer

    output = Output()
    assert asc.attention(output) == expected
    output.attentions = None
    with pytest.raises(asc.UsageError, match="output_attentions=True"):
        asc.attention(output)
    with pytest.raises(asc.UsageError, match="expected maps"):
        asc.attention(stacked[0])


def test_modules_in_every_command() -> None:
    module = FakeModel()
    model = asc.open(module)
    for call in (asc.spectrum, asc.weights, asc.circuits):
        ours, theirs = call(module), call(model)
        assert ours["frobenius_norm" if call is not asc.weights else "std"].tolist() == (
            theirs["frobenius_norm" if call is not asc.weights else "std"].tolist()
        )
    assert set(asc.diff(module, FakeModel(), matrix="q")["relative_change"]) == {0.0}


def test_tokenizer_of_a_call() -> None:
    tokenizer = (ROOT / "examples/shakespeare-gpt2/tokenizer.json").read_text()
    model = asc.open(FakeModel())
    with pytest.raises(asc.UsageError, match="has no tokenizer .pass tokenizer= to this call or to open") as error:
        model.predict(TEXT)
    assert error.value.parameter == "tokenizer" and "memory-" not in str(error.value)
    expected = asc.open(FakeModel(), tokenizer=tokenizer).predict(TEXT)
    assert model.predict(TEXT, tokenizer=tokenizer)["token_id"].tolist() == expected["token_id"].tolist()
    found = asc.predict(FakeModel(), text=TEXT, tokenizer=tokenizer)
    assert found["logit"].tolist() == expected["logit"].tolist()
    with pytest.raises(TypeError, match="tokenizer: only supported for weights in memory"):
        asc.predict(str(ROOT / "examples/shakespeare-gpt2"), text=TEXT, tokenizer=tokenizer)


def test_models_of_peft_and_transformer_lens() -> None:
    adapted = FakeModel(before="base_layer.")
    with pytest.raises(asc.UnsupportedError, match="merge_and_unload") as refused:
        asc.open(adapted)
    assert refused.value.hint is not None

    class Bridge:
        original_model = FakeModel(before="_original_component.")
        compatibility_mode = False

        def state_dict(self) -> dict[str, Any]:
            return {}

    bridge = Bridge()
    expected = asc.open(FakeModel()).spectrum("q")["stable_rank"].tolist()
    assert asc.open(bridge).spectrum("q")["stable_rank"].tolist() == expected
    bridge.compatibility_mode = True
    with pytest.raises(asc.UnsupportedError, match="before enable_compatibility_mode"):
        asc.open(bridge)
    hooked: Any = type("HookedTransformer", (FakeModel,), {})()
    with pytest.raises(asc.UnsupportedError, match="open the checkpoint that it was made of"):
        asc.open(hooked)


def test_texts_of_tokens_come_with_maps(gpt2: str) -> None:
    for table in (
        asc.open(gpt2).attention(TEXT, maps=True),
        asc.attention(gpt2, text=TEXT, maps=True),
        asc.open(gpt2).predict(TEXT, save=True),
    ):
        assert table.tokens is not None and "".join(table.tokens) == TEXT
        assert len(table.tokens) == table.arrays["attentions"].shape[-1]
    assert asc.open(gpt2).attention(TEXT).tokens is None


def test_missing_files_and_wrong_types_are_usual_exceptions_too(gpt2: str, tmp_path: Any) -> None:
    model = asc.open(gpt2)
    missing: list[Any] = [
        lambda: asc.open(tmp_path / "nothing"),
        lambda: asc.spectrum(tmp_path / "nothing"),
        lambda: model.attention(text_file=tmp_path / "no.txt"),
        lambda: model.attention(TEXT, maps=tmp_path / "no/maps.safetensors"),
    ]
    for call in missing:
        with pytest.raises(FileNotFoundError) as error:
            call()
        assert isinstance(error.value, asc.IoError)
    wrong: list[tuple[Any, type[Exception]]] = [
        (lambda: asc.open(3), TypeError),
        (lambda: model.spectrum(per_head=1), TypeError),  # type: ignore[arg-type]
        (lambda: asc.attention_rank(np.zeros((2, 3, 4))), ValueError),
        (lambda: asc.spectrum(np.zeros(3)), ValueError),
        (lambda: asc.spectrum(np.eye(2) * 1j), TypeError),
        (lambda: asc.attention(maps=[(0, np.ones((2, 2)))]), ValueError),
        (lambda: asc.open({"a": 1}, config={"model_type": "gpt2"}), TypeError),
        (lambda: model.spectrum("q")["nothing"], KeyError),
        (lambda: model.spectrum("q")[99], IndexError),
        (lambda: asc.info(model).plot(), ValueError),
    ]
    for call, kind in wrong:
        with pytest.raises(kind) as found:
            call()
        assert isinstance(found.value, asc.Error), found.value


def test_messages_name_keywords(gpt2: str) -> None:
    model = asc.open(gpt2)
    calls: list[Any] = [
        lambda: model.attention(),
        lambda: model.attention(TEXT, tokens=[1]),
        lambda: model.attention(TEXT, heatmap=(0, 0), maps=True),
        lambda: model.predict(),
        lambda: model.spectrum(mla=True, values=True),
        lambda: model.plan(),
        lambda: model.ablate(),
    ]
    for call in calls:
        with pytest.raises(asc.Error) as error:
            call()
        assert not re.search(r"(^|\s)--[a-z]", str(error.value)), error.value


def test_package_raises_only_its_own_errors() -> None:
    plain = re.compile(r"raise (Type|Value|Key|Index)Error\(")
    for file in SOURCES.glob("*.py"):
        assert not plain.search(file.read_text()), file
    assert issubclass(_errors.UsageTypeError, asc.UsageError)
    assert _core.error_kinds()[0] == ("usage", 2)
