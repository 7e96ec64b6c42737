"""Cases of golden_forward.py whose layers differ in more than a window."""

from golden_forward_case import ABSENT, BF16, MAIN, ONLY, Case, activation, both, changed, variant
from golden_forward_rotary import YARN, llama_like, rope, small

# ---- Llama 4 ------------------------------------------------------------------------------------------------------

KINDS = ["full_attention", "chunked_attention", "full_attention", "full_attention"]


def llama4_like(**changes) -> dict:
    """Layer 3 does not rotate; layers 1 and 3 have experts."""
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
        # Which layers rotate and which see chunks are two lists.
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

BY_LAYER = LLAMA4
