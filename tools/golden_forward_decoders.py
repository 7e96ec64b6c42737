"""Cases of golden_forward.py: decoders that differ from a family of the other files in one or two features."""

from golden_forward_case import ABSENT, BF16, CONTEXT, F16, ONLY, TOKENS, Case, Variant, activation, changed, variant
from golden_forward_experts import case as expert_case
from golden_forward_mla import EXPERTS as LATENT_EXPERTS
from golden_forward_mla import GAINS, latent
from golden_forward_rotary import LLAMA3, YARN, rope, small

FULL, WINDOWED = "full_attention", "sliding_attention"
TEXTS = Variant("", lengths=(10, 1, CONTEXT))
EPS, EPS_ABSENT = variant("eps", rms_norm_eps=1e-2), variant("eps-absent", rms_norm_eps=ABSENT)
ROPE_ABSENT = variant("rope-absent", rope_parameters=ABSENT)

LLAMA_LIKE = [
    Case("cwm", "CwmForCausalLM", small(num_hidden_layers=5, sliding_window=3, rope_parameters=LLAMA3, intermediate_size=16), (
        TEXTS, variant("types-absent", layer_types=ABSENT), variant("types", layer_types=[WINDOWED, FULL, WINDOWED, FULL, FULL]),
        EPS, EPS_ABSENT, ROPE_ABSENT), BF16),
    Case("ministral", "MinistralForCausalLM", small(num_hidden_layers=3, sliding_window=3), (
        TEXTS, variant("types-absent", layer_types=ABSENT), variant("types", layer_types=[WINDOWED, FULL, WINDOWED]),
        EPS, EPS_ABSENT), BF16),
    Case("jais2", "Jais2ForCausalLM", small(), (
        TEXTS, variant("eps", layer_norm_eps=1e-2), variant("eps-absent", layer_norm_eps=ABSENT),
        variant("act-absent", hidden_act=ABSENT), variant("biases-absent", attention_bias=ABSENT, mlp_bias=ABSENT)), BF16),
    Case("jais2-no-bias", "Jais2ForCausalLM", small(attention_bias=False, mlp_bias=False), (ONLY,), BF16),
    Case("vaultgemma", "VaultGemmaForCausalLM", small(sliding_window=3, query_pre_attn_scalar=5, tie_word_embeddings=True), (
        TEXTS, variant("types", layer_types=[FULL, WINDOWED]), variant("types-absent", layer_types=ABSENT), EPS, EPS_ABSENT,
        variant("caps", attn_logit_softcapping=1.0, final_logit_softcapping=2.0),
        variant("caps-null", attn_logit_softcapping=None, final_logit_softcapping=None)), BF16),
]


# ---- Experts ------------------------------------------------------------------------------------------------------

def routed(**changes) -> dict:
    return changed(small(num_hidden_layers=3, num_experts_per_tok=2, moe_intermediate_size=8, routed_scaling_factor=1.5,
                         norm_topk_prob=True), changes)


def expert_bias_above(tensors: dict) -> dict:
    """Rename the bias of the router to the name in the files on the hub."""
    return {name.replace("mlp.gate.e_score", "mlp.e_score"): tensor for name, tensor in tensors.items()}


def hidden_layers(*kinds: str) -> dict:
    return {"layer_types": list(kinds)}


NORMALIZED_ABSENT = variant("normalised-absent", norm_topk_prob=ABSENT)
NOT_NORMALIZED = variant("not-normalised", norm_topk_prob=False)
TIMES_ABSENT = variant("times-absent", routed_scaling_factor=ABSENT)
EXPERTS = [
    expert_case("exaone_moe", "ExaoneMoeForCausalLM",
                routed(num_hidden_layers=4, num_experts=6, n_group=3, topk_group=2, num_shared_experts=2, sliding_window=3), (
                    TEXTS, variant("types-absent", layer_types=ABSENT, mlp_layer_types=ABSENT),
                    variant("types", layer_types=[FULL, WINDOWED, FULL, WINDOWED]),
                    EPS, EPS_ABSENT, NORMALIZED_ABSENT, NOT_NORMALIZED, TIMES_ABSENT, variant("groups-absent", n_group=ABSENT, topk_group=ABSENT))),
    expert_case("exaone_moe-hub", "ExaoneMoeForCausalLM",
                routed(num_experts=4, num_hidden_layers=2, mlp_layer_types=["sparse", "dense"]), (ONLY,),
                rewrite=expert_bias_above),
    expert_case("solar_open", "SolarOpenForCausalLM",
                routed(num_hidden_layers=2, n_routed_experts=6, n_group=3, topk_group=2, n_shared_experts=2, attention_bias=True), (
                    TEXTS, EPS, EPS_ABSENT, NORMALIZED_ABSENT, NOT_NORMALIZED, TIMES_ABSENT, ROPE_ABSENT)),
    expert_case("glm4_moe_lite", "Glm4MoeLiteForCausalLM",
                changed(latent(**LATENT_EXPERTS), {"first_k_dense_replace": ABSENT, "topk_method": ABSENT}), (
                    TEXTS, EPS, EPS_ABSENT, NORMALIZED_ABSENT, NOT_NORMALIZED, TIMES_ABSENT,
                    variant("types-absent", mlp_layer_types=ABSENT), variant("halves", rope_interleave=False),
                    variant("yarn", rope_parameters=YARN)), gains=GAINS),
    expert_case("lfm2_moe", "Lfm2MoeForCausalLM",
                changed(routed(num_hidden_layers=4, num_experts=6, num_dense_layers=1, tie_word_embeddings=True,
                               **hidden_layers("conv", FULL, "conv", FULL)), {"head_dim": ABSENT}), (
                    TEXTS, variant("eps", norm_eps=1e-2), variant("eps-absent", norm_eps=ABSENT), NORMALIZED_ABSENT,
                    NOT_NORMALIZED, TIMES_ABSENT, ROPE_ABSENT)),
    expert_case("lfm2_moe-no-bias", "Lfm2MoeForCausalLM",
                changed(routed(num_hidden_layers=2, num_experts=4, num_dense_layers=0, use_expert_bias=False, conv_bias=True,
                               **hidden_layers(FULL, "conv")), {"head_dim": ABSENT}), (ONLY,)),
]


DBRX = TOKENS | {"vocab_size": 32, "d_model": 16, "n_heads": 4, "n_layers": 2, "max_seq_len": CONTEXT, "rope_parameters": rope(500.0)}


def dbrx(order: float | None = 1.0, **changes) -> dict:
    experts = {"ffn_hidden_size": 8, "moe_num_experts": 4, "moe_top_k": 2, "moe_normalize_expert_weights": order}
    return DBRX | {"attn_config": {"kv_n_heads": 2, "clip_qkv": 1.5, "rope_theta": 500.0}, "ffn_config": experts} | changes


EXPERTS += [
    expert_case("dbrx", "DbrxForCausalLM", dbrx(), (TEXTS, variant("clip", attn_config={"kv_n_heads": 2, "clip_qkv": 0.5, "rope_theta": 500.0}))),
    expert_case("dbrx-not-normalised", "DbrxForCausalLM", dbrx(order=None), (ONLY,)),
]


# ---- The first decoders -------------------------------------------------------------------------------------------

GPT = {"vocab_size": 32, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": CONTEXT, "bos_token_id": 1, "eos_token_id": 2}
OPT_LIKE = {"vocab_size": 32, "max_position_embeddings": CONTEXT, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
BIOGPT = OPT_LIKE | {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
XGLM = OPT_LIKE | {"d_model": 16, "num_layers": 2, "attention_heads": 2, "ffn_dim": 24}
FIRST = [
    Case("openai-gpt", "OpenAIGPTLMHeadModel", GPT, (
        TEXTS, variant("eps", layer_norm_epsilon=1e-2), variant("eps-absent", layer_norm_epsilon=ABSENT),
        *activation("afn", "relu", "silu")), F16),
    Case("openai-gpt-untied", "OpenAIGPTLMHeadModel", GPT | {"tie_word_embeddings": False}, (ONLY,), BF16),
    Case("ctrl", "CTRLLMHeadModel", GPT | {"dff": 24}, (
        TEXTS, variant("eps", layer_norm_epsilon=1e-2), variant("eps-absent", layer_norm_epsilon=ABSENT)), F16),
    Case("ctrl-body", "CTRLModel", GPT | {"dff": 24, "n_layer": 1}, (ONLY,), BF16),
    Case("biogpt", "BioGptForCausalLM", BIOGPT, (
        TEXTS, variant("unscaled", scale_embedding=False), variant("scaling-absent", scale_embedding=ABSENT),
        *activation("hidden_act", "relu")), F16),
    Case("xglm", "XGLMForCausalLM", XGLM, (
        Variant("", lengths=(10, 1, CONTEXT + 3)), variant("unscaled", scale_embedding=False),
        variant("scaling-absent", scale_embedding=ABSENT), *activation("activation_function", "relu")), F16),
]

RELATED_DECODERS = LLAMA_LIKE + EXPERTS + FIRST
