"""Live modules that do not return their attention maps: PyTorch, timm, sdpa, TransformerLens, nnsight."""

import pathlib
from typing import Any

import numpy as np
import pytest

import attnscope as asc

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

FORWARD = pathlib.Path(__file__).resolve().parent.parent / "data/forward"


def same_rows(one: asc.Table, other: asc.Table, tolerance: float = 2e-6) -> None:
    """Compare the statistics of two tables, computed from float32 maps."""
    assert one["layer"].tolist() == other["layer"].tolist()
    for name in ("entropy", "sink_mass", "energy_rank", "energy_columns", "uniform_sink_mass"):
        ours, theirs = (
            [np.nan if row.get(name) is None else row[name] for row in table] for table in (one, other)
        )
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance, err_msg=name)


def means(tables: list[asc.Table], name: str) -> Any:
    return np.mean([table.to_numpy(name) for table in tables], axis=0)


def pretrained(name: str, attention: str = "sdpa") -> Any:
    transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")
    return transformers.AutoModelForCausalLM.from_pretrained(
        str(FORWARD / name), attn_implementation=attention, dtype=torch.float32
    ).eval()


def padded(sequences: int = 3, length: int = 12) -> tuple[Any, Any]:
    """Return token ids (N, T) and their mask: the last sequences end earlier."""
    ids = torch.tensor(np.random.default_rng(0).integers(5, 40, (sequences, length)))
    mask = torch.ones_like(ids)
    for at in range(1, sequences):
        mask[at, length - 2 * at :] = 0
    return ids, mask


# ---- PyTorch ---------


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_multihead_attention(batch_first: bool, need_weights: bool) -> None:
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(16, 4, batch_first=batch_first)
    x = torch.randn(3, 7, 16)
    given = x if batch_first else x.transpose(0, 1)
    with torch.no_grad():
        _, maps = module(given, given, given, average_attn_weights=False)
    table = asc.attention(module, {"query": given, "need_weights": need_weights})
    same_rows(table, asc.attention(maps=[(0, maps)]))
    assert table.models[0]["architecture"] == "MultiheadAttention" and module.training
    same_rows(asc.attention(module, given), table)
    same_rows(asc.attention(module, (given, given, given)), table)


def test_multihead_attention_keeps_its_output() -> None:
    torch.manual_seed(0)

    class Block(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, need: bool, average: bool) -> None:
            super().__init__()
            self.attn = torch.nn.MultiheadAttention(8, 2, batch_first=True, add_zero_attn=True)
            self.need, self.average = need, average
            self.outputs: Any = None

        def forward(self, x: Any) -> Any:
            self.outputs = self.attn(
                x, x, x, need_weights=self.need, average_attn_weights=self.average
            )
            return self.outputs[0]

    x = torch.randn(2, 5, 8)
    for need, average in ((True, True), (True, False), (False, True)):
        block = Block(need, average).eval()
        with torch.no_grad():
            block(x)
        before = block.outputs
        table = asc.attention(block, x)
        torch.testing.assert_close(block.outputs[0], before[0])
        if need:
            torch.testing.assert_close(block.outputs[1], before[1])
        else:
            assert block.outputs[1] is None
        # The zero key is not a token: its weight is that of a learned sink.
        assert (table.to_numpy("learned_sink_mass") > 0).all()


def test_cross_attention_of_a_multihead_module() -> None:
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x, memory = torch.randn(2, 6, 16), torch.randn(2, 6, 16)
    padding = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    table = asc.attention(module, dict(query=x, key=memory, key_padding_mask=padding))
    assert {row["stack"] for row in table} == {"cross"}
    with torch.no_grad():
        maps = module(x, memory, memory, key_padding_mask=padding, average_attn_weights=False)[1]
    masks = np.ones((2, 6), int), 1 - padding.numpy()
    same_rows(table, asc.attention(maps={"cross.0": maps}, mask=masks))


def encoder_maps(encoder: Any, x: Any, **masks: Any) -> list[Any]:
    """Compute the maps of an encoder of layers with norm_first=False, one layer at a time."""
    maps = []
    with torch.no_grad():
        for layer in encoder.layers:
            maps.append(layer.self_attn(x, x, x, average_attn_weights=False, **masks)[1])
            x = layer(x, src_key_padding_mask=masks.get("key_padding_mask"))
    return maps


def test_transformer_encoder_with_padding() -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 3).eval()
    x = torch.randn(3, 12, 16)
    padding = padded()[1] == 0
    table = asc.attention(encoder, dict(src=x, src_key_padding_mask=padding))
    assert table.models[0]["layers"] == 3 and table.to_numpy("entropy").shape == (3, 4)
    maps = encoder_maps(encoder, x, key_padding_mask=padding)
    same_rows(table, asc.attention(maps=enumerate(maps), mask=1 - padding.numpy()))
    alone = [asc.attention(encoder, one[None, ~out]) for one, out in zip(x, padding, strict=True)]
    for name in ("entropy", "sink_mass", "energy_rank", "mean_distance"):
        np.testing.assert_allclose(table.to_numpy(name), means(alone, name), atol=2e-6)
    first = asc.attention(encoder.layers[0], x)
    same_rows(first, asc.attention(maps=[(0, encoder_maps(encoder, x)[0])]))


def test_transformer_has_three_stacks() -> None:
    torch.manual_seed(0)
    module = torch.nn.Transformer(16, 4, 2, 3, 32, batch_first=True)
    source, target = torch.randn(2, 9, 16), torch.randn(2, 9, 16)
    table = asc.attention(module, (source, target))
    assert [(one["stack"], one["layers"]) for one in table.models] == [
        ("encoder", 2), ("decoder", 3), ("cross", 3),
    ]
    decoder = asc.attention(module.decoder, (target, source))
    assert [(one["stack"], one["layers"]) for one in decoder.models] == [("decoder", 3), ("cross", 3)]
    assert sorted({row["layer"] for row in decoder if row["stack"] == "cross"}) == [0, 1, 2]


class SdpaLayer(torch.nn.Module):  # type: ignore[misc]
    """A causal layer with grouped-query attention, as in many training scripts."""

    def __init__(self, width: int = 16, heads: int = 4, groups: int = 2) -> None:
        super().__init__()
        size = width // heads
        self.sizes = (heads * size, groups * size, groups * size)
        self.qkv, self.heads, self.groups = torch.nn.Linear(width, sum(self.sizes)), heads, groups
        self.maps: Any = None

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(x).split(self.sizes, -1)
        q, k, v = (
            one.unflatten(-1, (count, -1)).transpose(1, 2)
            for one, count in ((q, self.heads), (k, self.groups), (v, self.groups))
        )
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        scores = (q @ k.repeat_interleave(self.heads // self.groups, 1).mT).double()
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        self.maps = (scores / q.shape[-1] ** 0.5).masked_fill(later, -torch.inf).softmax(-1)
        return out.transpose(1, 2).flatten(2)


def test_functions_of_custom_modules() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(SdpaLayer() for _ in range(3)))
    x = torch.randn(2, 8, 16)
    table = asc.attention(model, x)
    given = asc.attention(maps=[(at, layer.maps.numpy()) for at, layer in enumerate(model)])
    same_rows(table, given)
    assert table.models[0]["causal"]


def test_several_maps_of_one_module_are_refused() -> None:
    class DifferentialAttention(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            scores = x[:, None] @ x[:, None].mT
            return (scores.softmax(-1) - 0.5 * (2 * scores).softmax(-1))[:, 0] @ x

    with pytest.raises(asc.UnsupportedError, match="several attention maps in one call"):
        asc.attention(torch.nn.Sequential(DifferentialAttention()), torch.randn(1, 4, 8))


# ---- transformers ---------


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_oss"])
def test_sdpa_is_switched_to_eager_and_restored(name: str) -> None:
    ids, _ = padded()
    kind = "eager" if name == "gpt_oss" else "sdpa"
    module = pretrained(name, kind)
    with torch.no_grad():
        before = module(ids).logits
    table = asc.attention(module, ids)
    assert module.config._attn_implementation == kind
    same_rows(table, asc.attention(pretrained(name, "eager"), ids), 0)
    with torch.no_grad():
        assert torch.equal(module(ids).logits, before)


def test_sdpa_is_restored_after_an_exception() -> None:
    module = pretrained("gpt2")
    with pytest.raises(IndexError):
        asc.attention(module, torch.full((1, 4), 10**6))
    assert module.config._attn_implementation == "sdpa"
    hooks = [*module.modules()]
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in hooks)


def test_padded_batch_of_an_sdpa_model() -> None:
    module = pretrained("gpt2")
    ids, mask = padded()
    for flipped in (False, True):
        if flipped:
            mask = mask.flip(1)
        places = (mask.cumsum(1) - 1).clamp(min=0)
        table = asc.attention(module, dict(input_ids=ids, attention_mask=mask, position_ids=places))
        alone = [asc.attention(module, one[None, keep > 0]) for one, keep in zip(ids, mask, strict=True)]
        for name in ("entropy", "sink_mass", "energy_rank", "previous_token", "uniform_sink_mass"):
            np.testing.assert_allclose(table.to_numpy(name), means(alone, name), atol=2e-5)


# ---- timm, TransformerLens, nnsight ----


@pytest.mark.parametrize("fused", [True, False])
def test_timm(fused: bool) -> None:
    timm: Any = pytest.importorskip("timm", reason="timm is not installed")
    torch.manual_seed(0)
    model = timm.create_model("vit_tiny_patch16_224", depth=2, img_size=64, num_classes=5).eval()
    x = torch.randn(2, 3, 64, 64)
    maps: list[Any] = []
    for block in model.blocks:
        block.attn.fused_attn = False
        block.attn.attn_drop.register_forward_pre_hook(lambda _, args: maps.append(args[0]))
    with torch.no_grad():
        model(x)
    for block in model.blocks:
        block.attn.fused_attn = fused
        block.attn.attn_drop._forward_pre_hooks.clear()
    table = asc.attention(model, x)
    same_rows(table, asc.attention(maps=enumerate(maps)))
    assert table.to_numpy("entropy").shape == (2, 3) and not table.models[0]["causal"]


def test_transformer_lens() -> None:
    lens: Any = pytest.importorskip("transformer_lens", reason="transformer_lens is not installed")
    ids, mask = padded()
    if hasattr(lens, "TransformerBridge"):
        bridge: Any = pytest.importorskip("transformer_lens.model_bridge")
        model = bridge.TransformerBridge.boot_transformers(str(FORWARD / "gpt2"), dtype=torch.float32)
        known = asc.attention(pretrained("gpt2"), ids[:1])
        same_rows(asc.attention(model, ids[:1]), known)
        same_rows(asc.attention(model, {"input_ids": ids[:1]}), known)
    else:
        config = lens.HookedTransformerConfig(3, 16, 20, 4, n_heads=4, d_vocab=40, act_fn="gelu", seed=0)
        model = lens.HookedTransformer(config).eval()
    _, cache = model.run_with_cache(ids[:1])
    count = len([name for name in cache if name.endswith("hook_pattern")])
    maps = [cache["pattern", at] for at in range(count)]
    same_rows(asc.attention(model, ids[:1]), asc.attention(maps=enumerate(maps)))
    table = asc.attention(model, dict(input=ids, attention_mask=mask))
    alone = [asc.attention(model, one[None, keep > 0]) for one, keep in zip(ids, mask, strict=True)]
    for name in ("entropy", "sink_mass", "energy_rank"):
        np.testing.assert_allclose(table.to_numpy(name), means(alone, name), atol=2e-5)


def test_nnsight() -> None:
    nnsight: Any = pytest.importorskip("nnsight", reason="nnsight is not installed")
    ids, mask = padded()
    module = pretrained("gpt2")
    known = asc.attention(module, dict(input_ids=ids, attention_mask=mask))
    wrapped = nnsight.NNsight(module)
    same_rows(asc.attention(wrapped, dict(input_ids=ids, attention_mask=mask)), known, 0)
    assert module.config._attn_implementation == "sdpa"


def test_compiled_and_parallel_modules() -> None:
    ids, _ = padded()
    module = pretrained("gpt2")
    known = asc.attention(module, ids)
    same_rows(asc.attention(torch.compile(module), ids), known, 0)
    same_rows(asc.attention(torch.nn.DataParallel(module), ids), known, 0)


def test_texts_are_tokenized() -> None:
    transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")
    example = FORWARD.parent.parent.parent / "examples/shakespeare-llama"
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(example))
    module = transformers.AutoModelForCausalLM.from_pretrained(str(example), dtype=torch.float32)
    texts = ["To be, or not to be", "Once more unto the breach, dear friends"]
    table = asc.attention(module, texts, tokenizer=tokenizer)
    alone = [asc.attention(module, tokenizer(text, return_tensors="pt")["input_ids"]) for text in texts]
    np.testing.assert_allclose(table.to_numpy("entropy"), means(alone, "entropy"), atol=1e-7)
    assert asc.attention(module, text=texts, tokenizer=tokenizer) == table
    with pytest.raises(TypeError, match="tokenizer: missing"):
        asc.attention(module, texts)
