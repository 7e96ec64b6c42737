"""Live modules in wrappers: PEFT adapters, torch.compile, bitsandbytes, TransformerLens."""

import copy
import json
import pathlib
from typing import Any

import numpy as np
import pytest

import attnscope as asc

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")

FORWARD = pathlib.Path(__file__).resolve().parent.parent / "data/forward"
TOKENS = [[5, 9, 3, 17, 8, 11, 4], [7, 3, 3, 12, 6, 10, 9]]


def loaded(name: str = "llama") -> Any:
    kind = {"gpt2": transformers.GPT2LMHeadModel, "llama": transformers.LlamaForCausalLM}[name]
    return kind.from_pretrained(FORWARD / name, dtype=torch.float32)


def check_equal(live: Any, expected: Any, loss: float = 1e-4) -> None:
    """Compare rows: losses within `loss`, relative; effects within `loss` times the baseline."""
    for how in ("zero", "mean"):
        one, other = (each.ablate(tokens=TOKENS, ablation=how) for each in (live, expected))
        tolerance = loss * other["loss"][0]
        assert one["loss"].tolist() == pytest.approx(other["loss"].tolist(), rel=loss)
        for name in ("loss_increase", "kl", "direct_effect"):
            assert one[name].tolist() == pytest.approx(other[name].tolist(), abs=tolerance)
    one, other = (each.lens(tokens=TOKENS) for each in (live, expected))
    assert one["loss"].tolist() == pytest.approx(other["loss"].tolist(), rel=loss)
    one, other = (each.attention(tokens=TOKENS) for each in (live, expected))
    for name in ("entropy", "output_ratio"):
        assert one[name].tolist() == pytest.approx(other[name].tolist(), rel=10 * loss, abs=10 * loss, nan_ok=True)


# ---- PEFT ----


def adapter(kind: str, name: str) -> Any:
    """Return the configuration of an adapter whose weights are not zero."""
    peft: Any = pytest.importorskip("peft", reason="PEFT is not installed")
    attention = ["c_attn", "c_proj"] if name == "gpt2" else ["q_proj", "v_proj", "o_proj"]
    both = [*attention, "c_fc" if name == "gpt2" else "down_proj"]
    turned: dict[str, Any] = {"fan_in_fan_out": True} if name == "gpt2" else {}
    if kind == "ia3":
        return peft.IA3Config(target_modules=both, feedforward_modules=both[-1:], init_ia3_weights=False, **turned)
    if kind == "lokr":
        return peft.LoKrConfig(target_modules=both, r=2, init_weights=False)
    special: dict[str, Any] = {"dora": {"use_dora": True}, "saved": {"modules_to_save": ["lm_head"]}}
    if kind == "embedding":
        both = [*both, "wte" if name == "gpt2" else "embed_tokens"]
    return peft.LoraConfig(target_modules=both, r=2, lora_alpha=8, init_lora_weights=False, **special.get(kind, {}), **turned)


def adapted(kind: str, name: str) -> Any:
    peft: Any = pytest.importorskip("peft", reason="PEFT is not installed")
    torch.manual_seed(3)
    module = peft.get_peft_model(loaded(name), adapter(kind, name))
    with torch.no_grad():
        for key, value in module.named_parameters():
            if "modules_to_save" in key:
                value += 0.05 * torch.randn_like(value)
    return module.eval()


@pytest.mark.parametrize(
    ("kind", "name"),
    [("lora", "llama"), ("lora", "gpt2"), ("dora", "llama"), ("ia3", "llama"), ("ia3", "gpt2"),
     ("lokr", "llama"), ("saved", "llama"), ("embedding", "llama")],
)  # fmt: skip
def test_adapters_count(kind: str, name: str) -> None:
    module = adapted(kind, name)
    before = {key: value.clone() for key, value in module.state_dict().items()}
    live = asc.live(module)
    merged = copy.deepcopy(module).merge_and_unload()
    check_equal(live, asc.open(merged))
    base = asc.live(loaded(name)).ablate(tokens=TOKENS)
    assert abs(base["loss"][0] - live.ablate(tokens=TOKENS)["loss"][0]) > 1e-3  # adapters matter
    assert live.weights()["std"].tolist() == asc.open(merged).weights()["std"].tolist()
    after = module.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], value) for key, value in after.items())


def test_saved_adapter_equals_files(tmp_path: pathlib.Path) -> None:
    module = adapted("lora", "llama")
    module.save_pretrained(tmp_path)
    name = f"{FORWARD / 'llama'}+{tmp_path}"
    check_equal(asc.live(module), asc.open(name))
    check_equal(asc.live(name, dtype="float32"), asc.open(name))
    with pytest.raises(asc.IoError, match="PEFT cannot load"):
        asc.live(f"{FORWARD / 'llama'}+{tmp_path / 'absent'}")


def test_folder_without_weights(tmp_path: pathlib.Path) -> None:
    (tmp_path / "config.json").write_text((FORWARD / "llama/config.json").read_text())
    with pytest.raises(asc.IoError, match="transformers cannot load"):
        asc.live(tmp_path)


def test_adapter_of_transformers() -> None:
    module = loaded()
    torch.manual_seed(3)
    module.add_adapter(adapter("lora", "llama"))
    check_equal(asc.live(module), asc.open(adapted("lora", "llama")))


def test_disabled_and_merged_adapters() -> None:
    module = adapted("lora", "llama")
    with module.disable_adapter():
        check_equal(asc.live(module), asc.open(FORWARD / "llama"))
    expected = asc.open(copy.deepcopy(module).merge_and_unload())
    module.merge_adapter()
    check_equal(asc.live(module), expected)


def test_adapters_that_are_no_weights_are_refused() -> None:
    peft: Any = pytest.importorskip("peft", reason="PEFT is not installed")
    config = peft.PromptTuningConfig(num_virtual_tokens=2, task_type="CAUSAL_LM")
    module = peft.get_peft_model(loaded(), config)
    for call in (asc.live, asc.open):
        with pytest.raises(asc.UnsupportedError, match="PROMPT_TUNING: it changes the input"):
            call(module)


# ---- torch.compile ----


def counting(calls: list[int]) -> Any:
    def backend(graph: Any, _: Any) -> Any:
        calls.append(1)
        return graph.forward

    return backend


@pytest.mark.parametrize("place", ["whole", "in place", "layers"])
def test_compiled_modules(place: str) -> None:
    module, calls = loaded().eval(), list[int]()
    backend = counting(calls)
    if place == "whole":
        module = torch.compile(module, backend=backend)
    elif place == "in place":
        module.compile(backend=backend)
    else:
        layers = module.model.layers
        for at, layer in enumerate(layers):
            layers[at] = torch.compile(layer, backend=backend)
    ids = torch.tensor(TOKENS)
    with torch.no_grad():
        expected = module(ids).logits
    assert calls
    live = asc.live(module)
    check_equal(live, asc.open(FORWARD / "llama"))
    with torch.no_grad():  # it still runs compiled
        assert torch.allclose(module(ids).logits, expected)


def test_compiled_module_with_adapters() -> None:
    module = adapted("lora", "llama")
    expected = asc.open(copy.deepcopy(module).merge_and_unload())
    check_equal(asc.live(torch.compile(module, backend="eager")), expected)


# ---- bitsandbytes ----


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A model whose rows fill the blocks that bitsandbytes quantizes."""
    path = tmp_path_factory.mktemp("wide")
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=40, max_position_embeddings=64, initializer_range=0.3,
        tie_word_embeddings=False,
    )  # fmt: skip
    torch.manual_seed(5)
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    return path


def quantized(bits: int, path: pathlib.Path) -> Any:
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    config = transformers.BitsAndBytesConfig(
        load_in_4bit=bits == 4, load_in_8bit=bits == 8, bnb_4bit_compute_dtype=torch.float32
    )
    kind = transformers.LlamaForCausalLM
    return kind.from_pretrained(path, dtype=torch.float32, quantization_config=config, device_map="cpu")


def with_weights(path: pathlib.Path, weight_of: Any) -> Any:
    """Return the model of a folder, with other weights in the layers: `weight_of(path)`."""
    module = transformers.LlamaForCausalLM.from_pretrained(path, dtype=torch.float32)
    with torch.no_grad():
        for name, part in module.named_modules():
            if isinstance(part, torch.nn.Linear) and name != "lm_head":
                part.weight.copy_(weight_of(name))
    return module


@pytest.mark.parametrize(("bits", "loss"), [(4, 1e-4), (8, 2e-2)])
def test_quantized_modules(bits: int, loss: float, wide: pathlib.Path) -> None:
    module = quantized(bits, wide)
    dequantize = transformers.integrations.bitsandbytes.dequantize_bnb_weight

    def weight_of(name: str) -> Any:
        part = module.get_submodule(name)
        return dequantize(part.weight, part.state if bits == 8 else None)

    live, same = asc.live(module), asc.open(with_weights(wide, weight_of))
    check_equal(live, same, loss)  # 8-bit modules also round their inputs
    found, expected = (np.array(one.weights()["std"], float) for one in (live, same))
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert found.tolist() != asc.open(wide).weights()["std"].tolist()


def test_adapters_on_quantized_modules(wide: pathlib.Path) -> None:
    peft: Any = pytest.importorskip("peft", reason="PEFT is not installed")
    module = quantized(4, wide)
    torch.manual_seed(3)
    module = peft.get_peft_model(module, adapter("lora", "llama")).eval()

    def weight_of(name: str) -> Any:
        part = module.get_base_model().get_submodule(name)
        base = part.get_base_layer() if hasattr(part, "get_base_layer") else part
        own = transformers.integrations.bitsandbytes.dequantize_bnb_weight(base.weight)
        return own if base is part else own + part.get_delta_weight("default")

    check_equal(asc.live(module), asc.open(with_weights(wide, weight_of)))


# ---- TransformerLens ----


def test_bridge() -> None:
    bridge: Any = pytest.importorskip("transformer_lens.model_bridge", reason="no TransformerLens")
    for name in ("llama", "gpt2"):
        path = pathlib.Path(__file__).resolve().parents[2] / f"examples/shakespeare-{name}"
        module = bridge.TransformerBridge.boot_transformers(str(path), dtype=torch.float32)
        check_equal(asc.live(module), asc.open(path))


def test_hooked_transformer_is_refused() -> None:
    class HookedTransformer(torch.nn.Module):  # type: ignore[misc]
        cfg = None

    with pytest.raises(asc.UnsupportedError, match="pass the transformers module"):
        asc.live(HookedTransformer())


def test_module_without_values_is_refused() -> None:
    config = transformers.LlamaConfig.from_pretrained(FORWARD / "llama")
    with torch.device("meta"):
        module = transformers.LlamaForCausalLM(config)
    for call in (asc.live, asc.open):
        with pytest.raises(asc.UnsupportedError, match="has no values .load the model without offloading"):
            call(module)


# ---- unknown architectures ----


def as_unknown(module: Any) -> Any:
    """Give a module a `model_type` that attnscope does not know."""

    class UnknownConfig(transformers.LlamaConfig):  # type: ignore[misc]
        model_type = "unknown-thing"

    module.config.__class__ = UnknownConfig
    module.config.model_type, module.config.architectures = "unknown-thing", ["UnknownForCausalLM"]
    return module


def test_unknown_architecture_by_its_tensor_names() -> None:
    live = asc.live(as_unknown(loaded()))
    assert live.info["architecture"] == "unknown-thing"
    check_equal(live, asc.open(FORWARD / "llama"))


class Plain(torch.nn.Module):  # type: ignore[misc]
    """Attention without MLPs, as in a script of a course. Its output is a tensor."""

    def __init__(self, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.table = torch.nn.Embedding(20, 8)
        self.blocks = torch.nn.ModuleList(torch.nn.ModuleDict({
            name: torch.nn.Linear(8, 8, bias=False) for name in ("q", "k", "v", "o")
        }) for _ in range(2))  # fmt: skip
        self.head = torch.nn.Linear(8, 20, bias=False)

    def forward(self, ids: Any) -> Any:
        stream = self.table(ids)
        for block in self.blocks:
            q, k, v = (
                block[name](stream).unflatten(-1, (self.heads, -1)).transpose(1, 2) for name in "qkv"
            )
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            stream = stream + block["o"](out.transpose(1, 2).flatten(2))
        return self.head(stream)


def layout_of(path: pathlib.Path, heads: int) -> pathlib.Path:
    weights = [{"role": role, "tensor": f"blocks.{{layer}}.{role}.weight"} for role in "qkvo"]
    layout = {
        "schema": "attnscope-layout/1", "layers": 2, "heads": heads, "hidden_size": 8, "head_dim": 8 // heads,
        "vocab_size": 20, "embedding": "table.weight", "lm_head": "head.weight", "weights": weights,
        "context_length": 64, "mlp": False, "norms": {"epsilon": 1e-5},
    }  # fmt: skip
    file = path / "layout.json"
    file.write_text(json.dumps(layout), encoding="utf-8")
    return file


def test_module_with_a_layout(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(2)
    module = Plain()
    live = asc.live(module, layout=layout_of(tmp_path, 2))
    tokens = torch.tensor(TOKENS)

    def loss() -> float:
        with torch.no_grad():
            logits = module(tokens)[:, :-1].flatten(0, 1)
        return float(torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten()))

    rows = live.ablate(tokens=TOKENS, ablation="zero", components="heads")
    assert rows["loss"].tolist() == pytest.approx([loss()] * 4, rel=1e-5)
    clean = loss()
    for row in rows:
        columns = slice(4 * row["head"], 4 * row["head"] + 4)
        weight = module.blocks[row["layer"]]["o"].weight
        kept = weight.detach().clone()
        with torch.no_grad():
            weight[:, columns] = 0
            assert row["loss_increase"] == pytest.approx(loss() - clean, abs=1e-5)
            weight.copy_(kept)


def test_layout_with_other_heads_is_refused(tmp_path: pathlib.Path) -> None:
    class Narrow(torch.nn.Linear):  # type: ignore[misc]
        """Pads its input, so that its weight does not tell the width of the heads."""

        def forward(self, given: Any) -> Any:
            return super().forward(torch.nn.functional.pad(given, (0, 4)))

    module = Plain()
    for block in module.blocks:
        block["o"] = torch.nn.Sequential(Cut(), Narrow(8, 8, bias=False))
    file = layout_of(tmp_path, 2)
    file.write_text(file.read_text().replace("layer}.o.", "layer}.o.1."))
    with pytest.raises(asc.UnsupportedError, match="has 4 columns, not those of 2 heads of size 4"):
        asc.live(module, layout=file).ablate(tokens=TOKENS)


class Cut(torch.nn.Module):  # type: ignore[misc]
    def forward(self, given: Any) -> Any:
        return given[..., :4]


def test_unknown_module_is_refused() -> None:
    module = as_unknown(loaded())
    module.config.surprising_factor = 3.0
    with pytest.raises(asc.UnsupportedError, match="pass it with layout"):
        asc.live(module)
