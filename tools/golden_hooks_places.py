"""Places of named activations in the modules of transformers, per family. For golden_hooks.py."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn


def heads_of(config: Any, name: str) -> int:
    heads = getattr(config, "num_attention_heads", None) or config.n_head
    kv = getattr(config, "num_key_value_heads", None) or heads
    return kv if name in ("k", "v", "k_normed") else heads


def attention_names(module: nn.Module, name: str) -> list[str]:
    """Return the activations that the attention function receives as its queries or keys."""
    return [f"rot_{name}"]


def first_experts(arguments: tuple, keywords: dict) -> tuple[torch.Tensor, ...]:
    given = [*arguments, *keywords.values()]
    return tuple(given[:3])


@dataclass(frozen=True)
class Place:
    model: str
    layers: str
    parts: dict[str, str]  # name of an activation, or of a projection -> module of a layer
    final_norm: str | None = "model.norm"
    parts_by_layer: Callable[[nn.Module], dict[str, str]] | None = None  # in addition to `parts`
    split: dict[str, Callable] = field(default_factory=dict)  # takes heads out of a fused projection
    halves: Callable = lambda value: value.chunk(2, -1)
    transposed: bool = False  # weights are (inputs, outputs)
    factor: Callable[[Any], float] = lambda config: 1.0
    heads: Callable[[Any, str], int] = heads_of
    attention_names: Callable[[nn.Module, str], list[str]] = attention_names
    experts_of: Callable = first_experts
    gated: bool = False  # a gate follows the attention
    interleaved: int = 0  # dimensions at the end of a head that the rotation reorders: pairs become halves

    def parts_of(self, layer: nn.Module) -> dict[str, str]:
        return self.parts | (self.parts_by_layer(layer) if self.parts_by_layer else {})


def thirds(order: str) -> dict[str, Callable]:
    """Split a projection whose outputs are all queries, then keys, then values."""
    def part(at):
        return lambda config, value: value.chunk(3, -1)[at].reshape(len(value), heads_of(config, "q"), -1)
    return {name: part(at) for at, name in enumerate(order)}


def of_each_head(at: int) -> Callable:
    """Split a projection whose outputs are, per head, query, key and value."""
    return lambda config, value: value.reshape(len(value), heads_of(config, "q"), 3, -1)[:, :, at]


def of_groups(name: str) -> Callable:
    """Split a projection of all query heads, then key heads, then value heads."""
    def part(config, value):
        heads, kv = heads_of(config, "q"), heads_of(config, "k")
        size = value.shape[-1] // (heads + 2 * kv)
        first, count = {"q": (0, heads), "k": (heads, kv), "v": (heads + kv, kv)}[name]
        return value[:, first * size:(first + count) * size].reshape(len(value), count, -1)
    return part


def first_half_of_heads(config, value):
    """Queries of a projection that has a gate after each head's query."""
    return value.reshape(len(value), heads_of(config, "q"), 2, -1)[:, :, 0]


ATTENTION = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj"}
MLP = {"mlp_pre": "mlp.gate_proj", "mlp_pre_linear": "mlp.up_proj", "mlp_post": "mlp.down_proj"}
OUTPUTS = {"attn_out": "self_attn", "mlp_out": "mlp"}
MID = {"resid_mid": "post_attention_layernorm"}
LLAMA = ATTENTION | MLP | OUTPUTS | MID
NORMS = {"q_normed": "self_attn.q_norm", "k_normed": "self_attn.k_norm"}
BRANCH_NORMS = {"attn_out": "post_attention_layernorm", "mlp_out": "post_feedforward_layernorm",
                "resid_mid": "pre_feedforward_layernorm"}
OLMO2 = LLAMA | NORMS | {"attn_out": "post_attention_layernorm", "mlp_out": "post_feedforward_layernorm", "resid_mid": "mlp"}
PARALLEL = ATTENTION | MLP | OUTPUTS
BARE = lambda module, name: []  # noqa: E731  no rotation
MOE = ATTENTION | OUTPUTS | MID | {"router_logits": "mlp.gate", "experts": "mlp.experts"}


def dense_or_experts(layer: nn.Module) -> dict[str, str]:
    if hasattr(layer.mlp, "experts"):
        shared = {"shared_expert_out": "mlp.shared_experts"} if hasattr(layer.mlp, "shared_experts") else {}
        if hasattr(layer.mlp, "shared_expert_gate"):
            shared = {"shared": "mlp.shared_expert", "shared_gate": "mlp.shared_expert_gate"}
        return {"router_logits": "mlp.gate", "experts": "mlp.experts"} | shared
    return MLP


def attention_or_mixer(layer: nn.Module) -> dict[str, str]:
    mlp = dense_or_experts(layer)
    if hasattr(layer, "self_attn"):
        return mlp | ATTENTION | NORMS | {"attn_out": "self_attn"}
    return mlp | {"mixer_out": "linear_attn"}


CASES = {
    "gpt2": Place("GPT2LMHeadModel", "transformer.h", {
        "q": "attn.c_attn", "k": "attn.c_attn", "v": "attn.c_attn", "o": "attn.c_proj", "attn_out": "attn", "resid_mid": "ln_2", "mlp_pre": "mlp.c_fc",
        "mlp_post": "mlp.c_proj", "mlp_out": "mlp"}, "transformer.ln_f", split=thirds("qkv"), transposed=True,
        attention_names=BARE),
    "llama": Place("LlamaForCausalLM", "model.layers", LLAMA),
    "gemma2": Place("Gemma2ForCausalLM", "model.layers", LLAMA | BRANCH_NORMS),
    "gemma3": Place("Gemma3ForCausalLM", "model.layers", LLAMA | NORMS | BRANCH_NORMS),
    "qwen3": Place("Qwen3ForCausalLM", "model.layers", LLAMA | NORMS),
    "granite": Place("GraniteForCausalLM", "model.layers", LLAMA, factor=lambda config: config.residual_multiplier),
    "olmo2": Place("Olmo2ForCausalLM", "model.layers", OLMO2),
    "cohere": Place("CohereForCausalLM", "model.layers", PARALLEL | NORMS),
    "phi3": Place("Phi3ForCausalLM", "model.layers", OUTPUTS | MID | {
        "q": "self_attn.qkv_proj", "k": "self_attn.qkv_proj", "v": "self_attn.qkv_proj", "o": "self_attn.o_proj",
        "fused_mlp": "mlp.gate_up_proj", "mlp_post": "mlp.down_proj"}, split={name: of_groups(name) for name in "qkv"}),
    "starcoder2": Place("Starcoder2ForCausalLM", "model.layers", ATTENTION | OUTPUTS | MID | {
        "mlp_pre": "mlp.c_fc", "mlp_post": "mlp.c_proj"}),
    "gpt_neox": Place("GPTNeoXForCausalLM", "gpt_neox.layers", {
        "q": "attention.query_key_value", "k": "attention.query_key_value", "v": "attention.query_key_value",
        "o": "attention.dense", "attn_out": "attention", "mlp_pre": "mlp.dense_h_to_4h",
        "mlp_post": "mlp.dense_4h_to_h", "mlp_out": "mlp"}, "gpt_neox.final_layer_norm",
        split={name: of_each_head(at) for at, name in enumerate("qkv")}),
    "opt": Place("OPTForCausalLM", "model.decoder.layers", ATTENTION | {
        "o": "self_attn.out_proj", "attn_out": "self_attn", "resid_mid": "final_layer_norm", "mlp_pre": "fc1",
        "mlp_post": "fc2", "mlp_out": "fc2"}, "model.decoder.final_layer_norm", attention_names=BARE),
    "bert": Place("BertForMaskedLM", "bert.encoder.layer", {
        "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
        "o": "attention.output.dense", "attn_out": "attention.output.dense", "resid_mid": "intermediate",
        "mlp_pre": "intermediate.dense", "mlp_post": "output.dense", "mlp_out": "output.dense"}, None, attention_names=BARE),
    "mixtral": Place("MixtralForCausalLM", "model.layers", MOE),
    "deepseek_v3": Place("DeepseekV3ForCausalLM", "model.layers", OUTPUTS | MID | {
        "q": "self_attn.q_b_proj", "o": "self_attn.o_proj", "kv_down": "self_attn.kv_a_proj_with_mqa",
        "kv_up": "self_attn.kv_b_proj"}, interleaved=4, parts_by_layer=dense_or_experts),
    "gpt_oss": Place("GptOssForCausalLM", "model.layers", ATTENTION | OUTPUTS | MID | {
        "router_logits": "mlp.router", "experts": "mlp.experts"}),
    "qwen3_next": Place("Qwen3NextForCausalLM", "model.layers", MID | {"mlp_out": "mlp"},
                        parts_by_layer=attention_or_mixer, split={"q": first_half_of_heads}, gated=True),
}
