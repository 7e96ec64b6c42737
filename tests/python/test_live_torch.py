"""Live modules of PyTorch and transformers, if these are installed."""

import pathlib
from typing import Any

import numpy as np
import pytest

import attnscope as asc

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")

FORWARD = pathlib.Path(__file__).resolve().parent.parent / "data/forward"

# A decoder, one with windows, one with learned sinks, encoders, one whose layers share weights.
KNOWN = ["gpt2", "gemma2", "gpt_oss", "bert", "modernbert", "albert", "bloom", "deepseek_v2", "lfm2"]


OF_WEIGHTS = {"attended_token_effect", "output_ratio"}
"""Fields that need the model's weights or activations, which maps do not have."""


def numbers(table: asc.Table, name: str) -> Any:
    return np.array([np.nan if row.get(name) is None else row[name] for row in table], dtype=float)


def agree(live: asc.Table, known: list[asc.Table]) -> None:
    """Compare a run of several sequences with one run per sequence.

    Both compute maps in float32. Each preceding layer contributes a weight error of some units of
    2^-24. Sums over keys have the same error, times the key's distance or logarithm.
    """
    assert live["layer"].tolist() == known[0]["layer"].tolist()
    names = [name for name in known[0].columns if f"{name}_error" in known[0].columns]
    names += [name for name in known[0].columns if name.startswith("uniform_")]
    for name in names:
        if name in OF_WEIGHTS:
            continue
        ours = np.mean([numbers(table, name) for table in known], axis=0)
        assert np.allclose(numbers(live, name), ours, rtol=0, atol=2e-5, equal_nan=True), name


def tokens(sequences: int, length: int) -> Any:
    return np.random.default_rng(1).integers(5, 40, (sequences, length))


@pytest.mark.parametrize("name", KNOWN)
def test_live_module_matches_checkpoint(name: str) -> None:
    module = transformers.AutoModel.from_pretrained(
        FORWARD / name, attn_implementation="eager", dtype=torch.float32
    )
    ids = tokens(2, 12)
    live = asc.attention(module, {"input_ids": torch.tensor(ids)})
    model = asc.open(str(FORWARD / name))
    agree(live, [model.attention(tokens=row.tolist()) for row in ids])
    assert live.models[0]["layers"] == model.info["layers"]
    assert live.models[0]["causal"] == model.info["causal"]


def test_padding_on_either_side() -> None:
    path = str(FORWARD / "gpt2")
    module = transformers.AutoModel.from_pretrained(
        path, attn_implementation="eager", dtype=torch.float32
    )
    ids = torch.tensor(tokens(3, 12))
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    mask[2, :5] = 0
    places = (mask.cumsum(1) - 1).clamp(min=0)
    live = asc.attention(module, dict(input_ids=ids, attention_mask=mask, position_ids=places))
    model = asc.open(path)
    kept = [row[one > 0].tolist() for row, one in zip(ids, mask, strict=True)]
    agree(live, [model.attention(tokens=row) for row in kept])


def test_custom_architecture() -> None:
    class Mixer(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.queries, self.keys = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            q, k, v = (each.unflatten(-1, (2, 4)).transpose(1, 2) for each in
                       (self.queries(x), self.keys(x), x))
            weights = torch.softmax(q @ k.mT, -1)
            return (weights @ v).transpose(1, 2).flatten(2), weights

    class Own(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.blocks = torch.nn.ModuleList(Mixer() for _ in range(3))
            self.kept: list[Any] = []

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                out, weights = block(x)
                self.kept.append(weights)
                x = x + out
            return x

    torch.manual_seed(0)
    own = Own()
    table = asc.attention(own, torch.randn(2, 6, 8))
    given = asc.attention(maps=enumerate(own.kept))
    assert np.array_equal(table["entropy"], given["entropy"], equal_nan=True)
    assert table.models[0]["architecture"] == "Own"
    assert not own.kept[0].requires_grad and own.training


def test_encoder_decoders_have_three_stacks() -> None:
    config = transformers.T5Config(
        vocab_size=50, d_model=16, d_kv=4, d_ff=32, num_layers=2, num_decoder_layers=3, num_heads=4
    )
    module = transformers.T5ForConditionalGeneration(config).eval()
    module.set_attn_implementation("eager")
    inputs = dict(
        input_ids=torch.tensor(tokens(2, 9)), decoder_input_ids=torch.tensor(tokens(2, 5)),
        attention_mask=torch.tensor([[1] * 9, [1] * 6 + [0] * 3]),
        decoder_attention_mask=torch.tensor([[1] * 5, [1] * 3 + [0] * 2]),
    )
    live = asc.attention(module, inputs)
    assert [(one["stack"], one["layers"]) for one in live.models] == [
        ("encoder", 2), ("decoder", 3), ("cross", 3),
    ]
    with torch.no_grad():
        output = module(**inputs, output_attentions=True)
    own, other = inputs["attention_mask"].numpy(), inputs["decoder_attention_mask"].numpy()
    given = asc.attention(
        maps=[(f"encoder.{at}", one) for at, one in enumerate(output.encoder_attentions)], mask=own
    )
    encoder = [row for row in live if row["stack"] == "encoder"]
    assert [row.get("entropy") for row in encoder] == [row.get("entropy") for row in given]
    given = asc.attention(
        maps=[(f"cross.{at}", one) for at, one in enumerate(output.cross_attentions)],
        mask=(other, own),
    )
    cross = [row for row in live if row["stack"] == "cross"]
    assert [row.get("entropy") for row in cross] == [row.get("entropy") for row in given]


def test_half_precision() -> None:
    maps = torch.softmax(torch.randn(1, 2, 40, 40), -1)
    for dtype in (torch.bfloat16, torch.float16):
        rounded = maps.to(dtype)
        given = asc.attention(maps=[(0, rounded)])
        wide = rounded.double()
        entropy = -(wide * wide.log().nan_to_num(0, 0, 0)).sum(-1).mean(-1)[0]
        assert np.allclose(given["entropy"][:2], entropy, atol=1e-9)


def test_output_and_modules_in_the_place_of_models() -> None:
    module = transformers.AutoModelForCausalLM.from_pretrained(
        str(FORWARD / "gpt2"), attn_implementation="eager", dtype=torch.float32
    )
    ids = torch.tensor(tokens(2, 12))
    output = module(ids, output_attentions=True)
    found = asc.attention(output.attentions)
    assert found == asc.attention(output) == asc.attention(torch.stack(output.attentions))
    known = asc.attention(str(FORWARD / "gpt2"), tokens=ids)
    np.testing.assert_allclose(found.to_numpy("entropy"), known.to_numpy("entropy"), atol=2e-5)
    assert asc.spectrum(module, matrix="W_Q")["shape"].tolist() == [[24, 24]] * len(module.transformer.h)
    with pytest.raises(asc.UsageError, match="output_attentions=True"):
        asc.attention(module(ids))


def test_adapters_are_merged() -> None:
    peft: Any = pytest.importorskip("peft", reason="PEFT is not installed")
    module = transformers.AutoModelForCausalLM.from_pretrained(str(FORWARD / "gpt2"))
    base = asc.spectrum(module, matrix="q")["stable_rank"].tolist()
    lora = peft.LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True, init_lora_weights=False)
    adapted = peft.get_peft_model(module, lora)
    with pytest.raises(asc.UnsupportedError, match="merge_and_unload"):
        asc.open(adapted.get_base_model().state_dict(), config=module.config)
    found = asc.spectrum(adapted, matrix="q")["stable_rank"].tolist()
    assert found == asc.spectrum(adapted.merge_and_unload(), matrix="q")["stable_rank"].tolist()
    assert found != base
