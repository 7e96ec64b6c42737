"""Cases of golden_forward.py that mix attention layers with other layers (Gated DeltaNet, short convolutions)."""

import torch
from golden_forward_case import ABSENT, BF16, MAIN, ONLY, Case, Variant, activation, both, changed, variant
from golden_forward_experts import stacked
from golden_forward_rotary import inside_model, llama_like, rope
from golden_forward_spelling import old_spelling
from golden_forward_towers import nested, with_pictures

LINEAR, FULL = "linear_attention", "full_attention"
SHARE = rope(partial_rotary_factor=0.25)
GAINS = {"in_proj_qkv": 1.5, "in_proj_ba": 1.5}


def qwen(**changes) -> dict:
    """Make a config with distinct sizes: 2 key heads of 6 and 4 value heads of 5 in DeltaNet layers. Each attention head has two rotary pairs."""
    config = llama_like(head_dim=16, layer_types=[LINEAR, FULL], rope_parameters=SHARE, rms_norm_eps=1e-4,
                        linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=5)
    return changed(config, changes)


def small(**changes) -> dict:
    return qwen(vocab_size=32, hidden_size=16, intermediate_size=24, num_attention_heads=2, num_key_value_heads=1) | changes


def experts(**changes) -> dict:
    return {"num_experts": 12, "num_experts_per_tok": 3, "moe_intermediate_size": 4, "shared_expert_intermediate_size": 10} | changes


def with_draft_head(tensors: dict) -> dict:
    """Add an MTP head (it predicts a second token), which is in the files but is not a layer of the model."""
    return with_pictures("model.visual", inside_model)(tensors) | {
        "mtp.layers.0.self_attn.q_proj.weight": torch.ones(32, 16, dtype=BF16), "mtp.fc.weight": torch.ones(16, 32, dtype=BF16)}


INTERVAL = Variant("interval", {"layer_types": ABSENT, "full_attention_interval": 2})
OLD_KINDS = variant("old-kinds", layer_types=[LINEAR, "attention"])
TEXTS = Variant("", lengths=(10, 1, 16))
EVERY = (TEXTS, variant("eps", rms_norm_eps=1e-2), variant("eps-absent", rms_norm_eps=ABSENT), INTERVAL, OLD_KINDS,
         variant("share", rope_parameters=rope(500.0, partial_rotary_factor=0.5)), variant("share-absent", rope_parameters=rope(500.0)),
         variant("rope-absent", rope_parameters=ABSENT), *activation("hidden_act", "gelu"))

QWENS = [
    Case("qwen3_next", "Qwen3NextForCausalLM", small(**experts()), (
        TEXTS, INTERVAL, variant("not-normalised", norm_topk_prob=False), variant("normalised-absent", norm_topk_prob=ABSENT),
        variant("chosen-absent", num_experts_per_tok=ABSENT)), BF16, GAINS, routes=True),
    Case("qwen3_next-dense", "Qwen3NextForCausalLM", small(mlp_only_layers=[0, 1], attention_bias=True), (
        ONLY,), BF16, GAINS),
    Case("qwen3_next-kernel", "Qwen3NextForCausalLM",
         small(mlp_only_layers=[0, 1], linear_conv_kernel_dim=2, linear_num_value_heads=2, layer_types=[FULL, LINEAR]), (ONLY,), BF16, GAINS),
    # Older files: every fourth layer has attention.
    Case("qwen3_next-fourth", "Qwen3NextForCausalLM",
         small(mlp_only_layers=[0, 1, 2, 3], num_hidden_layers=4, layer_types=[LINEAR, LINEAR, LINEAR, FULL], rms_norm_eps=1e-2), (
             Variant("", old=old_spelling), variant("types-absent", layer_types=ABSENT)), BF16, GAINS),
    Case("qwen3_5", "Qwen3_5ForCausalLM", qwen(), EVERY, BF16, GAINS),
    # Longer than the chunks of 64 tokens that other implementations use.
    Case("qwen3_5-long", "Qwen3_5ForCausalLM", small(rms_norm_eps=1e-3), (Variant("", lengths=(70,)),), BF16, GAINS),
    Case("qwen3_5-multimodal", "Qwen3_5ForCausalLM", small(attention_bias=True), (ONLY,), BF16, GAINS, rewrite=with_draft_head,
         rewrite_config=nested("qwen3_5", "qwen3_5_text"), loads_back=False),
    Case("qwen3_5_moe", "Qwen3_5MoeForCausalLM", small(**experts()), (
        TEXTS, INTERVAL,
        variant("normalised-not-read", norm_topk_prob=False), variant("chosen-absent", num_experts_per_tok=ABSENT)), BF16, GAINS, routes=True),
    Case("qwen3_5_moe-stacked", "Qwen3_5MoeForCausalLM", small(**experts(num_experts=4, num_experts_per_tok=2)), (ONLY,), BF16, GAINS,
         routes=True, rewrite=stacked("mlp"), rewrite_config=nested("qwen3_5_moe", "qwen3_5_moe_text"), loads_back=False),
]


def lfm(**changes) -> dict:
    config = llama_like(num_hidden_layers=3, layer_types=["conv", FULL, "conv"], intermediate_size=36, block_multiple_of=8,
                        rope_parameters=rope(1e6), tie_word_embeddings=True)
    return changed(config, {"head_dim": ABSENT} | changes)


def width(name: str, **changes) -> Variant:
    """Make a config whose MLP size of 24 is specified differently."""
    return variant("width-" + name, **changes)


LFM2 = [
    Case("lfm2", "Lfm2ForCausalLM", lfm(), (
        MAIN, variant("eps", norm_eps=1e-2), variant("eps-absent", norm_eps=ABSENT),
        variant("listed", layer_types=ABSENT, full_attn_idxs=[1]), variant("base-absent", rope_parameters=ABSENT),
        both("base", rope_parameters=rope(500.0)), width("plain", block_auto_adjust_ff_dim=False, intermediate_size=24),
        width("other-key", block_ff_dim=36, intermediate_size=ABSENT),
        width("factor", block_ffn_dim_multiplier=0.75), width("defaults", block_ffn_dim_multiplier=ABSENT, block_auto_adjust_ff_dim=ABSENT)),
         BF16),
    Case("lfm2-bias", "Lfm2ForCausalLM", lfm(vocab_size=32, hidden_size=16, conv_bias=True, conv_L_cache=4, tie_word_embeddings=False), (
        ONLY, variant("tied-key", tie_word_embeddings=ABSENT, tie_embedding=False)), BF16),
]

HYBRIDS = QWENS + LFM2
