"""Conversion of a config to the format before transformers 5, without the keys that have their default value."""

# Default of each missing key, per model_type; only keys that affect the forward pass.
DEFAULTS = {
    "bert": {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "type_vocab_size": 2},
    "roberta": {"hidden_act": "gelu", "type_vocab_size": 2, "pad_token_id": 1},
    "distilbert": {"activation": "gelu"},
    "albert": {"hidden_act": "gelu_new", "layer_norm_eps": 1e-12, "type_vocab_size": 2},
    "gpt2": {"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "scale_attn_weights": True,
             "scale_attn_by_inverse_layer_idx": False, "reorder_and_upcast_attn": False},
    "gpt_neo": {"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5},
    "gpt_neox": {"hidden_act": "gelu", "layer_norm_eps": 1e-5, "attention_bias": True, "use_parallel_residual": True},
    "opt": {"activation_function": "relu", "enable_bias": True, "layer_norm_elementwise_affine": True,
            "_remove_final_layer_norm": False, "do_layer_norm_before": True},
    "llama": {"rms_norm_eps": 1e-6, "attention_bias": False, "mlp_bias": False, "hidden_act": "silu"},
    "mistral": {"rms_norm_eps": 1e-6, "hidden_act": "silu", "sliding_window": 4096, "num_key_value_heads": 8},
    "qwen2": {"rms_norm_eps": 1e-6, "hidden_act": "silu", "use_sliding_window": False, "sliding_window": 4096,
              "num_key_value_heads": 32, "max_window_layers": 28},
    "qwen3": {"rms_norm_eps": 1e-6, "hidden_act": "silu", "use_sliding_window": False, "sliding_window": 4096,
              "num_key_value_heads": 32, "max_window_layers": 28, "attention_bias": False, "head_dim": 128},
    "gemma": {"rms_norm_eps": 1e-6, "hidden_act": "gelu_pytorch_tanh", "attention_bias": False},
    "gemma2": {"rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "attention_bias": False,
               "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "query_pre_attn_scalar": 256,
               "sliding_window": 4096, "num_key_value_heads": 4},
    "gemma3_text": {"rms_norm_eps": 1e-6, "hidden_activation": "gelu_pytorch_tanh", "attention_bias": False,
                    "attn_logit_softcapping": None, "final_logit_softcapping": None, "query_pre_attn_scalar": 256,
                    "sliding_window": 4096, "num_key_value_heads": 4},
    "phi": {"hidden_act": "gelu_new", "layer_norm_eps": 1e-5, "qk_layernorm": False},
    "phi3": {"hidden_act": "silu", "rms_norm_eps": 1e-5, "sliding_window": None},
    "mixtral": {"rms_norm_eps": 1e-5, "hidden_act": "silu", "sliding_window": None, "num_key_value_heads": 8,
                "num_local_experts": 8, "num_experts_per_tok": 2, "intermediate_size": 14336, "router_jitter_noise": 0.0},
    "phimoe": {"rms_norm_eps": 1e-5, "hidden_act": "silu", "sliding_window": None, "num_key_value_heads": 8,
               "num_local_experts": 16, "num_experts_per_tok": 2, "intermediate_size": 6400,
               "router_jitter_noise": 0.01, "attention_bias": False, "lm_head_bias": False},
    "qwen2_moe": {"rms_norm_eps": 1e-6, "hidden_act": "silu", "use_sliding_window": False, "sliding_window": 4096,
                  "num_key_value_heads": 16, "max_window_layers": 28, "qkv_bias": True, "decoder_sparse_step": 1,
                  "mlp_only_layers": [], "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
                  "shared_expert_intermediate_size": 5632, "norm_topk_prob": False},
    "qwen3_moe": {"rms_norm_eps": 1e-6, "hidden_act": "silu", "use_sliding_window": False, "sliding_window": 4096,
                  "num_key_value_heads": 4, "attention_bias": False, "decoder_sparse_step": 1, "mlp_only_layers": [],
                  "num_local_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "norm_topk_prob": False},
    "gpt_oss": {"rms_norm_eps": 1e-5, "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128,
                "attention_bias": True, "num_local_experts": 128, "num_experts_per_tok": 4, "intermediate_size": 2880,
                "hidden_act": "silu", "swiglu_limit": 7.0, "swiglu_alpha": 1.702},
    "dots1": {"rms_norm_eps": 1e-6, "hidden_act": "silu", "sliding_window": 4096, "num_key_value_heads": 32,
              "max_window_layers": 62, "attention_bias": False, "moe_intermediate_size": 1408, "n_group": 1,
              "topk_group": 1, "first_k_dense_replace": 0, "norm_topk_prob": False, "routed_scaling_factor": 1.0},
    "glm4_moe": {"rms_norm_eps": 1e-5, "hidden_act": "silu", "num_key_value_heads": 8, "attention_bias": False,
                 "moe_intermediate_size": 1408, "num_experts_per_tok": 8, "n_shared_experts": 1, "n_group": 1,
                 "n_routed_experts": 128, "routed_scaling_factor": 1.0, "topk_group": 1, "first_k_dense_replace": 1,
                 "norm_topk_prob": True, "use_qk_norm": False},
    "bloom": {"layer_norm_epsilon": 1e-5, "apply_residual_connection_post_layernorm": False},
    "mpt": {"layer_norm_epsilon": 1e-5},
    "falcon": {"layer_norm_epsilon": 1e-5, "alibi": False, "new_decoder_architecture": False, "multi_query": True,
               "parallel_attn": True, "bias": False, "activation": "gelu", "num_ln_in_parallel_attn": None,
               "max_position_embeddings": 2048},
    "mpnet": {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 1, "relative_attention_num_buckets": 32},
    "xlm-roberta": {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "type_vocab_size": 2, "pad_token_id": 1},
    "camembert": {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "type_vocab_size": 2, "pad_token_id": 1},
    "electra": {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "type_vocab_size": 2, "embedding_size": 128},
    "esm": {"layer_norm_eps": 1e-12, "emb_layer_norm_before": None, "token_dropout": False,
            "position_embedding_type": "absolute"},
    "nomic_bert": {"hidden_act": "silu", "layer_norm_eps": 1e-12},
    "modernbert": {"hidden_activation": "gelu", "norm_eps": 1e-5, "norm_bias": False, "attention_bias": False,
                   "mlp_bias": False, "decoder_bias": True, "local_attention": 128, "classifier_activation": "gelu",
                   "classifier_bias": False},
    "deberta-v2": {"hidden_act": "gelu", "layer_norm_eps": 1e-7, "type_vocab_size": 0, "relative_attention": False,
                   "max_relative_positions": -1, "position_biased_input": True, "pos_att_type": None, "legacy": True},
}
RMS_6, RMS_5 = {"rms_norm_eps": 1e-6}, {"rms_norm_eps": 1e-5}
LLAMA_LIKE = {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False}
DEFAULTS |= {
    "olmo": LLAMA_LIKE | {"clip_qkv": None}, "olmo2": LLAMA_LIKE | RMS_5, "smollm3": LLAMA_LIKE | RMS_6,
    "granite": LLAMA_LIKE | RMS_6, "cohere": LLAMA_LIKE | {"layer_norm_eps": 1e-5, "logit_scale": 0.0625},
    "glm": {"hidden_act": "silu", "rms_norm_eps": 1.5625e-7, "attention_bias": True},
    "glm4": {"hidden_act": "silu", "rms_norm_eps": 1.5625e-7, "attention_bias": True},
    "starcoder2": {"hidden_act": "gelu_pytorch_tanh", "norm_epsilon": 1e-5, "use_bias": True, "sliding_window": None},
    "stablelm": {"hidden_act": "silu", "layer_norm_eps": 1e-5}, "nemotron": {"hidden_act": "relu2", "norm_eps": 1e-5},
    "seed_oss": {"hidden_act": "silu", "attention_bias": True, "attention_out_bias": False, "mlp_bias": False} | RMS_6,
    "helium": LLAMA_LIKE | {"rms_norm_eps": 1e-8}, "arcee": {"hidden_act": "relu2", "mlp_bias": False, "attention_bias": False} | RMS_5,
    "ernie4_5": {"hidden_act": "silu", "use_bias": False} | RMS_5, "hunyuan_v1_dense": LLAMA_LIKE | RMS_5,
    "minicpm3": LLAMA_LIKE | RMS_5, "deepseek_v2": LLAMA_LIKE | RMS_6,
    "deepseek_v3": {"hidden_act": "silu", "attention_bias": False, "rope_interleave": True} | RMS_6,
    "llama4_text": {"hidden_act": "silu", "attention_bias": False, "attention_chunk_size": 8192, "attn_scale": 0.1,
                    "attn_temperature_tuning": True, "floor_scale": 8192, "use_qk_norm": True, "num_experts_per_tok": 1,
                    "interleave_moe_layer_step": 1, "router_jitter_noise": 0.0} | RMS_5,
}
DELTA_NET = {"hidden_act": "silu", "attention_bias": False, "head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
             "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4} | RMS_6
DELTA_NET_EXPERTS = {"num_key_value_heads": 2, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512}
DEFAULTS |= {
    "qwen3_next": DELTA_NET | DELTA_NET_EXPERTS | {"num_experts": 512, "num_experts_per_tok": 10, "norm_topk_prob": True,
                                                   "decoder_sparse_step": 1, "mlp_only_layers": []},
    "qwen3_5_text": DELTA_NET | {"num_key_value_heads": 4},
    "qwen3_5_moe_text": DELTA_NET | DELTA_NET_EXPERTS | {"num_experts": 256, "num_experts_per_tok": 8},
    "lfm2": {"norm_eps": 1e-5, "num_key_value_heads": 8, "intermediate_size": 12288, "conv_L_cache": 3, "conv_bias": False,
             "block_auto_adjust_ff_dim": True, "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256},
}
# Older names of some keys, per family.
RENAMED = {
    "bloom": {"hidden_size": "n_embed", "n_head": "num_attention_heads", "n_layer": "num_hidden_layers"},
    "falcon": {"hidden_size": "n_embed"},
}
# The base if a file does not specify it.
THETAS = {"lfm2": 1e6, "nomic_bert": 1e3, "smollm3": 2e6, "cohere": 5e5, "helium": 1e5, "ernie4_5": 5e5, "llama4_text": 5e5}
SHARES = {"qwen3_next": 0.25, "qwen3_5_text": 0.25, "qwen3_5_moe_text": 0.25, "glm4_moe": 0.5, "gpt_neox": 0.25, "phi": 0.5, "glm": 0.5, "glm4": 0.5, "nemotron": 0.5, "stablelm": 0.25, "phi3": 1.0}
UNTIED = {"gpt_neox", "phi", "llama", "mistral", "qwen2", "qwen3", "phi3", "olmo", "olmo2", "granite", "glm", "glm4", "stablelm",
          "nemotron", "seed_oss", "helium", "arcee", "hunyuan_v1_dense", "mixtral", "phimoe", "qwen2_moe",
          "qwen3_moe", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "dots1", "glm4_moe", "deepseek_v2", "deepseek_v3", "gpt_oss", "llama4_text"}
# Keys without effect on the forward pass, or newer than the old format.
DROPPED = {"dtype", "rope_parameters", "transformers_version", "layer_types", "_sliding_window_pattern", "use_cache",
           "initializer_range", "attention_layers", "classifier_dropout", "pretraining_tp", "is_decoder",
           "add_cross_attention", "use_bidirectional_attention", "output_router_logits", "router_aux_loss_coef",
           "input_jitter_noise"}


def rope_keys(kind: str, rope: dict) -> dict:
    """Write `rope_theta` and `rope_scaling`, with the older "type" for the kinds that used it."""
    rope = dict(rope)
    share, theta, rope_type = rope.pop("partial_rotary_factor", None), rope.pop("rope_theta"), rope.pop("rope_type")
    keys = {"rotary_emb_base" if kind == "gpt_neox" else "rope_theta": theta}
    if share not in (None, SHARES.get(kind, share)):
        keys["rotary_pct" if kind == "gpt_neox" else "partial_rotary_factor"] = share
    if theta == THETAS.get(kind, 10000.0):
        keys = {key: value for key, value in keys.items() if value != theta}
    if rope_type != "default":
        keys["rope_scaling"] = {"rope_type" if kind == "gemma3" or rope_type == "llama3" else "type": rope_type} | rope
    return keys


def gemma3_keys(config: dict) -> dict:
    full, local = (config["rope_parameters"][kind] for kind in ("full_attention", "sliding_attention"))
    keys = rope_keys("gemma3", full)
    if full["rope_theta"] == 1e6:
        del keys["rope_theta"]
    if local["rope_theta"] != 10000.0:
        keys["rope_local_base_freq"] = local["rope_theta"]
    full_layers = [layer for layer, kind in enumerate(config["layer_types"]) if kind == "full_attention"]
    return keys | {"sliding_window_pattern": full_layers[0] + 1}


def modernbert_keys(config: dict) -> dict:
    thetas = {"global_rope_theta": ("full_attention", 160000.0), "local_rope_theta": ("sliding_attention", 10000.0)}
    keys = {key: config["rope_parameters"][kind]["rope_theta"] for key, (kind, _) in thetas.items()}
    keys = {key: value for key, value in keys.items() if value != thetas[key][1]}
    scaling = {key: value for key, value in config["rope_parameters"]["full_attention"].items() if key != "rope_theta"}
    if scaling["rope_type"] != "default":  # also the base of windowed layers
        keys["rope_scaling"] = scaling
    full_layers = [layer for layer, kind in enumerate(config["layer_types"]) if kind == "full_attention"]
    every = full_layers[1] if len(full_layers) > 1 else 3
    return keys | ({"global_attn_every_n_layers": every} if every != 3 else {})


def old_spelling(config: dict) -> dict:
    kind = config["model_type"]
    defaults = DEFAULTS[kind] | {"tie_word_embeddings": kind not in UNTIED}
    old = {key: value for key, value in config.items()
           if key not in DROPPED and ("dropout" not in key or key == "token_dropout") and not key.endswith("pdrop")
           and not (key in defaults and defaults[key] == value)}
    old |= {"torch_dtype": config["dtype"], "transformers_version": "4.40.0"}
    if kind == "gemma3_text":
        old |= gemma3_keys(config)
    elif kind == "modernbert":
        old |= modernbert_keys(config)
    elif "rope_parameters" in config:
        old |= rope_keys(kind, config["rope_parameters"])
    if kind == "lfm2":
        old["full_attn_idxs"] = [layer for layer, of in enumerate(config["layer_types"]) if of != "conv"]
    if old.get("head_dim") == config.get("hidden_size", 0) // config.get("num_attention_heads", 1) \
            and kind not in ("qwen3", "qwen3_next", "gemma", "gemma2", "gemma3_text", "helium", "gpt_oss"):
        del old["head_dim"]
    names = RENAMED.get(kind, {})
    return dict(sorted((names.get(key, key), value) for key, value in old.items()))
