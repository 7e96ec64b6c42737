"""Cases of golden_forward.py whose layers differ in more than the window."""

from golden_forward_case import (ABSENT, BF16, CONTEXT, MAIN, ONLY, VOCABULARY, Case, Variant, activation, both, changed,
                                 variant)
from golden_forward_rotary import YARN, llama_like, rope, small

# ---- Llama 4 ------------------------------------------------------------------------------------------------------

KINDS = ["full_attention", "chunked_attention", "full_attention", "full_attention"]


def llama4_like(**changes) -> dict:
    """Make a config in which layer 3 has no rotary positions, and layers 1 and 3 have experts."""
    return changed(llama_like(num_hidden_layers=4, intermediate_size=12, intermediate_size_mlp=20, num_local_experts=5,
                              interleave_moe_layer_step=2, attention_chunk_size=5, floor_scale=3, attn_scale=0.4,
                              rope_parameters=rope(5e5), pad_token_id=0), changes)


LLAMA4 = [
    Case("llama4", "Llama4ForCausalLM", llama4_like(), (
        MAIN, variant("eps", rms_norm_eps=1e-2), variant("eps-absent", rms_norm_eps=ABSENT),
        both("no-qk-norm", use_qk_norm=False), both("not-tuned", attn_temperature_tuning=False),
        variant("scale-absent", attn_scale=ABSENT), both("chunk-1", attention_chunk_size=1),
        both("two", num_experts_per_tok=2),
        variant("numbers-absent", floor_scale=ABSENT, attention_chunk_size=ABSENT, num_experts_per_tok=ABSENT,
                rope_parameters=ABSENT),
        variant("yarn", rope_parameters=YARN),
        # Two separate lists define the layers with rotary positions and the layers with chunked attention.
        variant("rotated", no_rope_layers=[0, 1, 0, 1]), variant("kinds", layer_types=KINDS),
        variant("rotated-kinds-absent", no_rope_layers=[0, 1, 0, 1], layer_types=ABSENT),
        variant("interval", no_rope_layers=ABSENT, layer_types=ABSENT, no_rope_layer_interval=2),
        variant("interval-absent", no_rope_layers=[], layer_types=ABSENT, no_rope_layer_interval=ABSENT, moe_layers=ABSENT),
        *activation("hidden_act", "gelu")), BF16, routes=True),
    Case("llama4-listed", "Llama4ForCausalLM",
         small(intermediate_size=8, intermediate_size_mlp=12, num_local_experts=2, moe_layers=[0], attention_bias=True), (ONLY,),
         BF16, routes=True),
    Case("llama4-every", "Llama4ForCausalLM", small(intermediate_size=8, num_local_experts=16, num_hidden_layers=1), (
        variant("", moe_layers=ABSENT, interleave_moe_layer_step=ABSENT, num_local_experts=ABSENT),), BF16, routes=True),
]


# ---- Gemma 4 ------------------------------------------------------------------------------------------------------

DEFAULTS = {"rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "attention_bias": False, "attention_k_eq_v": False,
            "enable_moe_block": False, "use_double_wide_mlp": False, "num_kv_shared_layers": 0,
            "final_logit_softcapping": None, "use_bidirectional_attention": None, "tie_word_embeddings": True}
DROPPED = {"per_layer_config", "initializer_range", "use_cache", "attention_dropout", "num_experts", "top_k_experts",
           "moe_intermediate_size"}
WINDOWED, FULL = "sliding_attention", "full_attention"
PROPORTIONAL = rope(1e6, rope_type="proportional", partial_rotary_factor=0.5)


def as_published(config: dict) -> dict:
    """Store the shapes of full-attention layers under separate keys, and omit keys that have their default value."""
    full = list(config.get("per_layer_config", {}).values())
    old = {key: value for key, value in config.items()
           if (key not in DROPPED or value and key != "per_layer_config") and not (key in DEFAULTS and DEFAULTS[key] == value)}
    if full:
        old |= {"global_head_dim": full[0]["head_dim"],
                "num_global_key_value_heads": full[0].get("num_key_value_heads")}
    return old


def gemma4_like(**changes) -> dict:
    """Make a config with heads of 12 in full-attention layers and 8 in others. The last two layers reuse keys and values of the first two."""
    return changed(llama_like(
        num_hidden_layers=4, layer_types=[WINDOWED, FULL] * 2, global_head_dim=12, sliding_window=4, num_kv_shared_layers=2,
        use_double_wide_mlp=True, hidden_size_per_layer_input=6, vocab_size_per_layer_input=VOCABULARY, tie_word_embeddings=True,
        rope_parameters={FULL: PROPORTIONAL, WINDOWED: rope()}), changes)


def plain(**changes) -> dict:
    """Make a config in which W_K also makes the values of full-attention layers, without per-layer inputs."""
    return gemma4_like(attention_k_eq_v=True, num_global_key_value_heads=1, num_kv_shared_layers=0,
                       hidden_size_per_layer_input=0, use_double_wide_mlp=False, vocab_size=32) | changes


def published(name: str, **config) -> Variant:
    return Variant(name, config, old=as_published)


def turned(**parameters) -> dict:
    return {FULL: PROPORTIONAL | parameters, WINDOWED: rope()}


HEAD_GAINS = {"q_norm": 0.4, "k_norm": 0.7}  # scores are not scaled
GEMMA4_EXPERTS = {"enable_moe_block": True, "num_experts": 5, "top_k_experts": 2, "moe_intermediate_size": 12}
GEMMA4 = [
    Case("gemma4", "Gemma4ForCausalLM", gemma4_like(), (
        Variant("", lengths=(10, 1, CONTEXT), old=as_published), variant("eps", rms_norm_eps=1e-2),
        variant("eps-absent", rms_norm_eps=ABSENT), published("cap", final_logit_softcapping=3.0),
        variant("window-absent", sliding_window=ABSENT), variant("rope-absent", rope_parameters=ABSENT),
        variant("share", rope_parameters=turned(partial_rotary_factor=0.7)), variant("factor", rope_parameters=turned(factor=4.0)),
        variant("share-absent", rope_parameters={FULL: rope(500.0, rope_type="proportional"), WINDOWED: rope(300.0)}),
        published("both-ways", use_bidirectional_attention="all"), variant("vision", use_bidirectional_attention="vision"),
        variant("is-causal", is_causal=False), *activation("hidden_activation", "gelu")), BF16, HEAD_GAINS),
    Case("gemma4-same-matrix", "Gemma4ForCausalLM", plain(), (
        Variant("", lengths=(10, 1), old=as_published),), BF16, HEAD_GAINS),
    # The last layer always has full attention, whatever the config says.
    Case("gemma4-seven", "Gemma4ForCausalLM", plain(num_hidden_layers=7, layer_types=None, hidden_size=16, intermediate_size=8), (
        Variant("", old=as_published), variant("types-absent", layer_types=ABSENT),
        variant("last-windowed", layer_types=[WINDOWED] * 5 + [FULL, WINDOWED], per_layer_config=ABSENT, global_head_dim=12,
                num_global_key_value_heads=1)), BF16, HEAD_GAINS),
    Case("gemma4-experts", "Gemma4ForCausalLM", plain(num_kv_shared_layers=1, use_double_wide_mlp=True, num_hidden_layers=3, hidden_size_per_layer_input=6,
                                                      layer_types=[FULL, WINDOWED, FULL], **GEMMA4_EXPERTS), (
        published(""), published("one", top_k_experts=1), variant("eps", rms_norm_eps=1e-2)), BF16, HEAD_GAINS, routes=True),
    Case("gemma4-bias", "Gemma4ForCausalLM", gemma4_like(attention_bias=True, vocab_size=32, vocab_size_per_layer_input=40), (
        published(""),), BF16, HEAD_GAINS),
    # Heads of 256 and 512, and inputs of 256 per layer.
    Case("gemma4-wide", "Gemma4ForCausalLM", changed(gemma4_like(
        hidden_size=6, intermediate_size=8, num_hidden_layers=2, layer_types=[WINDOWED, FULL], num_kv_shared_layers=0, vocab_size=32,
        vocab_size_per_layer_input=32, num_attention_heads=4), {
            "head_dim": ABSENT, "num_key_value_heads": ABSENT, "global_head_dim": ABSENT, "hidden_size_per_layer_input": ABSENT}), (
        variant("", head_dim=ABSENT, num_key_value_heads=ABSENT, per_layer_config=ABSENT, hidden_size_per_layer_input=ABSENT),), BF16, HEAD_GAINS),
]

BY_LAYER = LLAMA4 + GEMMA4
