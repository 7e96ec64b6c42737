"""Views of live modules: the maps that a run keeps, and the texts of their tokens."""

import pathlib
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from attnscope import _saved_maps
from fake_module import Array, Attention, Model, softmax_maps
from test_head_views import check_maps, maps_of, results_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXT = "To be, or not to be, that is the question"
IDS = np.array([[7, 3, 9, 4, 1, 2], [1, 1, 1, 1, 1, 1]])


class Tokenizer:
    """Names tokens like a SentencePiece tokenizer, whose decode() drops the leading space."""

    def decode(self, ids: list[int]) -> str:
        return "".join(f"t{one}" for one in ids)

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [f"▁t{one}" if one > 3 else f"t{one}" for one in ids]


def module(*layers: Array) -> Model:
    return Model(h=[Attention(maps) for maps in layers])


def texts_in(view: asc.HeadView) -> list[str]:
    return [token.get("text") for token in results_of(view.html)["texts"][0]["tokens"]]


def test_view_has_the_maps_of_the_first_sequence() -> None:
    maps = [softmax_maps(2, 3, 6, 6, seed=seed) for seed in range(2)]
    table = asc.attention(module(*maps), [{"tokens": IDS}, {"tokens": IDS[::-1]}], tokenizer=Tokenizer())
    view = table.view(layer=1, head=2)
    assert len(maps_of(view.html)) == 6
    check_maps(view.html, np.stack([layer[0] for layer in maps]))
    assert texts_in(view) == [" t7", "t3", " t9", " t4", "t1", "t2"]
    assert "all heads" in repr(table.grid()) and not table.arrays
    unnamed = asc.attention(module(*maps), {"tokens": IDS}).view()
    assert [token["id"] for token in results_of(unnamed.html)["texts"][0]["tokens"]] == IDS[0].tolist()


def test_maps_of_a_run_as_arrays() -> None:
    maps = [softmax_maps(2, 3, 6, 6, seed=seed) for seed in range(3)]
    table = asc.attention(module(*maps), {"tokens": IDS}, maps=True, layers=[0, 2], tokenizer=Tokenizer())
    np.testing.assert_array_equal(table.arrays["attentions"], np.stack([maps[0][0], maps[2][0]]))
    assert table.arrays["layers"].tolist() == [0, 2] and table.arrays["tokens"].tolist() == IDS[0].tolist()
    assert table.tokens == [" t7", "t3", " t9", " t4", "t1", "t2"]
    assert "L2H1" in repr(table.view(2, 1))
    with pytest.raises(IndexError, match="layer: 1 is not among the layers"):
        table.view(layer=1)
    with pytest.raises(TypeError, match="maps: with a live module, expected True"):
        asc.attention(module(*maps), {"tokens": IDS}, maps="maps.safetensors")


def test_padding_is_not_shown() -> None:
    maps = np.zeros((2, 2, 6, 6), np.float32)
    maps[0, :, 2:, 2:] = softmax_maps(2, 4, 4)
    maps[0, :, :2, 0] = 1
    maps[1] = softmax_maps(2, 6, 6)
    mask = np.array([[0, 0, 1, 1, 1, 1], [1] * 6])
    inputs = {"tokens": IDS, "attention_mask": mask}
    table = asc.attention(module(maps), inputs, maps=True, tokenizer=Tokenizer())
    np.testing.assert_array_equal(table.arrays["attentions"][0], maps[0][:, 2:, 2:])
    assert texts_in(table.view()) == [" t9", " t4", "t1", "t2"]


def test_maps_of_several_stacks() -> None:
    both = Model(
        encoder=[Attention(softmax_maps(1, 2, 6, 6))], decoder=[Attention(softmax_maps(1, 2, 6, 6, causal=True))]
    )
    table = asc.attention(both, {"tokens": IDS[:1]}, maps=True)
    assert {"encoder_attentions", "decoder_attentions"} <= set(table.arrays)
    assert len(maps_of(table.view().html)) == 2


def test_large_maps_are_kept_only_if_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    maps = [softmax_maps(1, 2, 6, 6), softmax_maps(1, 2, 6, 6, seed=1)]
    monkeypatch.setattr(_saved_maps, "MOST_BYTES", 2 * 36 * 4)
    assert "L0H1" in repr(asc.attention(module(maps[0]), {"tokens": IDS[:1]}).view(0, 1))
    table = asc.attention(module(*maps), {"tokens": IDS[:1]})
    with pytest.raises(asc.UsageError, match="not kept: call attention with maps=True"):
        table.view()
    assert "L1H0" in repr(asc.attention(module(*maps), {"tokens": IDS[:1]}, maps=True).view(1))


def test_maps_of_transformers_match_the_checkpoint() -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")
    path = str(ROOT / "examples/shakespeare-gpt2")
    live = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    expected = asc.open(path).attention(TEXT, maps=True)
    for inputs in (TEXT, tokenizer(TEXT, return_tensors="pt")):
        table = asc.attention(live, inputs, tokenizer=tokenizer, maps=True)
        np.testing.assert_allclose(table.arrays["attentions"], expected.arrays["attentions"], atol=2e-6)
        assert table.arrays["tokens"].tolist() == expected.arrays["tokens"].ravel().tolist()
        assert table.tokens == expected.tokens
        assert texts_in(table.view(3, 2)) == expected.tokens
