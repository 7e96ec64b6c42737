"""Attention maps as activations of live models, and induction ablation into one head."""

import pathlib
from typing import Any

import numpy as np
import pytest

import attnscope as asc

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")
safetensors: Any = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")

FORWARD = pathlib.Path(__file__).resolve().parent.parent / "data/forward"
TOKENS = [[5, 9, 3, 17, 8, 11, 4], [7, 3, 3]]

# Learned positions, GQA, a soft cap and windows, a bidirectional model, MLA.
MODELS = {
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "bert": "BertForMaskedLM",
    "deepseek_v2": "DeepseekV2ForCausalLM",
}
SINKS = {"gpt_oss": "GptOssForCausalLM"}
ALIBI = {"bloom": "BloomForCausalLM"}


def module_of(name: str) -> Any:
    kind = getattr(transformers, (MODELS | SINKS | ALIBI)[name])
    given = {"experts_implementation": "eager"} if name in ("gpt_oss", "deepseek_v2") else {}
    return kind.from_pretrained(FORWARD / name, dtype=torch.float32, **given)


def same(live: asc.Table, file: asc.Table) -> None:
    assert live.columns == file.columns
    assert len(live) == len(file) > 0
    for one, other in zip(live, file, strict=True):
        for name, value in other.items():
            if isinstance(value, (float, np.ndarray)):
                assert one[name] == pytest.approx(value, rel=1e-4, abs=1e-4), (name, other)
            elif name != "model":
                assert one[name] == value


@pytest.mark.parametrize("name", MODELS)
def test_maps_are_activations(name: str) -> None:
    module = module_of(name)
    kind = module.config._attn_implementation
    names = ["attn_scores", "pattern", "resid_post"]
    given: dict[str, Any] = {"tokens": TOKENS, "activations": names}
    found, expected = asc.live(module).run(**given), asc.open(FORWARD / name).run(**given)
    for key in names:
        for one, other in zip(found.arrays[key], expected.arrays[key], strict=True):
            assert one.shape == other.shape
            assert one == pytest.approx(other, rel=1e-4, abs=1e-4)
    assert module.config._attn_implementation == kind


@pytest.mark.parametrize("name", ["gpt2", "llama", "bloom"])
@pytest.mark.parametrize(
    "edits",
    [
        asc.Edit("pattern", layer=1, head=1, scale=0),
        asc.Edit("attn_scores", layer=0, scale=0.25),
        [asc.Edit("attn_scores", layer=1, head=0, scale=2), asc.Edit("pattern", layer=1, scale=0.5)],
    ],
)
def test_maps_are_edited(name: str, edits: Any) -> None:
    module = module_of(name)
    given: dict[str, Any] = {"tokens": TOKENS[0], "top": 3}
    expected = asc.open(FORWARD / name).predict(edits=edits, **given)
    same(asc.live(module).predict(edits=edits, **given), expected)
    assert expected["logit"].tolist() != asc.live(module).predict(**given)["logit"].tolist()


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_edited_attention_equals_files(name: str, tmp_path: pathlib.Path) -> None:
    live, file = asc.live(module_of(name)), asc.open(FORWARD / name)
    edits = [asc.Edit("z", layer=0, head=1, scale=0), asc.Edit("pattern", layer=1, scale=0.5)]
    cases: list[dict[str, Any]] = [{"edits": edits}, {"heatmap": (1, 0)}, {"heatmap": (1, 0), "edits": edits[0]}]
    for given in cases:
        one, other = (model.attention(tokens=TOKENS[0], **given) for model in (live, file))
        same(one, other)
    assert live.attention(tokens=TOKENS[0])["entropy"].tolist() != live.attention(
        tokens=TOKENS[0], edits=edits)["entropy"].tolist()
    saved = [tmp_path / "live.safetensors", tmp_path / "file.safetensors"]
    for model, path in zip((live, file), saved, strict=True):
        model.attention(tokens=TOKENS[0], maps=path)
    maps = [safetensors.load_file(path)["attentions"] for path in saved]
    assert maps[0] == pytest.approx(maps[1], abs=1e-5)


def test_generated_tokens_have_edited_maps() -> None:
    edit = asc.Edit("pattern", layer=1, scale=0.1)
    given: dict[str, Any] = {"tokens": TOKENS[0], "generate": 4, "edits": edit}
    found = asc.live(module_of("llama")).predict(**given)
    expected = asc.open(FORWARD / "llama").predict(**given)
    assert found.models[0]["generated"] == expected.models[0]["generated"]


def test_weights_next_to_sinks() -> None:
    module = module_of("gpt_oss")
    live, file = asc.live(module), asc.open(FORWARD / "gpt_oss")
    edits = asc.Edit("pattern", layer=1, head=1, scale=0)
    same(live.predict(tokens=TOKENS[0], edits=edits), file.predict(tokens=TOKENS[0], edits=edits))
    with pytest.raises(asc.UnsupportedError, match="'attn_scores' of layer 0: .* sinks are shifted"):
        live.run(tokens=TOKENS[0], activations="attn_scores")


def test_scores_with_alibi_differ_by_a_constant_per_query() -> None:
    given: dict[str, Any] = {"tokens": TOKENS[0], "activations": "attn_scores"}
    found = asc.live(module_of("bloom")).run(**given).arrays["attn_scores"]
    expected = asc.open(FORWARD / "bloom").run(**given).arrays["attn_scores"]
    for query in range(len(TOKENS[0])):
        off = found[..., query, : query + 1] - expected[..., query, : query + 1]
        assert off == pytest.approx(off[..., :1].repeat(query + 1, -1), abs=1e-4)


def test_attention_without_softmax_is_refused() -> None:
    module = transformers.FalconForCausalLM.from_pretrained(FORWARD / "falcon-rw", dtype=torch.float32)
    with pytest.raises(asc.UnsupportedError, match="'pattern' of layer 0: .* computes no softmax"):
        asc.live(module).run(tokens=TOKENS[0], activations="pattern")


def test_other_eager_attention_is_refused() -> None:
    from transformers import AttentionInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    def doubled(*args: Any, **kwargs: Any) -> Any:
        output, maps = sdpa_attention_forward(*args, **kwargs)
        return 2 * output, maps

    AttentionInterface.register("doubled", doubled)
    module = module_of("llama")
    module.set_attn_implementation("doubled")
    with pytest.raises(asc.UnsupportedError, match="gives other hidden states than doubled"):
        asc.live(module).run(tokens=TOKENS[0], activations="pattern")
    assert module.config._attn_implementation == "doubled"


@pytest.mark.parametrize("receiver", ["L1H1", "L1H0.k"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_induction_into_one_head_equals_files(name: str, receiver: str) -> None:
    module = module_of(name)
    given: dict[str, Any] = {"induction": True, "receiver": receiver, "sequences": 2, "length": 12}
    expected = asc.open(FORWARD / name).ablate(**given)
    same(asc.live(module).ablate(**given), expected)
    assert max(expected["write_change"]) > 1e-3
