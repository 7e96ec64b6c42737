"""Activation patching and path patching: arrays, charts and errors."""

import json
import pathlib

import numpy as np
import pytest

import attnscope as asc

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
PROMPT = {
    "clean": "I say that thou",
    "corrupted": "I say that you",
    "correct": " art",
    "incorrect": " are",
}


@pytest.fixture
def prompts(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text(json.dumps(PROMPT))
    return path


@pytest.fixture(scope="module")
def model() -> asc.Model:
    return asc.open(EXAMPLES / "shakespeare-gpt2")


def test_arrays_have_one_axis_per_position(model: asc.Model, prompts: pathlib.Path) -> None:
    residual = model.ablate(prompts=prompts, patch_positions="each", components="resid_pre")
    shares = residual.to_numpy("denoising_effect")
    np.testing.assert_allclose(shares, np.tile([0, 0, 0, 1], (6, 1)), atol=1e-5)
    assert [row["token"] for row in residual[:4]] == ["I", " say", " that", " thou"]
    both = model.ablate(prompts=prompts, patch_positions="each", components=["heads", "mlp"])
    heads = both.filter(component="head").to_numpy("denoising_effect")
    assert heads.shape == (6, 6, 4)
    together = model.ablate(prompts=prompts, patch_positions="all", components="heads")
    np.testing.assert_allclose(together.to_numpy("denoising_effect"), heads[:, :, -1], atol=1e-5)
    with pytest.raises(ValueError, match="several components"):
        both.to_numpy("denoising_effect")


def test_charts_show_components_and_tokens(model: asc.Model, prompts: pathlib.Path) -> None:
    components = ["resid_pre", "heads"]
    table = model.ablate(prompts=prompts, patch_positions="each", components=components)
    assert list(table.charts) == ["patching-resid_pre", "patching-head"]
    assert "thou" in json.dumps(table.charts["patching-head"])


def test_charts_show_effects_of_components_and_paths(model: asc.Model) -> None:
    file = EXAMPLES / "prompts.jsonl"
    heads = [f"prompts-heads-{direction}" for direction in ("denoising", "noising")]
    assert list(model.ablate(prompts=file, components="heads").charts) == heads
    names = ["paths-q", "paths-q-composition", "paths-k", "paths-k-composition"]
    paths = model.ablate(prompts=file, sender="each-layer")
    assert list(paths.charts) == [*names, "paths-v", "paths-v-composition", "paths-logits"]
    assert paths.plot("logits").title == "Direct paths to the logits"


def test_paths_have_senders_and_receivers(model: asc.Model, prompts: pathlib.Path) -> None:
    table = model.ablate(prompts=prompts, sender="L0H1,L0H2", receiver="L3H0.q,L4H1.k", metric="kl")
    assert [(row["sender"], row["receiver"]) for row in table] == [("L0H1,L0H2", "L3H0.q,L4H1.k")]
    assert table["denoising_change"][0] != 0
    with pytest.raises(ValueError, match="not in a layer after the senders"):
        model.ablate(prompts=prompts, sender="L3H1", receiver="L3H0.q")
    with pytest.raises(ValueError, match="patch_positions"):
        model.ablate("To be", patch_positions="each")


def test_attention_that_also_reads_the_embedding_has_no_composition(tmp_path: pathlib.Path) -> None:
    folder = pathlib.Path(__file__).parents[1] / "data/forward/zamba2"
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    vocabulary = {f"t{number}": number for number in range(32)}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "t0"}
    tokenizer = {"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    prompt = {"clean": "t5 t9", "corrupted": "t5 t7", "correct": "t8", "incorrect": "t1"}
    (tmp_path / "prompts.jsonl").write_text(json.dumps(prompt))
    table = asc.open(tmp_path).ablate(prompts=tmp_path / "prompts.jsonl", sender="each-layer")
    assert len(table) > 3
    assert all(row["composition"] is None for row in table)
