"""Cases of golden_forward.py: decoders that differ from Llama in one or two features."""

from golden_forward_case import (ABSENT, BF16, BOTH_WAYS, CONTEXT, F16, HEADS, MAIN, MLP_WIDTH, ONLY, VOCABULARY, WIDTH, Case,
                                 Variant, changed, variant)
from golden_forward_rotary import LLAMA3, YARN, llama_like, rope, scaled, small

HALF = {"partial_rotary_factor": 0.5}
FULL, WINDOWED = "full_attention", "sliding_attention"
EPS = variant("eps", rms_norm_eps=1e-2)
EPS_ABSENT = variant("eps-absent", rms_norm_eps=ABSENT)


def no_head_dim(**changes) -> dict:
    """Make a config with heads of 8, so that heads × head_dim is the hidden size."""
    return changed(llama_like(hidden_size=32), {"head_dim": ABSENT} | changes)


OLMOS = [
    Case("olmo", "OlmoForCausalLM", no_head_dim(), (
        MAIN, variant("clip", clip_qkv=0.7), variant("clip-null", clip_qkv=None), variant("eps-not-read", rms_norm_eps=1e-2),
        scaled("linear", rope(rope_type="linear", factor=4.0))), BF16),
    Case("olmo2", "Olmo2ForCausalLM", no_head_dim(), (
        MAIN, BOTH_WAYS, EPS, EPS_ABSENT, scaled("base", rope(500.0))), BF16),
    Case("olmo3", "Olmo3ForCausalLM", no_head_dim(
        num_hidden_layers=4, sliding_window=3, rope_parameters={FULL: rope(5e5), WINDOWED: rope(5e5)}), (
            Variant(""), variant("types-absent", layer_types=ABSENT),
            variant("types", layer_types=[FULL, WINDOWED, WINDOWED, FULL]),
            variant("scaled-full", rope_parameters={FULL: YARN, WINDOWED: rope(100.0)}),
            variant("flat", rope_parameters=ABSENT, rope_theta=100.0,
                    rope_scaling={key: value for key, value in YARN.items() if key != "rope_theta"}),
            variant("rope-absent", rope_parameters=ABSENT), EPS), BF16),
]

SMOLLM3 = no_head_dim(num_hidden_layers=4, tie_word_embeddings=True, rope_parameters=rope(2e6))
OTHERS = [
    Case("smollm3", "SmolLM3ForCausalLM", SMOLLM3, (
        MAIN, variant("list-absent", no_rope_layers=ABSENT, layer_types=ABSENT),
        variant("interval", no_rope_layers=ABSENT, no_rope_layer_interval=2),
        variant("list", no_rope_layers=[0, 1, 1, 0]),
        variant("window", use_sliding_window=True, sliding_window=3, no_rope_layers=[1, 0, 1, 0], layer_types=ABSENT),
        EPS, EPS_ABSENT), BF16),
    Case("granite", "GraniteForCausalLM", no_head_dim(
        embedding_multiplier=5.0, attention_multiplier=0.3, residual_multiplier=0.4, logits_scaling=6.0), (
            MAIN, EPS, variant("embedding-absent", embedding_multiplier=ABSENT),
            variant("residual-absent", residual_multiplier=ABSENT), variant("logits-absent", logits_scaling=ABSENT),
            variant("integers", embedding_multiplier=12, logits_scaling=8)), BF16),
    # Smaller queries and keys are needed if scores are not scaled.
    Case("granite-unscaled", "GraniteForCausalLM", changed(small(), {"head_dim": ABSENT}), (
        variant("", attention_multiplier=ABSENT),), BF16, gains={"q_proj": 0.4, "k_proj": 0.4}),
    Case("granite-bias", "GraniteForCausalLM", changed(small(attention_bias=True, mlp_bias=True), {"head_dim": ABSENT}), (
        ONLY,), BF16),
    Case("cohere", "CohereForCausalLM", no_head_dim(use_qk_norm=True, rope_parameters=rope(5e5), tie_word_embeddings=True), (
        MAIN, BOTH_WAYS, variant("eps", layer_norm_eps=1e-2), variant("eps-absent", layer_norm_eps=ABSENT),
        variant("logit-scale", logit_scale=0.5), variant("logit-scale-absent", logit_scale=ABSENT),
        variant("rope-absent", rope_parameters=ABSENT), scaled("linear", rope(rope_type="linear", factor=4.0))), BF16),
    Case("cohere-plain", "CohereForCausalLM", changed(small(tie_word_embeddings=True, attention_bias=True),
                                                      {"head_dim": ABSENT}), (
        ONLY, variant("norm-absent", use_qk_norm=ABSENT)), BF16),
    Case("cohere2", "Cohere2ForCausalLM", no_head_dim(num_hidden_layers=4, sliding_window=3, tie_word_embeddings=True), (
        Variant(""), variant("types-absent", layer_types=ABSENT), variant("pattern", layer_types=ABSENT, sliding_window_pattern=2),
        variant("types", layer_types=[FULL, WINDOWED, FULL, WINDOWED]), variant("window", sliding_window=6),
        variant("eps", layer_norm_eps=1e-2), variant("logit-scale", logit_scale=0.5)), BF16),
    Case("glm", "GlmForCausalLM", llama_like(rope_parameters=rope() | HALF, attention_bias=True), (
        MAIN, EPS, EPS_ABSENT, variant("share", rope_parameters=rope() | {"partial_rotary_factor": 0.25}),
        variant("rope-absent", rope_parameters=ABSENT)), BF16),
    Case("glm4", "Glm4ForCausalLM", llama_like(rope_parameters=rope() | HALF, attention_bias=True), (MAIN, EPS, EPS_ABSENT), BF16),
    Case("starcoder2", "Starcoder2ForCausalLM", no_head_dim(use_bias=True, tie_word_embeddings=True), (
        MAIN, variant("window", sliding_window=3), variant("eps", norm_epsilon=1e-2), variant("eps-absent", norm_epsilon=ABSENT),
        variant("gelu", hidden_act="gelu"), variant("act-absent", hidden_act=ABSENT)), BF16),
    Case("starcoder2-no-bias", "Starcoder2ForCausalLM", changed(small(use_bias=False, tie_word_embeddings=True), {"head_dim": ABSENT}), (
        ONLY,), BF16),
    Case("stablelm", "StableLmForCausalLM", no_head_dim(rope_parameters=rope() | HALF, use_qkv_bias=True), (
        MAIN, variant("eps", layer_norm_eps=1e-2), variant("share-absent", rope_parameters=ABSENT)), BF16),
    Case("stablelm-parallel", "StableLmForCausalLM",
         no_head_dim(rope_parameters=rope() | HALF, use_parallel_residual=True, qk_layernorm=True), (MAIN,), BF16),
    Case("nemotron", "NemotronForCausalLM", llama_like(rope_parameters=rope() | HALF), (
        MAIN, variant("eps", norm_eps=1e-2), variant("eps-absent", norm_eps=ABSENT), variant("act-absent", hidden_act=ABSENT),
        variant("share-absent", rope_parameters=ABSENT)), BF16),
    Case("seed_oss", "SeedOssForCausalLM", llama_like(attention_bias=True), (MAIN, EPS, scaled("llama3", LLAMA3)), BF16),
    Case("seed_oss-out", "SeedOssForCausalLM", small(attention_bias=True, attention_out_bias=True, mlp_bias=True), (ONLY,), BF16),
    Case("exaone4", "Exaone4ForCausalLM", llama_like(num_hidden_layers=4, sliding_window=3, sliding_window_pattern=4), (
        Variant(""), variant("types-absent", layer_types=ABSENT),
        variant("types", layer_types=[FULL, WINDOWED, FULL, WINDOWED]),
        variant("no-window", sliding_window=None, layer_types=[FULL] * 4), EPS, EPS_ABSENT), BF16),
    Case("helium", "HeliumForCausalLM", no_head_dim(head_dim=8, rope_parameters=rope(1e5)), (
        MAIN, EPS, EPS_ABSENT, variant("rope-absent", rope_parameters=ABSENT)), BF16),
    Case("arcee", "ArceeForCausalLM", llama_like(), (MAIN, EPS, EPS_ABSENT, variant("act-absent", hidden_act=ABSENT)), BF16),
    Case("arcee-bias", "ArceeForCausalLM", small(attention_bias=True, mlp_bias=True), (ONLY,), BF16),
    Case("ernie4_5", "Ernie4_5ForCausalLM", llama_like(rope_parameters=rope(5e5), tie_word_embeddings=True), (
        MAIN, EPS, EPS_ABSENT, variant("rope-absent", rope_parameters=ABSENT)), BF16),
    Case("ernie4_5-bias", "Ernie4_5ForCausalLM", small(use_bias=True, tie_word_embeddings=True), (ONLY,), BF16),
    Case("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", llama_like(), (
        MAIN, EPS, EPS_ABSENT,
        variant("alpha", rope_parameters=rope(rope_type="dynamic", alpha=50.0, factor=1.0))), BF16),
    Case("ministral3", "Ministral3ForCausalLM", llama_like(rope_parameters=YARN | {
        "original_max_position_embeddings": 3, "llama_4_scaling_beta": 0.4}), (
            Variant("", lengths=(10, 1, CONTEXT)), variant("window", sliding_window=4), EPS, EPS_ABSENT,
            variant("period", rope_parameters=YARN | {"original_max_position_embeddings": 5, "llama_4_scaling_beta": 0.4})), BF16),
]

GPTJ = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT, "rotary_dim": 4,
        "bos_token_id": 1, "eos_token_id": 2}
GPTS = [
    Case("gptj", "GPTJForCausalLM", GPTJ, (
        Variant(""), variant("rotary", rotary_dim=6), variant("eps", layer_norm_epsilon=1e-2),
        variant("gelu", activation_function="gelu"), variant("absent", layer_norm_epsilon=ABSENT, activation_function=ABSENT)), F16),
    Case("gptj-inner", "GPTJForCausalLM", GPTJ | {"n_inner": 24, "n_layer": 1}, (ONLY,), F16),
    Case("codegen", "CodeGenForCausalLM", GPTJ, (
        Variant(""), variant("rotary", rotary_dim=6), variant("eps", layer_norm_epsilon=1e-2)), F16),
    Case("codegen-8-heads", "CodeGenForCausalLM", GPTJ | {"n_head": 8, "n_layer": 1, "rotary_dim": 2}, (ONLY,), F16),
    Case("gpt_bigcode", "GPTBigCodeForCausalLM", {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": 2, "n_head": HEADS,
                                                  "n_positions": CONTEXT, "n_inner": MLP_WIDTH, "bos_token_id": 1,
                                                  "eos_token_id": 2}, (
        Variant(""), variant("unscaled", scale_attn_weights=False), variant("absent", multi_query=ABSENT),
        variant("eps", layer_norm_epsilon=1e-2), variant("gelu", activation_function="gelu")), F16),
    Case("gpt_bigcode-heads", "GPTBigCodeForCausalLM", {"vocab_size": 32, "n_embd": 16, "n_layer": 1, "n_head": 2,
                                                        "n_positions": CONTEXT, "multi_query": False}, (ONLY,), F16),
]

LLAMA_LIKE = OLMOS + OTHERS + GPTS
