"""Cases of golden_forward.py with Mamba or Mamba-2 in some layers, or next to attention."""

from golden_forward_case import ABSENT, BF16, ONLY, Case, Variant, changed, variant
from golden_forward_rotary import llama_like, rope

LINEAR, FULL = "linear_attention", "full_attention"
TEXTS = Variant("", lengths=(10, 1, 16))
EPS = variant("eps", rms_norm_eps=1e-2)
GAINS = {"in_proj": 1.5, "x_proj": 1.5}


def hybrid(**changes) -> dict:
    """Make a config with distinct sizes: 6 heads of 8 in 2 groups, with states of 5, in Mamba-2 layers."""
    config = llama_like(vocab_size=32, hidden_size=24, intermediate_size=20, num_hidden_layers=3, mamba_n_heads=6, mamba_d_head=8,
                        mamba_n_groups=2, mamba_d_state=5, mamba_d_conv=4, mamba_chunk_size=4)
    return changed(config, {"head_dim": ABSENT} | changes)


def granite(**changes) -> dict:
    return hybrid(embedding_multiplier=5.0, attention_multiplier=0.3, residual_multiplier=0.4, logits_scaling=6.0,
                  layer_types=[LINEAR, FULL, LINEAR], shared_intermediate_size=20, num_local_experts=0) | changes


LIMITS = variant("limits", time_step_limit=[0.5, 1.5])
# As in granite-4.0-h-micro (dense) and granite-4.0-h-tiny (experts).
GRANITES = [
    Case("granitemoehybrid", "GraniteMoeHybridForCausalLM", granite(), (
        TEXTS, EPS, LIMITS, variant("rope", position_embedding_type="rope"),
        variant("head-dim-auto", mamba_d_head="auto"), variant("limits-absent", time_step_limit=ABSENT),
        variant("published-types", layer_types=["mamba", "attention", "mamba"])), BF16, GAINS),
    Case("granitemoehybrid-experts", "GraniteMoeHybridForCausalLM",
         granite(num_local_experts=6, num_experts_per_tok=3, intermediate_size=8, mamba_proj_bias=True, mamba_conv_bias=False,
                 mamba_d_conv=3), (ONLY,), BF16, GAINS, routes=True),
]

# As in Bamba-9B: attention in a few layers, half of each head rotated.
BAMBAS = [
    Case("bamba", "BambaForCausalLM", hybrid(attn_layer_indices=[1], rope_parameters=rope(partial_rotary_factor=0.5)), (
        TEXTS, EPS, LIMITS, variant("published-rope", rope_parameters=ABSENT, rope_theta=10000.0, attn_rotary_emb=4)), BF16, GAINS),
    Case("bamba-bias", "BambaForCausalLM",
         hybrid(attn_layer_indices=[0], num_hidden_layers=2, attention_bias=True, mlp_bias=True, mamba_proj_bias=True,
                mamba_conv_bias=False, mamba_n_groups=1, mamba_d_conv=2), (ONLY,), BF16, GAINS),
]


def nemotron(**changes) -> dict:
    config = llama_like(vocab_size=32, hidden_size=24, intermediate_size=20, num_hidden_layers=ABSENT, rope_parameters=ABSENT,
                        layers_block_type=[LINEAR, "mlp", FULL, LINEAR], mamba_num_heads=6, mamba_head_dim=8, n_groups=2,
                        ssm_state_size=5, conv_kernel=4, chunk_size=4)
    return changed(config, changes)


# As in Nemotron-H-8B and Nano-9B-v2 (single blocks), and Nemotron-3-Nano (experts instead of MLPs).
NEMOTRONS = [
    Case("nemotron_h", "NemotronHForCausalLM", nemotron(), (
        TEXTS, variant("eps", layer_norm_epsilon=1e-2), variant("least-step", time_step_min=0.8), variant("limit-not-read", time_step_limit=[0.5, 0.9]),
        variant("published-letters", layers_block_type=ABSENT, layer_types=ABSENT, hybrid_override_pattern="M-*M", num_hidden_layers=4)), BF16, GAINS),
    Case("nemotron_h-experts", "NemotronHForCausalLM",
         nemotron(layers_block_type=[LINEAR, "moe", FULL], n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=8,
                  moe_shared_expert_intermediate_size=10, routed_scaling_factor=2.5, use_bias=True, mamba_num_heads=4), (
             ONLY, variant("letters", layers_block_type=ABSENT, layer_types=ABSENT, hybrid_override_pattern="ME*", num_hidden_layers=3)),
         BF16, GAINS, routes=True),
    # As in Nemotron 3 Super: experts read a projection of the residual stream.
    Case("nemotron_h-latent", "NemotronHForCausalLM",
         nemotron(layers_block_type=[LINEAR, "moe", FULL], n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=8,
                  moe_shared_expert_intermediate_size=10, moe_latent_size=10, mlp_bias=True), (ONLY,), BF16, GAINS, routes=True),
]


def jamba(**changes) -> dict:
    config = llama_like(vocab_size=32, hidden_size=24, intermediate_size=12, num_hidden_layers=3, rope_parameters=ABSENT,
                        attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, num_experts=6,
                        num_experts_per_tok=3, mamba_d_state=5, mamba_d_conv=4, mamba_expand=2, mamba_dt_rank=3)
    return changed(config, {"head_dim": ABSENT} | changes)


# As in Jamba-v0.1 and Jamba-1.5-Mini (experts), and Jamba-Reasoning-3B (one expert, so a dense MLP).
JAMBAS = [
    Case("jamba", "JambaForCausalLM", jamba(), (
        TEXTS, EPS), BF16, GAINS, routes=True),
    Case("jamba-dense", "JambaForCausalLM",
         jamba(num_experts=1, num_experts_per_tok=1, mamba_dt_rank="auto", mamba_proj_bias=True, mamba_conv_bias=False, mamba_d_conv=2,
               tie_word_embeddings=True), (ONLY, variant("rank-auto", mamba_dt_rank="auto")), BF16, GAINS),
]


def falcon_h1(**changes) -> dict:
    return hybrid(num_hidden_layers=2, mamba_d_ssm=48, embedding_multiplier=5.6, lm_head_multiplier=0.4, key_multiplier=0.7,
                  attention_in_multiplier=1.3, attention_out_multiplier=0.6, ssm_in_multiplier=1.25, ssm_out_multiplier=0.8,
                  mlp_multipliers=[0.8, 0.6], ssm_multipliers=[0.7, 0.9, 0.6, 1.2, 1.1], mamba_rms_norm=False, head_dim=8) | changes


# As in Falcon-H1-0.5B (without a norm), Falcon-H1-1.5B-Deep and 34B (with one).
FALCONS = [
    Case("falcon_h1", "FalconH1ForCausalLM", falcon_h1(), (
        TEXTS, EPS, LIMITS, variant("factors-absent", mlp_multipliers=ABSENT, ssm_multipliers=ABSENT, key_multiplier=ABSENT),
        variant("base", rope_parameters=rope(1e11))), BF16, GAINS),
    Case("falcon_h1-norm", "FalconH1ForCausalLM",
         falcon_h1(num_hidden_layers=1, mamba_rms_norm=True, mamba_norm_before_gate=False, attention_bias=True, mlp_bias=True, mamba_proj_bias=True,
                   projectors_bias=True), (ONLY, variant("norm-first", mamba_norm_before_gate=True)), BF16, GAINS),
]

MAMBAS = GRANITES + BAMBAS + NEMOTRONS + JAMBAS + FALCONS
