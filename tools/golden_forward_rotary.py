"""Cases of golden_forward.py with rotary positions."""

import torch
from golden_forward_case import (ABSENT, BF16, BOTH_WAYS, CONTEXT, F16, HEADS, MAIN, MLP_WIDTH, ONLY, TOKENS,
                                 VOCABULARY, WIDTH, Case, Variant, activation, both, changed, variant)
from golden_forward_spelling import old_spelling


def rope(theta: float = 10000.0, **more) -> dict:
    return {"rope_type": "default", "rope_theta": theta} | more


def llama_like(**changes) -> dict:
    """Make a config with heads of 8, although hidden_size / heads is 6: o_proj is 24 x 32."""
    config = TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "intermediate_size": MLP_WIDTH,
                       "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                       "max_position_embeddings": CONTEXT, "rope_parameters": rope()}
    return changed(config, changes)


def small(**changes) -> dict:
    return llama_like(vocab_size=32, hidden_size=16, intermediate_size=24) | changes


# ---- Rotary scaling -----------------------------------------------------------------------------------------------

LLAMA3 = rope(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64)
# With this base and length, the ramp begins and ends among the four frequencies, at 0.2 and 2.0.
YARN = rope(100.0, rope_type="yarn", factor=4.0, original_max_position_embeddings=64, beta_fast=8.0, beta_slow=1.0)
LONGROPE = rope(rope_type="longrope", short_factor=[1.1, 1.3, 1.2, 1.7], long_factor=[1.5, 2.5, 3.0, 5.0])


def scaled(name: str, parameters: dict, lengths: tuple = (8,), **config) -> Variant:
    return Variant(name, config | {"rope_parameters": parameters}, lengths, old=old_spelling)


def scalings() -> tuple[Variant, ...]:
    return (
        scaled("base", rope(500.0)),
        scaled("linear", rope(rope_type="linear", factor=4.0)),
        scaled("dynamic", rope(rope_type="dynamic", factor=2.0), (7, 8, 12), max_position_embeddings=8),
        scaled("llama3", LLAMA3),
        scaled("yarn", YARN, (8, CONTEXT)),
        scaled("yarn-betas", changed(YARN, {"beta_fast": ABSENT, "beta_slow": ABSENT,
                                            "original_max_position_embeddings": 4096})),
        scaled("yarn-truncate", YARN | {"truncate": False}),
        scaled("yarn-attention-factor", YARN | {"attention_factor": 1.3}),
        scaled("yarn-mscale", YARN | {"mscale": 0.8, "mscale_all_dim": 0.5}),
        scaled("yarn-no-factor", YARN | {"factor": None}, max_position_embeddings=192),
        scaled("yarn-outer-length", YARN | {"original_max_position_embeddings": 500}, original_max_position_embeddings=64),
        # The shorter text is within the original length: it uses the short factors, but also the gain.
        scaled("longrope", LONGROPE | {"factor": 4.0, "original_max_position_embeddings": 8}, (8, 9)),
        scaled("longrope-attention-factor",
               LONGROPE | {"factor": 4.0, "original_max_position_embeddings": 8, "attention_factor": 1.3}, (8,)),
        scaled("longrope-no-factor", LONGROPE | {"original_max_position_embeddings": 8}, (8,), max_position_embeddings=64),
        variant("share-not-read", partial_rotary_factor=0.5),
    )


# ---- Llama, Mistral, Qwen -----------------------------------------------------------------------------------------

def with_stored_frequencies(tensors: dict) -> dict:
    return tensors | {f"model.layers.{layer}.self_attn.rotary_emb.inv_freq": torch.full((4,), 0.3) for layer in range(2)}


UNTIED_HEAD = (ONLY, variant("tied", tie_word_embeddings=True))  # the stored head takes precedence in both cases
QWEN_WINDOWS = (
    variant("window-types", use_sliding_window=True, sliding_window=3,
            layer_types=["full_attention", "sliding_attention", "full_attention"]),
    Variant("window-layers", {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1,
                              "layer_types": ABSENT}, old=old_spelling),
    variant("window-28-layers", use_sliding_window=True, sliding_window=3, max_window_layers=ABSENT, layer_types=ABSENT),
    variant("window-not-used", use_sliding_window=False, sliding_window=3, max_window_layers=1, layer_types=ABSENT),
)
BOTH_WAYS_IN_WINDOWS = variant("both-ways", is_causal=False, use_sliding_window=True, sliding_window=3,
                               layer_types=["full_attention", "sliding_attention", "full_attention"])
LLAMAS = [
    Case("llama", "LlamaForCausalLM", llama_like(), (
        MAIN, BOTH_WAYS, variant("eps", rms_norm_eps=1e-2), *scalings(),
        *activation("hidden_act", "gelu", "swish", "sigmoid")), BF16),
    Case("llama-bias", "LlamaForCausalLM", small(attention_bias=True, mlp_bias=True), (
        Variant("", old=old_spelling),), BF16),
    Case("llama-tied", "LlamaForCausalLM", small(tie_word_embeddings=True), (Variant("", old=old_spelling),), BF16,
         rewrite=with_stored_frequencies),
    Case("llama-stored-head", "LlamaForCausalLM", small(), UNTIED_HEAD, BF16),
    Case("llama-body", "LlamaModel", small(), (ONLY,), BF16),
    # Without head_dim and num_key_value_heads: 16 / 2, and as many as query heads.
    Case("llama-plain-heads", "LlamaForCausalLM",
         small(num_attention_heads=2, num_key_value_heads=2), (
             variant("", head_dim=ABSENT, num_key_value_heads=ABSENT),
             variant("null", head_dim=None, num_key_value_heads=None)), BF16),
    Case("mistral", "MistralForCausalLM", llama_like(sliding_window=4), (
        MAIN, BOTH_WAYS, variant("both-ways-odd", is_causal=False, sliding_window=1),
        variant("no-window", sliding_window=None), variant("window-absent", sliding_window=ABSENT),
        variant("window-1", sliding_window=1), variant("window-8", sliding_window=8),
        variant("types-not-read", layer_types=["full_attention", "sliding_attention"]),
        variant("bias-not-read", attention_bias=True)), BF16),
    Case("mistral-8-kv-heads", "MistralForCausalLM", small(num_attention_heads=16, num_key_value_heads=8, head_dim=4), (
        variant("", num_key_value_heads=ABSENT),), BF16),
    Case("qwen2", "Qwen2ForCausalLM",
         llama_like(head_dim=ABSENT, hidden_size=32, num_hidden_layers=3, rope_parameters=rope(1e6)),
         (MAIN, BOTH_WAYS_IN_WINDOWS, *QWEN_WINDOWS), BF16),
    Case("qwen2-tied", "Qwen2ForCausalLM", changed(small(tie_word_embeddings=True), {"head_dim": ABSENT}), (
        Variant("", old=old_spelling),), BF16),
    Case("qwen3", "Qwen3ForCausalLM", llama_like(head_dim=12, num_hidden_layers=3, rope_parameters=rope(1e6)),
         (MAIN, BOTH_WAYS_IN_WINDOWS, variant("eps", rms_norm_eps=1e-2), *QWEN_WINDOWS), BF16),
    Case("qwen3-bias", "Qwen3ForCausalLM", small(attention_bias=True), (Variant("", old=old_spelling),), BF16),
    Case("qwen3-128", "Qwen3ForCausalLM",
         small(hidden_size=8, num_attention_heads=2, num_key_value_heads=1, head_dim=128, num_hidden_layers=1), (
             variant("", head_dim=ABSENT),), BF16),
]


# ---- Gemma --------------------------------------------------------------------------------------------------------

def gemma3_like(**changes) -> dict:
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    parameters = {"sliding_attention": rope(10000.0),
                  "full_attention": rope(1e6, rope_type="linear", factor=8.0)}
    return llama_like(sliding_window=4, query_pre_attn_scalar=20, num_hidden_layers=3, layer_types=kinds,
                      rope_parameters=parameters) | changes


def inside_language_model(tensors: dict) -> dict:
    return {"language_model." + name: tensor for name, tensor in tensors.items()}


def inside_model(tensors: dict) -> dict:
    return {name.replace("model.", "model.language_model.", 1): tensor for name, tensor in tensors.items()}


def as_text_config(config: dict) -> dict:
    text = {key: value for key, value in config.items() if key not in ("architectures", "dtype", "torch_dtype")}
    dtype = next(key for key in ("dtype", "torch_dtype") if key in config)
    return {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "text_config": text,
            dtype: config[dtype]}


GEMMA3_LOCAL = {"sliding_attention": rope(300.0), "full_attention": rope(5000.0) | LLAMA3 | {"rope_theta": 5000.0}}
GEMMAS = [
    Case("gemma", "GemmaForCausalLM", llama_like(num_key_value_heads=1), (
        MAIN, BOTH_WAYS, variant("eps", rms_norm_eps=1e-2), variant("gelu-means-tanh", hidden_act="gelu"),
        variant("activation-not-read", hidden_activation="relu"), *activation("hidden_act", "gelu_fast")), BF16),
    Case("gemma-untied", "GemmaForCausalLM", small(attention_bias=True, tie_word_embeddings=False), UNTIED_HEAD, BF16),
    Case("gemma2", "Gemma2ForCausalLM", llama_like(sliding_window=4, query_pre_attn_scalar=20), (
        MAIN, BOTH_WAYS, variant("flag-not-read", use_bidirectional_attention=True),
        variant("eps", rms_norm_eps=1e-2), both("caps", attn_logit_softcapping=2.0, final_logit_softcapping=0.5),
        both("no-caps", attn_logit_softcapping=None, final_logit_softcapping=None),
        variant("types-absent", layer_types=ABSENT),
        variant("types", layer_types=["full_attention", "sliding_attention"]),
        variant("scalar-absent", query_pre_attn_scalar=ABSENT), variant("window-absent", sliding_window=ABSENT),
        variant("gelu", hidden_activation="gelu"), variant("act-not-read", hidden_act="relu")), BF16,
         gains={"q_proj": 1.5, "k_proj": 1.5, "model.norm.": 30.0}),  # so that soft-capping has an effect
    Case("gemma2-bias", "Gemma2ForCausalLM",
         small(num_attention_heads=8, num_key_value_heads=4, head_dim=4, attention_bias=True, sliding_window=3), (
             variant("", num_key_value_heads=ABSENT),), BF16),
    Case("gemma3", "Gemma3ForCausalLM", gemma3_like(), (
        MAIN, variant("eps", rms_norm_eps=1e-2), both("local", rope_parameters=GEMMA3_LOCAL),
        variant("bidirectional", use_bidirectional_attention=True),
        variant("bidirectional-odd", use_bidirectional_attention=True, sliding_window=5),
        BOTH_WAYS, variant("both-ways-twice", use_bidirectional_attention=True, is_causal=False),
        variant("caps", attn_logit_softcapping=2.0, final_logit_softcapping=0.5),
        variant("pattern", sliding_window_pattern=3, layer_types=ABSENT, _sliding_window_pattern=ABSENT),
        variant("pattern-absent", layer_types=ABSENT, _sliding_window_pattern=ABSENT),
        variant("scalar-absent", query_pre_attn_scalar=ABSENT)), BF16),
    Case("gemma3-multimodal", "Gemma3ForCausalLM", gemma3_like(), (Variant("", old=old_spelling),), BF16,
         rewrite=inside_language_model, rewrite_config=as_text_config, loads_back=False),
    Case("gemma3-multimodal-5", "Gemma3ForCausalLM", gemma3_like(), (ONLY,), BF16,
         rewrite=inside_model, rewrite_config=as_text_config, loads_back=False),
]


# ---- GPT-NeoX, Phi ------------------------------------------------------------------------------------------------

def neox_like(**changes) -> dict:
    return TOKENS | {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2,
                     "num_attention_heads": HEADS, "intermediate_size": MLP_WIDTH, "max_position_embeddings": CONTEXT,
                     "rope_parameters": rope(partial_rotary_factor=0.5)} | changes


def phi_like(**changes) -> dict:
    return changed(llama_like(hidden_size=32, rope_parameters=rope(partial_rotary_factor=0.5)), {"head_dim": ABSENT} | changes)


def small_phi(**changes) -> dict:
    return phi_like(vocab_size=32, hidden_size=16, intermediate_size=24, num_attention_heads=2, num_key_value_heads=1) | changes


def phi3_like(**changes) -> dict:
    return changed(llama_like(hidden_size=32, original_max_position_embeddings=8), {"head_dim": ABSENT} | changes)


def as_neox_files(tensors: dict) -> dict:
    """Store the mask and the frequencies, and use the head's older name."""
    for layer in range(2):
        tensors[f"gpt_neox.layers.{layer}.attention.bias"] = torch.ones(1, 1, CONTEXT, CONTEXT, dtype=torch.bool).tril()
        tensors[f"gpt_neox.layers.{layer}.attention.masked_bias"] = torch.tensor(-1e9)
        tensors[f"gpt_neox.layers.{layer}.attention.rotary_emb.inv_freq"] = torch.full((2,), 0.3)
    return {"embed_out.weight" if name == "lm_head.weight" else name: tensor for name, tensor in tensors.items()}


def as_su(config: dict) -> dict:
    """Use the name of the RoPE type in the first Phi-3 files. With it, transformers 5.23 ignores the length outside of it."""
    old = old_spelling(config)
    return old | {"rope_scaling": old["rope_scaling"] | {"type": "su"}}


def as_phi3_yarn(config: dict) -> dict:
    old = old_spelling(config)
    return old | {"rope_scaling": old["rope_scaling"] | {"type": "yarn"}}


def long_phi3(name: str, lengths: tuple, old, old_loads: bool = True, **config) -> Variant:
    return Variant(name, {"rope_parameters": LONGROPE | {"partial_rotary_factor": 1.0}} | config, lengths, old, old_loads)


def share(value: float, **more) -> dict:
    return rope(partial_rotary_factor=value, **more)


OTHERS = [
    Case("gpt_neox", "GPTNeoXForCausalLM", neox_like(), (
        MAIN, BOTH_WAYS, both("sequential", use_parallel_residual=False), variant("eps", layer_norm_eps=1e-2),
        both("share-quarter", rope_parameters=share(0.25)), both("share-all", rope_parameters=share(1.0)),
        both("share-odd", rope_parameters=share(0.4)),  # 3 of 8 is rounded: 4 dimensions rotate
        both("linear", rope_parameters=share(0.5, rope_type="linear", factor=4.0)),
        Variant("dynamic", {"rope_parameters": share(0.5, rope_type="dynamic", factor=2.0),
                            "max_position_embeddings": 8}, (8, 12), old=old_spelling),
        both("yarn", rope_parameters=YARN | {"partial_rotary_factor": 0.75}),
        variant("old-base", rope_parameters=ABSENT, rotary_pct=0.5, rotary_emb_base=500, rope_theta=77.0),
        *activation("hidden_act", "gelu_new")), F16),
    Case("gpt_neox-no-bias", "GPTNeoXForCausalLM", neox_like(hidden_size=16, num_attention_heads=2, vocab_size=32,
                                                             attention_bias=False), UNTIED_HEAD, BF16,
         rewrite=as_neox_files),
    Case("gpt_neox-tied", "GPTNeoXForCausalLM", neox_like(hidden_size=16, num_attention_heads=2, vocab_size=32,
                                                          tie_word_embeddings=True), (ONLY,), BF16),
    Case("phi", "PhiForCausalLM", phi_like(), (
        MAIN, BOTH_WAYS, variant("eps", layer_norm_eps=1e-2), both("share-quarter", rope_parameters=share(0.25)),
        both("share-all", rope_parameters=share(1.0)), both("linear", rope_parameters=share(0.5, rope_type="linear", factor=4.0)),
        *activation("hidden_act", "gelu_pytorch_tanh", "gelu", "sigmoid")), F16),
    Case("phi-qk-norm", "PhiForCausalLM", small_phi(qk_layernorm=True), (
        Variant("", old=old_spelling), variant("eps", layer_norm_eps=1e-2)), BF16),
    Case("phi-tied", "PhiForCausalLM", small_phi(tie_word_embeddings=True), (Variant("", old=old_spelling),), BF16),
    Case("phi3", "Phi3ForCausalLM", phi3_like(), (
        MAIN, variant("window", sliding_window=4), variant("both-ways", sliding_window=4, is_causal=False),
        variant("eps", rms_norm_eps=1e-2),
        both("share", rope_parameters=share(0.75)), both("share-odd", rope_parameters=share(0.4)),
        long_phi3("longrope", (7, 8, 9, CONTEXT), old_spelling),
        long_phi3("longrope-su", (8, 9), as_su, old_loads=False), long_phi3("longrope-yarn", (8,), as_phi3_yarn),
        long_phi3("longrope-no-gain", (8, 9), old_spelling, original_max_position_embeddings=CONTEXT,
                  max_position_embeddings=CONTEXT),
        Variant("longrope-share", {"rope_parameters": changed(LONGROPE, {
            "short_factor": [1.1, 1.3], "long_factor": [1.5, 2.5], "partial_rotary_factor": 0.5})}, (8, 9),
                old=old_spelling)), BF16),
]

ROTARY = LLAMAS + GEMMAS + OTHERS
