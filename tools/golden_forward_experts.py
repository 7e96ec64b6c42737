"""Cases of golden_forward.py whose layers have experts."""

import re

import numpy as np
import torch
from golden_forward_case import (ABSENT, BF16, MAIN, ONLY, Case, Variant, activation, both, changed, variant)
from golden_forward_rotary import LONGROPE, llama_like, rope, small
from golden_forward_spelling import old_spelling


def case(name: str, model: str, config: dict, variants: tuple, **more) -> Case:
    return Case(name, model, config, variants, BF16, routes=True, **more)


def stacked(place: str):
    """Store each layer's experts in two tensors, as in memory: for each expert, gate rows and then up rows."""
    def rewrite(tensors: dict) -> dict:
        kept, layers = {}, {}
        for name, tensor in tensors.items():
            found = re.fullmatch(rf"(.*\.{place}\.experts)\.(\d+)\.(\w+)_proj\.weight", name)
            if found:
                layers.setdefault(found[1], {})[int(found[2]), found[3]] = tensor
            else:
                kept[name] = tensor
        for layer, parts in layers.items():
            experts = range(max(expert for expert, _ in parts) + 1)
            kept[f"{layer}.gate_up_proj"] = torch.stack(
                [torch.cat([parts[expert, "gate"], parts[expert, "up"]]) for expert in experts])
            kept[f"{layer}.down_proj"] = torch.stack([parts[expert, "down"] for expert in experts])
        return kept
    return rewrite


# ---- Mixtral, Phi-3.5-MoE -----------------------------------------------------------------------------------------

def mixtral_like(**changes) -> dict:
    return llama_like(intermediate_size=20, num_local_experts=5, num_experts_per_tok=2, sliding_window=None,
                      rope_parameters=rope(1e6)) | changes


PHIMOE_LONGROPE = LONGROPE | {"original_max_position_embeddings": 8, "short_mscale": 1.2, "long_mscale": 1.4}
MIXTRALS = [
    case("mixtral", "MixtralForCausalLM", mixtral_like(), (
        MAIN, variant("eps", rms_norm_eps=1e-2), both("one", num_experts_per_tok=1), both("three", num_experts_per_tok=3),
        variant("chosen-absent", num_experts_per_tok=ABSENT), both("window", sliding_window=4),
        variant("base-absent", rope_parameters=ABSENT), *activation("hidden_act", "gelu"))),
    case("mixtral-8", "MixtralForCausalLM",
         small(num_attention_heads=16, num_key_value_heads=8, head_dim=4, num_hidden_layers=1, intermediate_size=8,
               num_local_experts=8), (
             variant("", num_local_experts=ABSENT, num_key_value_heads=ABSENT),)),
    case("phimoe", "PhimoeForCausalLM",
         changed(mixtral_like(attention_bias=True, lm_head_bias=True, num_local_experts=6, hidden_size=32),
                 {"head_dim": ABSENT}), (
             MAIN, variant("eps", rms_norm_eps=1e-2), both("jitter", router_jitter_noise=0.4),
             both("jitter-more", router_jitter_noise=3.0), both("no-jitter", router_jitter_noise=0.0),
             both("window", sliding_window=4),
             Variant("longrope", {"rope_parameters": PHIMOE_LONGROPE | {"rope_theta": 1e6},
                                  "original_max_position_embeddings": 8}, (8, 9), old=old_spelling))),
    case("phimoe-no-bias", "PhimoeForCausalLM", small(num_local_experts=4, intermediate_size=8), (ONLY,)),
]


# ---- Qwen ---------------------------------------------------------------------------------------------------------

def qwen2_moe_like(**changes) -> dict:
    return changed(llama_like(hidden_size=32, num_hidden_layers=3, rope_parameters=rope(1e6), num_experts=6,
                              num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=20),
                   {"head_dim": ABSENT} | changes)


def qwen3_moe_like(**changes) -> dict:
    return changed(llama_like(head_dim=12, num_hidden_layers=3, rope_parameters=rope(1e6), num_experts=8,
                              num_experts_per_tok=2, moe_intermediate_size=12), changes)


TYPES = ["full_attention", "sliding_attention", "full_attention"]
QWENS = [
    case("qwen2_moe", "Qwen2MoeForCausalLM", qwen2_moe_like(), (
        MAIN, both("normalised", norm_topk_prob=True), variant("chosen-absent", num_experts_per_tok=ABSENT),
        variant("window-types", use_sliding_window=True, sliding_window=3, layer_types=TYPES),
        Variant("window-even", {"use_sliding_window": True, "sliding_window": 3, "layer_types": ABSENT}, old=old_spelling),
        Variant("window-even-below", {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 2,
                                      "layer_types": ABSENT}, old=old_spelling),
        *activation("hidden_act", "gelu"))),
    case("qwen2_moe-dense", "Qwen2MoeForCausalLM",
         qwen2_moe_like(num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[3], qkv_bias=False), (
             Variant("", old=old_spelling),)),
    case("qwen2_moe-stacked", "Qwen2MoeForCausalLM", qwen2_moe_like(num_hidden_layers=1), (ONLY,),
         rewrite=stacked("mlp")),
    case("qwen3_moe", "Qwen3MoeForCausalLM", qwen3_moe_like(), (
        MAIN, both("normalised", norm_topk_prob=True), variant("chosen-absent", num_experts_per_tok=ABSENT),
        both("window", use_sliding_window=True, sliding_window=3),
        variant("window-not-used", use_sliding_window=False, sliding_window=3), variant("eps", rms_norm_eps=1e-2))),
    case("qwen3_moe-dense", "Qwen3MoeForCausalLM",
         qwen3_moe_like(mlp_only_layers=[1], attention_bias=True, head_dim=8), (Variant("", old=old_spelling),)),
]


# ---- Families with DeepSeek-V3's router ---------------------------------------------------------------------------

def biased_like(**changes) -> dict:
    return llama_like(head_dim=12, num_hidden_layers=3, n_routed_experts=8, num_experts_per_tok=3, n_group=4,
                      topk_group=2, n_shared_experts=2, moe_intermediate_size=12, first_k_dense_replace=1,
                      routed_scaling_factor=2.5, norm_topk_prob=True) | changes


BIASED = (
    MAIN, both("normalised-absent", norm_topk_prob=ABSENT), both("not-normalised", norm_topk_prob=False),
    variant("groups-absent", n_group=ABSENT, topk_group=ABSENT), both("one-group", n_group=2, topk_group=1),
    variant("scaling-absent", routed_scaling_factor=ABSENT), variant("eps", rms_norm_eps=1e-2))
ROUTERS = [
    case("dots1", "Dots1ForCausalLM", biased_like(attention_bias=True), (
        *BIASED, both("window", sliding_window=3, max_window_layers=1, layer_types=ABSENT),
        variant("window-types", sliding_window=3, layer_types=TYPES))),
    case("dots1-all", "Dots1ForCausalLM",
         small(num_attention_heads=2, num_key_value_heads=2, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1,
               moe_intermediate_size=8), (Variant("", {"first_k_dense_replace": ABSENT}, old=old_spelling),)),
    case("glm4_moe", "Glm4MoeForCausalLM", biased_like(rope_parameters=rope(partial_rotary_factor=0.5)), (
        *BIASED, both("share", rope_parameters=rope(partial_rotary_factor=0.25)),
        variant("chosen-absent", num_experts_per_tok=ABSENT, n_group=1, topk_group=1))),
    case("glm4_moe-qk-norm", "Glm4MoeForCausalLM",
         small(use_qk_norm=True, attention_bias=True, n_routed_experts=4, num_experts_per_tok=2,
               moe_intermediate_size=8, n_shared_experts=1), (
             variant("", first_k_dense_replace=ABSENT, n_shared_experts=ABSENT, n_group=ABSENT),)),
]

# ---- Families with other attention --------------------------------------------------------------------------------

def moe(**changes) -> dict:
    return changed(llama_like(hidden_size=32, intermediate_size=12, num_experts=8, num_experts_per_tok=3),
                   {"head_dim": ABSENT} | changes)


EPS, EPS_ABSENT = variant("eps", rms_norm_eps=1e-2), variant("eps-absent", rms_norm_eps=ABSENT)
GRANITE = {"embedding_multiplier": 5.0, "attention_multiplier": 0.3, "residual_multiplier": 0.4, "logits_scaling": 6.0,
           "num_experts": ABSENT, "num_local_experts": 6}
OTHERS = [
    case("olmoe", "OlmoeForCausalLM", moe(), (
        Variant(""), variant("clip", clip_qkv=0.7), variant("normalised", norm_topk_prob=True), EPS, EPS_ABSENT,
        variant("chosen-absent", num_experts_per_tok=ABSENT))),
    case("minimax_m2", "MiniMaxM2ForCausalLM",
         moe(head_dim=8, num_experts=ABSENT, num_local_experts=8, rope_parameters=rope(5e6, partial_rotary_factor=0.5)), (
             Variant(""), variant("rotary", rope_parameters=ABSENT, rope_theta=5e6, rotary_dim=6), EPS, EPS_ABSENT,
             variant("chosen-absent", num_experts_per_tok=ABSENT))),
    case("ernie4_5_moe", "Ernie4_5_MoeForCausalLM",
         moe(num_hidden_layers=4, rope_parameters=rope(5e5), tie_word_embeddings=True, moe_intermediate_size=12,
             num_experts=ABSENT, num_experts_per_tok=ABSENT, moe_num_experts=8, moe_k=3, moe_num_shared_experts=2,
             moe_layer_start_index=1, moe_layer_end_index=2), (
                 Variant(""), variant("one", moe_k=1), variant("least", moe_norm_min=0.9), EPS, EPS_ABSENT,
                 variant("chosen-absent", moe_k=ABSENT))),
    case("ernie4_5_moe-interval", "Ernie4_5_MoeForCausalLM",
         moe(num_hidden_layers=4, use_bias=True, rope_parameters=rope(5e5), moe_intermediate_size=8, num_experts=ABSENT,
             num_experts_per_tok=ABSENT, moe_num_experts=4, moe_k=2, moe_num_shared_experts=0, moe_layer_interval=2,
             moe_layer_start_index=0), (ONLY,)),
    case("hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", moe(head_dim=8, num_experts_per_tok=ABSENT, moe_topk=2), (
        Variant(""), variant("list", moe_topk=[2, 2]), variant("one", moe_topk=ABSENT), EPS, EPS_ABSENT)),
    case("granitemoe", "GraniteMoeForCausalLM", moe(**GRANITE), (
        Variant(""), EPS, variant("chosen-absent", num_experts_per_tok=ABSENT), variant("residual-absent", residual_multiplier=ABSENT))),
    case("granitemoeshared", "GraniteMoeSharedForCausalLM", moe(**GRANITE, shared_intermediate_size=20), (Variant(""),)),
    case("granitemoeshared-none", "GraniteMoeSharedForCausalLM", moe(**GRANITE, num_hidden_layers=1), (ONLY,)),
]


# ---- gpt-oss ------------------------------------------------------------------------------------------------------

MXFP4_BLOCK, MXFP4_VALUES = 32, np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def is_of_experts(name: str) -> bool:
    return name.endswith(("experts.gate_up_proj", "experts.down_proj"))


def mxfp4_blocks(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantize (E, in, out) to codes (E, out, in / 32, 32) and block exponents. No exponent is zero."""
    experts, inputs, outputs = values.shape
    blocks = values.transpose(0, 2, 1).reshape(experts, outputs, inputs // MXFP4_BLOCK, MXFP4_BLOCK)
    return blocks, np.floor(np.log2(np.abs(blocks).max(-1))).astype(int) - 2


def mxfp4_codes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    blocks, exponents = mxfp4_blocks(values)
    scaled = blocks / 2.0 ** exponents[..., None]
    codes = np.abs(np.abs(scaled)[..., None] - MXFP4_VALUES).argmin(-1)
    return codes + 8 * (scaled < 0), exponents


def as_mxfp4_values(name: str, values: np.ndarray) -> np.ndarray:
    if not is_of_experts(name):
        return values
    codes, exponents = mxfp4_codes(values)
    signed = np.where(codes >= 8, -1.0, 1.0) * MXFP4_VALUES[codes % 8] * 2.0 ** exponents[..., None]
    return signed.reshape(signed.shape[0], signed.shape[1], -1).transpose(0, 2, 1)


def as_mxfp4_files(tensors: dict) -> dict:
    files = {}
    for name, tensor in tensors.items():
        if not is_of_experts(name):
            files[name] = tensor
            continue
        codes, exponents = mxfp4_codes(tensor.double().numpy())
        files[name + "_blocks"] = torch.from_numpy((codes[..., 0::2] | codes[..., 1::2] << 4).astype(np.uint8))
        files[name + "_scales"] = torch.from_numpy((exponents + 127).astype(np.uint8))
    return files


def with_mxfp4(config: dict) -> dict:
    kept = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
    return config | {"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": kept}}


def gpt_oss_like(**changes) -> dict:
    yarn = rope(150000.0, rope_type="yarn", factor=32.0, beta_fast=32.0, beta_slow=1.0, truncate=False,
                original_max_position_embeddings=4096)
    return llama_like(hidden_size=32, intermediate_size=12, num_hidden_layers=3, num_local_experts=5,
                      num_experts_per_tok=2, sliding_window=4, rope_parameters=yarn) | changes


GPT_OSS = [
    case("gpt_oss", "GptOssForCausalLM", gpt_oss_like(), (
        MAIN, variant("eps", rms_norm_eps=1e-2), both("limit", swiglu_limit=0.5), both("alpha", swiglu_alpha=0.5),
        variant("chosen-absent", num_experts_per_tok=ABSENT), variant("window-absent", sliding_window=ABSENT),
        variant("window-types", layer_types=TYPES), variant("types-absent", layer_types=ABSENT),
        variant("rope-absent", rope_parameters=ABSENT), variant("base", rope_parameters=rope(500.0)),
        variant("act-not-read", hidden_act="gelu"))),
    case("gpt_oss-no-bias", "GptOssForCausalLM", gpt_oss_like(attention_bias=False, num_hidden_layers=1, vocab_size=32), (ONLY,)),
    case("gpt_oss-mxfp4", "GptOssForCausalLM", gpt_oss_like(intermediate_size=32, num_hidden_layers=2, vocab_size=32), (ONLY,),
         snapped=as_mxfp4_values, rewrite=as_mxfp4_files, rewrite_config=with_mxfp4, loads_back=False),
]

EXPERTS = MIXTRALS + QWENS + ROUTERS + OTHERS + GPT_OSS
