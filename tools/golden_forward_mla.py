"""Cases of golden_forward.py: multi-head latent attention."""

from contextlib import contextmanager

import torch
from golden_forward_case import ABSENT, BF16, MAIN, ONLY, Case, Variant, changed, variant
from golden_forward_rotary import YARN, llama_like, rope, scaled

STRETCHED = YARN | {"mscale": 0.8, "mscale_all_dim": 0.5}
GAINS = {"q_b_proj": 2.0, "kv_b_proj": 1.5, "kv_a_proj": 1.5}
EPS = variant("eps", rms_norm_eps=1e-1)  # epsilon, not that of the latents' norms
EPS_ABSENT = variant("eps-absent", rms_norm_eps=ABSENT)
SCALED = (scaled("yarn", YARN), scaled("yarn-mscale", STRETCHED), scaled("yarn-all-dim", YARN | {"mscale_all_dim": 0.7}),
          scaled("linear-all-dim", rope(rope_type="linear", factor=4.0, mscale_all_dim=0.7)), scaled("base", rope(500.0)))


def latent(**changes) -> dict:
    """Make a config with distinct sizes: heads of 6 + 4 for queries and keys and 5 for values, latents of 10 and 8."""
    config = changed(llama_like(), {"head_dim": ABSENT, "num_key_value_heads": 4})
    return changed(config | {"q_lora_rank": 10, "kv_lora_rank": 8, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4,
                             "v_head_dim": 5}, changes)


def minicpm(**changes) -> dict:
    return latent(scale_emb=6.0, scale_depth=0.9, dim_model_base=12, tie_word_embeddings=True) | changes


# Every layer is dense, like the first layers of many models.
DENSE = {"first_k_dense_replace": 2, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1,
         "moe_intermediate_size": 8, "n_group": 1, "topk_group": 1}

EXPERTS = {"first_k_dense_replace": 1, "n_routed_experts": 8, "num_experts_per_tok": 3, "n_shared_experts": 2,
           "moe_intermediate_size": 12, "n_group": 4, "topk_group": 2, "topk_method": "group_limited_greedy",
           "routed_scaling_factor": 1.5}
# As many keys as tokens, so that the index selects all of them.
INDEXED = {"index_topk": 16, "index_head_dim": 8, "index_n_heads": 2}

# Fewer keys than tokens, and so many heads that hardly any score is exactly 0, where the selection would be arbitrary.
SELECTING = {"index_topk": 4, "index_head_dim": 6, "index_n_heads": 8, "num_hidden_layers": 3, "max_position_embeddings": 32,
             "first_k_dense_replace": 3, "intermediate_size": 16}
LEAST_MARGIN = 1e-4  # between the last selected key and the best other key, relative to the largest score


def selecting(name: str, *lengths: int, **config) -> Variant:
    return Variant(name, config, lengths=lengths or (10,))


@contextmanager
def clear_choices():
    """Check that topk() never selects between values that rounding could swap."""
    topk = torch.Tensor.topk

    def checked(values, k, dim=-1):
        assert dim == -1
        if k < values.shape[-1]:
            best = values.sort(dim=-1, descending=True).values.double()
            last, next_best = best[..., k - 1], best[..., k]
            rows = next_best > torch.finfo(torch.float32).min / 2  # rows with more keys than are selected
            scale = values.double().masked_fill(values < torch.finfo(torch.float32).min / 2, 0).abs().amax(-1)
            margins = ((last - next_best) / scale)[rows]
            assert not rows.any() or margins.min() > LEAST_MARGIN, f"a selection depends on a margin of {margins.min():.1e} × the largest value"
        return topk(values, k, dim=dim)

    torch.Tensor.topk = checked
    try:
        yield
    finally:
        torch.Tensor.topk = topk


TUNED = YARN | {"original_max_position_embeddings": 3, "llama_4_scaling_beta": 0.4, "mscale_all_dim": 1.0, "mscale": 1.0}
MISTRAL4 = changed(EXPERTS, {"topk_method": ABSENT}) | {"rope_parameters": TUNED}


def tuned(name: str, **parameters) -> Variant:
    return variant(name, rope_parameters=TUNED | parameters)


LATENT = [
    Case("minicpm3", "MiniCPM3ForCausalLM", minicpm(), (
        MAIN, EPS, EPS_ABSENT, *SCALED, variant("embedding", scale_emb=3), variant("embedding-absent", scale_emb=ABSENT),
        variant("depth-absent", scale_depth=ABSENT), variant("depth-null", scale_depth=None),
        variant("base-absent", dim_model_base=ABSENT), variant("base-null", dim_model_base=None)), BF16, GAINS),
    Case("minicpm3-no-latent", "MiniCPM3ForCausalLM", minicpm(q_lora_rank=None, v_head_dim=None), (
        ONLY, variant("value-absent", v_head_dim=ABSENT)), BF16, GAINS),
    Case("minicpm3-bias", "MiniCPM3ForCausalLM", minicpm(attention_bias=True, mlp_bias=True), (ONLY,), BF16, GAINS),
    Case("deepseek_v2", "DeepseekV2ForCausalLM", latent(**DENSE), (MAIN, EPS, EPS_ABSENT, *SCALED), BF16, GAINS),
    Case("deepseek_v2-no-latent", "DeepseekV2ForCausalLM", latent(q_lora_rank=None, attention_bias=True, **DENSE), (ONLY,), BF16, GAINS),
    Case("deepseek_v3", "DeepseekV3ForCausalLM", latent(**DENSE), (
        MAIN, EPS, EPS_ABSENT, *SCALED, variant("halves", rope_interleave=False), variant("neighbours-absent", rope_interleave=ABSENT),
        Variant("kimi", {"model_type": "kimi_k2"})), BF16, GAINS),
    Case("deepseek_v2-experts", "DeepseekV2ForCausalLM", latent(**EXPERTS), (
        ONLY, variant("method-absent", topk_method=ABSENT), variant("greedy", topk_method="greedy"),
        variant("normalised-not-read", norm_topk_prob=True), variant("times", routed_scaling_factor=2.0),
        variant("three-groups", topk_group=3)), BF16, GAINS, routes=True),
    Case("deepseek_v3-experts", "DeepseekV3ForCausalLM", latent(**EXPERTS), (
        ONLY, variant("normalised-absent", norm_topk_prob=ABSENT), variant("not-normalised", norm_topk_prob=False),
        variant("three-groups", topk_group=3), variant("times-absent", routed_scaling_factor=ABSENT)), BF16, GAINS, routes=True),
    Case("deepseek_v32", "DeepseekV32ForCausalLM", latent(**DENSE, **INDEXED), (
        Variant("", lengths=(10, 1, 16)), EPS, EPS_ABSENT, variant("yarn-mscale", rope_parameters=STRETCHED),
        variant("index-absent", index_topk=ABSENT, mlp_layer_types=ABSENT)), BF16, GAINS),
    Case("glm_moe_dsa", "GlmMoeDsaForCausalLM", latent(**DENSE, **INDEXED), (
        Variant("", lengths=(10, 1, 16)), EPS, EPS_ABSENT, variant("base", rope_parameters=rope(500.0)),
        variant("index-absent", index_topk=ABSENT, mlp_layer_types=ABSENT)), BF16, GAINS),
    Case("deepseek_v32-selects", "DeepseekV32ForCausalLM", latent(**DENSE | SELECTING), (
        selecting("", 20, 1, 5), selecting("seven", index_topk=7), selecting("one", index_topk=1),
        selecting("yarn-mscale", rope_parameters=STRETCHED), selecting("base", rope_parameters=rope(500.0))),
         BF16, GAINS, corrected=clear_choices),
    Case("glm_moe_dsa-selects", "GlmMoeDsaForCausalLM", latent(**DENSE | SELECTING), (
        selecting("", 16, 1), selecting("shared", indexer_types=["full", "shared", "shared"]),
        selecting("pattern", indexer_types=ABSENT, index_topk_pattern="FSF"),
        selecting("period", indexer_types=ABSENT, index_topk_freq=2),
        selecting("offset", indexer_types=ABSENT, index_topk_freq=3, index_skip_topk_offset=1),
        selecting("seven", index_topk=7)), BF16, GAINS, corrected=clear_choices),
    Case("mistral4", "Mistral4ForCausalLM", latent(**MISTRAL4), (
        Variant("", lengths=(10, 1, 16)), EPS, EPS_ABSENT, tuned("period", original_max_position_embeddings=5), tuned("growth", llama_4_scaling_beta=0.9),
        tuned("mscale", mscale=0.8, mscale_all_dim=0.5), variant("rope-absent", rope_parameters=ABSENT),
        variant("halves", rope_interleave=False), variant("neighbours-absent", rope_interleave=ABSENT),
        variant("normalised-absent", norm_topk_prob=ABSENT), variant("not-normalised", norm_topk_prob=False),
        variant("three-groups", topk_group=3), variant("groups-absent", n_group=ABSENT, topk_group=ABSENT),
        variant("chosen-absent", num_experts_per_tok=ABSENT), variant("times", routed_scaling_factor=2.0)), BF16, GAINS, routes=True),
    Case("mistral4-no-latent", "Mistral4ForCausalLM", latent(**MISTRAL4 | {"q_lora_rank": None, "attention_bias": True}), (ONLY,), BF16,
         GAINS, routes=True),
    Case("mistral4-all", "Mistral4ForCausalLM", latent(**MISTRAL4 | {"first_k_dense_replace": 0, "n_shared_experts": 1}), (
        variant("", first_k_dense_replace=ABSENT, n_shared_experts=ABSENT),), BF16, GAINS, routes=True),
    Case("deepseek_v3-bias", "DeepseekV3ForCausalLM", latent(attention_bias=True, **DENSE), (ONLY,), BF16, GAINS),
]
