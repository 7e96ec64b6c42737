"""Activations by name."""

import pathlib
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from attnscope._safetensors import arrays_of
from conftest import ROOT

GOLDEN = ROOT / "tests/golden/hooks"
FORWARD = ROOT / "tests/data/forward"
IDS = [3, 17, 8, 25, 11, 30]


def stored(name: str) -> dict[str, np.ndarray]:
    return arrays_of(np.frombuffer((GOLDEN / name).read_bytes(), np.uint8))


def golden_cases() -> list[str]:
    return sorted({name.split("/")[0] for name in stored("expected.safetensors")})


@pytest.mark.parametrize("case", golden_cases())
def test_activations_equal_transformers(case: str) -> None:
    golden = {
        name.removeprefix(f"{case}/"): values
        for name, values in stored("expected.safetensors").items()
        if name.startswith(f"{case}/")
    }
    names = [name for name in golden if "." not in name and name != "tokens"]
    run = asc.open(FORWARD / case).run(tokens=golden["tokens"], activations=names)
    for name in names:
        found, expected = run.arrays[name], golden[name]
        assert found.shape == expected.shape, name
        finite = np.isfinite(expected)
        assert (np.isfinite(found) == finite).all(), name
        # A float32 sum of n terms has an error of n ε relative to its terms: 40 terms per product, 4 layers.
        limit = 160 * np.finfo(np.float32).eps * np.abs(expected[finite]).max()
        assert np.abs(found[finite] - expected[finite]).max() <= limit, name
        layers = golden.get(f"{name}.layers")
        if f"{name}.layers" in run.arrays:
            np.testing.assert_array_equal(run.arrays[f"{name}.layers"], layers)


def test_selections(gpt2: str) -> None:
    model = asc.open(gpt2)
    names = ["resid_post", "z", "k", "pattern", "logits"]
    whole = model.run(tokens=IDS, activations=names).arrays
    part = model.run(tokens=IDS, activations=names, layers=[1, -1], heads=[0, 2], positions="2,last").arrays
    np.testing.assert_array_equal(part["positions"], [2, 5])
    np.testing.assert_array_equal(part["z.layers"], [1, 5])
    np.testing.assert_array_equal(part["z.heads"], [0, 2])
    np.testing.assert_array_equal(part["resid_post"], whole["resid_post"][[1, 5]][:, [2, 5]])
    np.testing.assert_array_equal(part["z"], whole["z"][[1, 5]][:, [2, 5]][:, :, [0, 2]])
    np.testing.assert_array_equal(part["k"], whole["k"][[1, 5]][:, [2, 5]][:, :, [0, 2]])
    np.testing.assert_array_equal(part["pattern"], whole["pattern"][[1, 5]][:, [0, 2]][:, :, [2, 5]])
    np.testing.assert_array_equal(part["logits"], whole["logits"][[2, 5]])


def test_equal_the_arrays_of_save(gpt2: str) -> None:
    model = asc.open(gpt2)
    saved = model.predict(tokens=IDS, save=True).arrays
    run = model.run(tokens=IDS, activations=["resid_pre", "pattern", "final_norm", "logits"]).arrays
    np.testing.assert_array_equal(run["resid_pre"], saved["hidden_states"][:-1])
    np.testing.assert_array_equal(run["final_norm"], saved["hidden_states"][-1])
    np.testing.assert_array_equal(run["pattern"], saved["attentions"])
    np.testing.assert_array_equal(run["logits"], saved["logits"])


def test_sums(llama: str) -> None:
    """The residual stream is the sum of what is added to it."""
    found = asc.open(llama).run(
        tokens=IDS, activations=["resid_pre", "attn_out", "resid_mid", "mlp_out", "resid_post", "result"]
    ).arrays
    np.testing.assert_allclose(found["resid_pre"] + found["attn_out"], found["resid_mid"], atol=1e-5)
    np.testing.assert_allclose(found["resid_mid"] + found["mlp_out"], found["resid_post"], atol=1e-5)
    np.testing.assert_allclose(found["result"].sum(2), found["attn_out"], atol=1e-5)


def test_several_texts_and_types(gpt2: str, tmp_path: pathlib.Path) -> None:
    model = asc.open(gpt2)
    texts = [IDS, IDS[:3]]
    run = model.run(tokens=texts, activations="resid_post", dtype="bfloat16")
    alone = [model.run(tokens=ids, activations="resid_post").arrays["resid_post"] for ids in texts]
    for found, expected in zip(run.arrays["resid_post"], alone, strict=True):
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() <= 2**-8 * np.abs(expected).max()
    half = model.run(tokens=IDS, activations="resid_post", dtype="float16").arrays["resid_post"]
    assert half.dtype == np.float16
    np.testing.assert_array_equal(half, alone[0].astype(np.float16))
    file = tmp_path / "run.safetensors"
    assert model.run(tokens=texts, activations=["resid_post", "z"], save=file).arrays == {}
    names = set(arrays_of(np.fromfile(file, np.uint8)))
    assert names == {f"{name}.{text}" for name in ("tokens", "resid_post", "z") for text in (0, 1)}


def test_wrong_selections(gpt2: str) -> None:
    model = asc.open(gpt2)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"activations": "rot_q"}, "has no 'rot_q'"),
        ({"activations": "hook_z"}, "hook_z"),
        ({"activations": "z", "heads": 6}, "heads 0 to 5"),
        ({"activations": "z", "layers": 9}, "layers 0 to 5"),
        ({"activations": "resid_post", "heads": 1}, "none of the activations has heads"),
        ({"activations": "z", "positions": "9-"}, "positions"),
        ({"activations": "z", "positions": "x"}, "not a list of positions"),
        ({"activations": "z", "dtype": "int8"}, "dtype"),
    ]
    for given, message in cases:
        with pytest.raises(asc.UsageError, match=message):
            model.run(tokens=IDS, **given)
    with pytest.raises(asc.UsageError, match="requires save"):
        model.predict(tokens=IDS, activations="z")
    with pytest.raises(asc.UsageError, match="requires activations"):
        model.predict(tokens=IDS, save=True, positions="last")


@pytest.mark.parametrize("case", ["bart", "t5"])
def test_cross_attention(case: str) -> None:
    """Activations of a decoder equal the arrays of save, and add up."""
    model = asc.open(ROOT / "tests/data/encoder_decoders" / case)
    given: dict[str, Any] = {"tokens": [3, 1, 4, 7], "target_tokens": [0, 5, 7]}
    names = [
        "resid_pre", "attn_out", "resid_mid", "resid_mid_cross", "mlp_out", "resid_post", "pattern", "cross_q", "cross_k",
        "cross_v", "cross_attn_scores", "cross_pattern", "cross_z", "cross_result", "cross_attn_out",
    ]  # fmt: skip
    found = model.run(activations=names, **given).arrays
    saved = model.predict(save=True, **given).arrays
    close: dict[str, Any] = {"rtol": 0, "atol": 2e-6}
    np.testing.assert_allclose(found["pattern"], saved["attentions"], **close)
    np.testing.assert_allclose(found["cross_pattern"], saved["cross_attentions"], **close)
    scores = found["cross_attn_scores"]
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(weights / weights.sum(-1, keepdims=True), found["cross_pattern"], **close)
    heads = np.einsum("lhts,lshd->lthd", found["cross_pattern"], found["cross_v"])
    np.testing.assert_allclose(heads, found["cross_z"], **close)
    assert found["cross_k"].shape == found["cross_v"].shape
    size = np.abs(found["resid_post"]).max()
    if case == "t5":  # BART normalizes the sums, and its projections have biases
        sums = found["resid_mid"] + found["cross_attn_out"]
        np.testing.assert_allclose(sums, found["resid_mid_cross"], rtol=0, atol=1e-6 * size)
        np.testing.assert_allclose(
            found["resid_mid_cross"] + found["mlp_out"], found["resid_post"], rtol=0, atol=1e-6 * size
        )
        np.testing.assert_allclose(
            found["cross_result"].sum(2), found["cross_attn_out"], rtol=0, atol=1e-6 * size
        )
