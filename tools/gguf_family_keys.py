"""The GGUF keys that llama.cpp's converter writes from the config.json of each architecture.

Source: ggml-org/llama.cpp, conversion/*.py.
"""

from gguf_families import ENCODERS, Case, falcon_kv_heads

# GGUF key without the architecture's name: possible keys of config.json, of which the first one present counts.
WHOLE = {"context_length": ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len"),
         "embedding_length": ("hidden_size", "n_embd", "d_model"),
         "attention.head_count": ("num_attention_heads", "n_head", "n_heads"),
         "attention.head_count_kv": ("num_key_value_heads",),
         "attention.key_length": ("head_dim",), "attention.value_length": ("head_dim",),
         "expert_count": ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
         "expert_used_count": ("num_experts_per_tok", "moe_k", "moe_topk", "top_k_experts"),
         "expert_feed_forward_length": ("moe_intermediate_size",),
         "expert_group_count": ("n_group",), "expert_group_used_count": ("topk_group",),
         "expert_shared_count": ("n_shared_experts", "moe_num_shared_experts"),
         "expert_shared_feed_forward_length": ("shared_expert_intermediate_size", "shared_intermediate_size"),
         "leading_dense_block_count": ("first_k_dense_replace", "moe_layer_start_index"),
         "interleave_moe_layer_step": ("moe_layer_interval",),
         "vocab_size": ("vocab_size",),
         "nextn_predict_layers": ("num_nextn_predict_layers",),
         "attention.q_lora_rank": ("q_lora_rank",), "attention.kv_lora_rank": ("kv_lora_rank",),
         "attention.indexer.top_k": ("index_topk",), "attention.indexer.head_count": ("index_n_heads",),
         "attention.indexer.key_length": ("index_head_dim",),
         "ssm.conv_kernel": ("linear_conv_kernel_dim",), "ssm.state_size": ("linear_key_head_dim",),
         "ssm.group_count": ("linear_num_key_heads",), "ssm.time_step_rank": ("linear_num_value_heads",)}
REAL = {"attention.layer_norm_rms_epsilon": ("rms_norm_eps",),
        "attention.layer_norm_epsilon": ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"),
        "attention.scale": ("attention_multiplier",), "embedding_scale": ("embedding_multiplier",),
        "residual_scale": ("residual_multiplier",), "logit_scale": ("logits_scaling", "logit_scale"),
        "attention.clamp_kqv": ("clip_qkv",), "expert_weights_scale": ("routed_scaling_factor",)}
WINDOWED = {"olmo2", "cohere2", "exaone4", "gpt-oss", "modern-bert", "phimoe"}
LISTS_WINDOWS = {"olmo2", "exaone4"}
NOT_WRITTEN = {"mixtral": ("head_dim",), "cohere2": ("head_dim",)}


def first_of(config: dict, keys: tuple):
    return next((config[key] for key in keys if config.get(key) is not None), None)


def rope_values(case: Case, config: dict) -> dict:
    both = config.get("rope_parameters")
    if not both or case.architecture in ("bloom", "mpt"):
        return {}
    rope, windowed = both.get("full_attention", both), both.get("sliding_attention")
    heads = first_of(config, WHOLE["attention.head_count"])
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    rotated = config["qk_rope_head_dim"] if "qk_rope_head_dim" in config else int(
        head_dim * rope.get("partial_rotary_factor", 1))
    out = {"rope.dimension_count": rotated, "rope.freq_base": float(rope["rope_theta"])}
    if windowed:
        out["rope.freq_base_swa"] = float(windowed["rope_theta"])
    if rope["rope_type"] in ("linear", "yarn"):
        out |= {"rope.scaling.type": rope["rope_type"], "rope.scaling.factor": float(rope["factor"])}
    if rope["rope_type"] == "yarn":
        out["rope.scaling.original_context_length"] = rope["original_max_position_embeddings"]
        for ours, theirs in (("yarn_beta_fast", "beta_fast"), ("yarn_beta_slow", "beta_slow"),
                             ("yarn_attn_factor", "attention_factor")):
            if rope.get(theirs) is not None:
                out[f"rope.scaling.{ours}"] = float(rope[theirs])
        if rope.get("mscale_all_dim") is not None:
            out["rope.scaling.yarn_log_multiplier"] = 0.1 * rope["mscale_all_dim"]
    if rope.get("llama_4_scaling_beta") is not None:
        out["attention.temperature_scale"] = rope["llama_4_scaling_beta"]
    return out


def latent_values(case: Case, config: dict) -> dict:
    key = config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    if case.older:
        return {"attention.head_count_kv": config["num_attention_heads"], "attention.key_length": key,
                "attention.value_length": config["v_head_dim"]}
    if case.architecture == "minicpm3":
        return {"attention.key_length": key}
    sigmoid = config["model_type"] != "deepseek_v2"
    return {"attention.head_count_kv": 1, "attention.key_length": config["kv_lora_rank"] + config["qk_rope_head_dim"],
            "attention.value_length": config["kv_lora_rank"], "attention.key_length_mla": key,
            "attention.value_length_mla": config["v_head_dim"], "expert_gating_func": 2 if sigmoid else 1}


def lfm2_mlp_width(config: dict) -> int:
    """Return the MLP size after the config's adjustment of intermediate_size."""
    width = config["intermediate_size"]
    if not config["block_auto_adjust_ff_dim"]:
        return width
    multiple = config["block_multiple_of"]
    return -(-int(config["block_ffn_dim_multiplier"] * int(2 * width / 3)) // multiple) * multiple


def gemma4_values(config: dict) -> dict:
    windowed = [kind == "sliding_attention" for kind in config["layer_types"]]
    sharing, width, full = config["num_kv_shared_layers"], config["intermediate_size"], config["global_head_dim"]
    own = len(windowed) - sharing
    rope = config["rope_parameters"]
    out = {"attention.shared_kv_layers": sharing, "attention.sliding_window": config["sliding_window"],
           "attention.sliding_window_pattern": windowed, "embedding_length_per_layer_input": config.get("hidden_size_per_layer_input") or 0,
           "attention.key_length": full, "attention.value_length": full,
           "attention.key_length_swa": config["head_dim"], "attention.value_length_swa": config["head_dim"],
           "rope.dimension_count": full, "rope.dimension_count_swa": config["head_dim"],
           "rope.freq_base": float(rope["full_attention"]["rope_theta"]), "rope.freq_base_swa": float(rope["sliding_attention"]["rope_theta"])}
    if config["use_double_wide_mlp"]:
        out["feed_forward_length"] = [width if layer < own else 2 * width for layer in range(len(windowed))]
    if config.get("num_global_key_value_heads") is not None:
        out["attention.head_count_kv"] = [config["num_key_value_heads" if one else "num_global_key_value_heads"] for one in windowed]
    if config.get("final_logit_softcapping"):
        out["final_logit_softcapping"] = float(config["final_logit_softcapping"])
    return out


def gguf_values(case: Case, config: dict) -> dict:
    blocks = config.get("num_hidden_layers", config.get("n_layer", config.get("n_layers")))
    drafts = config.get("num_nextn_predict_layers") or 0
    if case.architecture == "deepseek2":
        drafts = 0  # the converter skips these layers
    width = first_of(config, WHOLE["embedding_length"])
    feed = first_of(config, ("intermediate_size", "ffn_hidden_size", "n_inner")) or 4 * width
    out = {"block_count": blocks + drafts, "feed_forward_length": feed}
    for key, ours in WHOLE.items():
        if (value := first_of(config, ours)) is not None:
            out[key] = value
    for key, ours in REAL.items():
        if (value := first_of(config, ours)) is not None:
            out[key] = float(value)
    if not drafts:
        out.pop("nextn_predict_layers", None)
    out |= rope_values(case, config)
    if "kv_lora_rank" in config:
        out.pop("attention.value_length", None)
        out |= latent_values(case, config)
    if config.get("norm_topk_prob") is not None and case.architecture not in ("qwen2moe", "qwen3moe", "olmoe"):
        out["expert_weights_norm"] = config["norm_topk_prob"]
    if case.architecture == "falcon":
        out["attention.head_count_kv"] = falcon_kv_heads(config)
    if case.architecture == "starcoder":
        out["attention.head_count_kv"] = 1
    if case.architecture == "olmo":
        out["attention.layer_norm_epsilon"] = 1e-5
    if case.architecture == "mpt":
        out["attention.layer_norm_epsilon"], out["attention.max_alibi_bias"] = 1e-5, 8.0
        if (clip := config["attn_config"].get("clip_qkv")) is not None:
            out["attention.clamp_kqv"] = float(clip)
    if case.architecture == "gpt-oss":
        out["expert_feed_forward_length"] = config["intermediate_size"]
    if case.architecture == "llama4":
        out["expert_feed_forward_length"], out["feed_forward_length"] = config["intermediate_size"], config["intermediate_size_mlp"]
        out["interleave_moe_layer_step"] = config["interleave_moe_layer_step"]
    if case.architecture == "lfm2":
        out["attention.layer_norm_rms_epsilon"] = out.pop("attention.layer_norm_epsilon")
        out["attention.head_count_kv"] = [0 if kind == "conv" else config["num_key_value_heads"]
                                          for kind in config["layer_types"]]
        out["shortconv.l_cache"], out["feed_forward_length"] = config["conv_L_cache"], lfm2_mlp_width(config)
    if "linear_value_head_dim" in config:
        out["ssm.inner_size"] = config["linear_value_head_dim"] * config["linear_num_value_heads"]
        out["full_attention_interval"] = config["layer_types"].index("full_attention") + 1
        if case.architecture == "qwen3next":
            del out["expert_weights_norm"]  # the converter does not write it
    if case.architecture == "gemma4":
        out |= gemma4_values(config)
    if case.architecture == "stablelm":
        out["use_parallel_residual"] = config["use_parallel_residual"]
    if case.architecture in ENCODERS:
        out["attention.causal"] = False
    window = config.get("sliding_window") or config.get("local_attention")
    if case.architecture in WINDOWED and window:
        out["attention.sliding_window"] = window
    if case.architecture in LISTS_WINDOWS and window:
        out["attention.sliding_window_pattern"] = [kind == "sliding_attention" for kind in config["layer_types"]]
    if case.architecture == "modern-bert":
        out["attention.sliding_window_pattern"] = config.get("global_attn_every_n_layers", 3)
    if config["model_type"] in ("roberta", "xlm-roberta"):
        out["context_length"] -= config["pad_token_id"] + 1
    return out
