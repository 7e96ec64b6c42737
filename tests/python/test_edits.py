"""Edits of activations while a model runs."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from attnscope._safetensors import arrays_of
from conftest import ROOT
from test_activations import FORWARD, GOLDEN, IDS, stored

CASES: list[dict[str, Any]] = json.loads((GOLDEN / "edits.json").read_text())


@pytest.mark.parametrize("index", range(len(CASES)))
def test_logits_equal_hooks_of_pytorch(index: int, tmp_path: pathlib.Path) -> None:
    case, expected = CASES[index], stored("edits.safetensors")[str(index)]
    file = tmp_path / "edits.json"
    file.write_text(json.dumps(case["edits"]))
    model = asc.open(FORWARD / case["model"])
    found = model.run(tokens=case["tokens"], activations="logits", edits=file).arrays["logits"]
    plain = model.run(tokens=case["tokens"], activations="logits").arrays["logits"]
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()
    assert np.abs(plain - expected).max() > 1e-3 * np.abs(expected).max()


EDITS: dict[str, dict[str, Any]] = {
    "resid_post": {"layer": 2, "add": np.linspace(-2, 2, 192)},
    "z": {"layer": 1, "head": 3, "set": 0},
    "k": {"layer": 0, "head": 1, "scale": 2},
    "v": {"layer": 3, "add": 0.25},
    "q": {"layer": 2, "head": [0, 5], "scale": -1},
    "attn_scores": {"layer": 1, "head": 2, "scale": 0.5},
    "pattern": {"layer": 4, "scale": 0.5},
    "result": {"layer": 2, "head": 0, "scale": 3},
    "mlp_post": {"layer": 1, "scale": 0.5},
    "final_norm": {"scale": 0.5},
}


@pytest.mark.parametrize("positions", [None, "last", "each-new", [1, 3]])
@pytest.mark.parametrize("name", EDITS)
def test_generation_equals_runs_of_the_whole_text(gpt2: str, name: str, positions: Any) -> None:
    model = asc.open(gpt2)
    edit = asc.Edit(name, positions=positions, **EDITS[name])
    steps = 4
    generated = model.predict(tokens=IDS, generate=steps, edits=edit)
    found = [token["id"] for token in generated.models[0]["generated"]["tokens"]]
    text = list(IDS)
    for _ in range(steps):
        new = list(range(len(IDS), len(text)))
        places = {"last": [len(IDS) - 1], "each-new": new}.get(str(positions), positions)
        edits = [] if places == [] else [asc.Edit(name, positions=places, **EDITS[name])]
        arrays = model.run(tokens=text, activations="logits", edits=edits or None).arrays
        text.append(int(arrays["logits"][-1].argmax()))
    assert found == text[len(IDS) :]


def test_patching_from_a_run(gpt2: str) -> None:
    """All of the last layer's output from another run gives that run's logits."""
    model = asc.open(gpt2)
    other = [5, 6, 7, 8, 9, 10]
    source = model.run(tokens=other, activations=["resid_post", "z", "logits"])
    patched = model.run(
        tokens=IDS, activations="logits", edits=asc.Edit("resid_post", layer=5, from_run=source)
    )
    np.testing.assert_array_equal(patched.arrays["logits"], source.arrays["logits"])
    head = model.run(
        tokens=IDS,
        activations="z",
        edits=asc.Edit("z", layer=2, head=1, positions="last", from_run=source),
    ).arrays["z"]
    np.testing.assert_array_equal(head[2, -1, 1], source.arrays["z"][2, -1, 1])
    with pytest.raises(asc.UsageError, match="6 tokens, but this text has 3"):
        model.run(tokens=IDS[:3], activations="z", edits=asc.Edit("z", layer=2, from_run=source))
    pairs = asc.Edit("z", layer=2, positions=[0, 1], from_positions=[4, 5], from_run=source)
    found = model.run(tokens=IDS[:3], activations="z", edits=pairs).arrays["z"]
    np.testing.assert_array_equal(found[2, :2], source.arrays["z"][2, 4:])


@pytest.mark.parametrize("name", ["resid_post", "z", "k", "result", "mlp_post", "pattern", "attn_scores"])
def test_a_run_equals_its_arrays(gpt2: str, name: str, tmp_path: pathlib.Path) -> None:
    """from_run gives exactly the results of set with the arrays of that run, also in files."""
    model = asc.open(gpt2)
    other = [5, 6, 7, 8, 9, 10]
    # Scores of other layers would change the last digits of those of this layer.
    source = model.run(tokens=other, activations=name, layers=2)
    array = source.arrays[name][0]
    file = tmp_path / "run.safetensors"
    model.run(tokens=other, activations=name, layers=2, save=file)
    maps = name in ("pattern", "attn_scores")
    heads: list[Any] = [None] if name in ("resid_post", "mlp_post") else [None, 3, [4, 1]]
    rows: list[tuple[Any, Any]] = [(None, slice(None)), ("last", [5]), ([4, -5], [4, 1]), ("2-", slice(2, 6))]
    for head in heads:
        for positions, at in rows:
            own = array if head is None else np.take(array, head, axis=0 if maps else 1)
            value = own[..., at, :] if maps else own[at]
            place: dict[str, Any] = {"layer": 2, "head": head}
            given = place | {"positions": positions}

            def logits(edits: Any) -> Any:
                return model.run(tokens=IDS, activations="logits", edits=edits).arrays["logits"]

            expected = logits(asc.Edit(name, set=value, **given))
            np.testing.assert_array_equal(logits(asc.Edit(name, from_run=source, **given)), expected)
            record = {"name": name} | {key: value for key, value in given.items() if value is not None}
            for run in ({"tokens": other}, {"file": str(file)}):
                (tmp_path / "edits.json").write_text(json.dumps([record | {"from_run": run}]))
                np.testing.assert_array_equal(logits(tmp_path / "edits.json"), expected)


LABELS: list[dict[str, Any]] = json.loads((GOLDEN / "edits_labels.json").read_text())


@pytest.mark.parametrize("index", range(len(LABELS)))
def test_labels_equal_hooks_of_pytorch(index: int, tmp_path: pathlib.Path) -> None:
    case, expected = LABELS[index], stored("edits_labels.safetensors")[str(index)]
    (tmp_path / "edits.json").write_text(json.dumps(case["edits"]))
    folder = FORWARD.parent / case["model"]
    given: dict[str, Any] = {"tokens": case["tokens"]}
    if case["tokens"] is None:
        images = np.frombuffer((folder / "images.safetensors").read_bytes(), np.uint8)
        given = {"pixel_values": arrays_of(images)["pixel_values.0"]}
    found = asc.open(folder).predict(**given, top=100, edits=tmp_path / "edits.json")
    logits = np.zeros_like(expected)
    for row in found:
        logits[(row["position"], row["label_id"]) if logits.ndim == 2 else row["label_id"]] = row["logit"]
    assert np.abs(logits - expected).max() <= 1e-5 * np.abs(expected).max()
    assert found.parameters["edits_hash"]


def test_prompts_labels_and_stores(gpt2: str, tmp_path: pathlib.Path) -> None:
    model = asc.open(gpt2)
    edit = asc.Edit("z", layer=1, head=2, scale=-1)
    prompts = [{"clean": IDS, "correct": 5, "incorrect": 9}]
    logits = model.run(tokens=IDS, activations="logits", edits=edit).arrays["logits"][-1]
    expected = pytest.approx(float(logits[5]) - float(logits[9]), abs=1e-5)
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in prompts))
    assert model.lens(prompts=file, edits=edit)["logit_difference"][-1] == expected
    attributed = model.predict(prompts=file, attribution=True, edits=edit)
    assert sum(attributed["direct_effect"]) == expected
    assert attributed.models[0]["attributed"]["logit"] == expected
    with pytest.raises(asc.UnsupportedError, match="changes the residual stream"):
        model.predict(prompts=file, attribution=True, edits=asc.Edit("resid_mid", layer=0, scale=2))
    classifier = asc.open(FORWARD.parent / "classifiers/bert")
    head = asc.Edit("z", layer=1, head=1, scale=-1)
    label = classifier.lens(tokens=[7, 14, 21], label="1", edits=head)["label_logit"][-1]
    rows = classifier.predict(tokens=[7, 14, 21], edits=head)
    assert label == pytest.approx(next(row["logit"] for row in rows if row["label_id"] == 1), abs=1e-6)
    store = tmp_path / "rows.sqlite"
    plain = model.lens(tokens=IDS, store=store)
    source = model.run(tokens=[5, 6, 7, 8, 9, 10], activations="z")
    for edits in (edit, asc.Edit("z", layer=1, head=2, scale=-2), asc.Edit("z", layer=1, from_run=source)):
        first, again = (model.lens(tokens=IDS, edits=edits, store=store) for _ in range(2))
        assert list(first["loss"]) == list(again["loss"]) == list(model.lens(tokens=IDS, edits=edits)["loss"])
        assert first.parameters["edits_hash"] == again.parameters["edits_hash"]
        assert first["loss"][-1] != plain["loss"][-1]
    assert list(model.lens(tokens=IDS, store=store)["loss"]) == list(plain["loss"])


def test_lens_attention_and_perplexity(gpt2: str) -> None:
    model = asc.open(gpt2)
    end = asc.Edit("mlp_out", layer=0, scale=0)
    plain, edited = model.lens(tokens=IDS), model.lens(tokens=IDS, edits=end)
    assert plain["loss"][0] == edited["loss"][0]
    assert plain["loss"][1] != edited["loss"][1]
    uniform = asc.Edit("attn_scores", layer=1, scale=0)
    maps = model.attention(tokens=IDS, edits=uniform)
    layer = [row for row in maps if row["layer"] == 1 and row["scope"] == "head"]
    assert len(layer) == 6
    for row in layer:
        assert row["previous_token"] == pytest.approx(row["uniform_previous_token"], rel=1e-5)
    pattern = model.run(tokens=IDS, activations="pattern", layers=1, edits=uniform).arrays["pattern"]
    expected = np.tril(np.ones((len(IDS), len(IDS)))) / np.arange(1, len(IDS) + 1)[:, None]
    np.testing.assert_allclose(pattern[0], np.broadcast_to(expected, (6, *expected.shape)), atol=1e-7)
    longer = list(range(5, 60))
    losses = model.predict(tokens=longer, perplexity=True).models[0]["perplexity"]["mean_nll"]
    changed = model.predict(tokens=longer, perplexity=True, edits=end).models[0]["perplexity"]["mean_nll"]
    assert losses != changed
    same = model.predict(tokens=longer, perplexity=True, edits=asc.Edit("z", scale=1)).models[0]["perplexity"]["mean_nll"]
    assert same == pytest.approx(losses, rel=1e-6)


def test_wrong_edits(gpt2: str, tmp_path: pathlib.Path) -> None:
    model = asc.open(gpt2)
    for edit, message in (
        (asc.Edit("rot_q", scale=0), "has no 'rot_q'"),
        (asc.Edit("z", layer=6, scale=0), "layers 0 to 5"),
        (asc.Edit("z", head=6, scale=0), "heads 0 to 5"),
        (asc.Edit("resid_post", head=0, scale=0), "no heads"),
        (asc.Edit("resid_post", layer=0, set=np.zeros(5)), "does not fit"),
        (asc.Edit("resid_post", project_out=np.zeros(192)), "not 0"),
        (asc.Edit("z", positions=[1, 6], scale=0), "past the end of the text of 6 tokens"),
        (asc.Edit("logits", scale=0), "cannot be edited"),
        (asc.Edit("pattern", set=np.zeros(7)), "does not fit"),
        (asc.Edit("z", layer=0, scale=float("nan")), "NaN or infinite"),
        (asc.Edit("z", layer=0, add=float("inf")), "NaN or infinite"),
    ):
        with pytest.raises(asc.UsageError, match=message):
            model.run(tokens=IDS, activations="resid_post", edits=edit)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "exactly one"),
        ({"set": 1, "add": 2}, "exactly one"),
        ({"set": "x"}, "number or an array"),
    ]
    for keywords, message in wrong:
        with pytest.raises((asc.UsageError, TypeError), match=message):
            asc.Edit("z", **keywords)
    file = tmp_path / "edits.json"
    for text, message in (
        ("[]", r'not a list of edits \(for example \[{"name": "z", [^}]*}\]\)$'),
        ('[{"name": "z", "layer": 0, "set": 1e300}]', "NaN or infinite"),
        ('[{"name": "z", "scale": 0, "x": 1}]', "unknown key 'x'"),
        ('[{"name": "z"}]', "has none of"),
        ('[{"scale": 1}]', "missing 'name'"),
        ('[{"name": "z", "set": [[1], [2, 3]]}]', "equal lengths"),
        ('[{"name": "z", "scale": 1, "positions": "x"}]', "not a list of positions"),
        ('[{"name": "z", "from_run": 1}]', "'from_run' is not an object"),
        ('[{"name": "z", "from_run": {"file": "edits.json"}}]', "not a .safetensors file"),
    ):
        file.write_text(text)
        with pytest.raises(asc.UsageError if "NaN" in message else asc.FormatError, match=message):
            model.run(tokens=IDS, activations="z", edits=file)
