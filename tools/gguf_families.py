"""How llama.cpp's converter changes the tensors of each architecture, and the keys that it writes.

Source: ggml-org/llama.cpp, conversion/*.py. Names of tensors come from the `gguf` package's own map.
"""

import re
from dataclasses import dataclass, field

import gguf
import numpy as np

Tensors = dict[str, np.ndarray]
PERMUTED = {"llama", "granite", "granitemoe", "smollm3", "arcee", "olmo", "mistral3"}
ENCODERS = {"bert", "nomic-bert", "modern-bert"}
EXPERT = re.compile(r"(.*layers\.\d+)\.(\w+)\.experts\.(\d+)\.(\w+)\.weight$")


@dataclass
class Case:
    name: str
    architecture: str
    weights: str = ""  # a folder of tests/data/forward; empty: `name`
    config: str = "config.json"
    changed: dict = field(default_factory=dict)  # of config.json, where a GGUF file cannot say it; None: without that key
    older: bool = False  # as converters of before 2025 wrote it
    loads: bool = False  # transformers' own loader of GGUF files knows the architecture


def pairs_side_by_side(values: np.ndarray, heads: int) -> np.ndarray:
    shape = values.shape
    return values.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def stacked_experts(tensors: Tensors) -> Tensors:
    """Those of one name in one tensor."""
    out, stacks = {}, {}
    for name, values in tensors.items():
        if found := EXPERT.match(name):
            layer, place, expert, matrix = found.groups()
            merged = (f"{layer.removeprefix('model.')}.feed_forward.experts.{matrix}.weight" if matrix in ("w1", "w2", "w3")
                      else f"{layer}.{place}.experts.{matrix}.weight")
            stacks.setdefault(merged, {})[int(expert)] = values
        else:
            out[name] = values
    return out | {name: np.stack([stack[index] for index in range(len(stack))]) for name, stack in stacks.items()}


def older_mixtral(tensors: Tensors) -> Tensors:
    matrices = {"w1": "ffn_gate", "w2": "ffn_down", "w3": "ffn_up"}
    out = {}
    for name, values in tensors.items():
        if found := EXPERT.match(name):
            layer, _, expert, matrix = found.groups()
            name = f"blk.{layer.rsplit('.', 1)[1]}.{matrices[matrix]}.{expert}.weight"
        out[name] = values
    return out


def blocks_of_heads(values: np.ndarray, heads: int, kv_heads: int) -> np.ndarray:
    """All queries, all keys, all values, of those of each kv head."""
    head = values.shape[0] // (heads + 2 * kv_heads)
    runs = values.reshape(kv_heads, heads // kv_heads + 2, head, *values.shape[1:])
    rest = values.shape[1:]
    return np.concatenate([runs[:, :-2].reshape(-1, *rest), runs[:, -2].reshape(-1, *rest),
                           runs[:, -1].reshape(-1, *rest)])


def falcon_kv_heads(config: dict) -> int:
    if config["new_decoder_architecture"]:
        return config["num_kv_heads"]
    return 1 if config["multi_query"] else config["num_attention_heads"]


def of_gpt_oss(tensors: Tensors, config: dict) -> Tensors:
    """Of the 16-bit form, (E, inputs, outputs) with gates and ups in turn, or of MXFP4's (E, outputs, inputs)."""
    out = {}
    for name, values in tensors.items():
        layer = name.split(".")[2] if ".layers." in name else ""
        if name.endswith("sinks"):
            out[f"{name}.weight"] = values
        elif name.endswith(("gate_up_proj", "gate_up_proj_bias")):
            ending = "bias" if name.endswith("bias") else "weight"
            turned = values if ending == "bias" else values.swapaxes(1, 2)
            out[f"blk.{layer}.ffn_gate_exps.{ending}"] = turned[:, ::2]
            out[f"blk.{layer}.ffn_up_exps.{ending}"] = turned[:, 1::2]
        elif name.endswith("experts.down_proj"):
            out[f"blk.{layer}.ffn_down_exps.weight"] = values.swapaxes(1, 2)
        elif name.endswith("experts.down_proj_bias"):
            out[f"blk.{layer}.ffn_down_exps.bias"] = values
        else:
            out[name] = values
    return out


def of_granitemoe(tensors: Tensors, config: dict) -> Tensors:
    out = {}
    for name, values in tensors.items():
        layer = name.split(".")[2] if ".layers." in name else ""
        if name.endswith("block_sparse_moe.input_linear.weight"):
            half = values.shape[1] // 2
            out[f"blk.{layer}.ffn_gate_exps.weight"], out[f"blk.{layer}.ffn_up_exps.weight"] = values[:, :half], values[:, half:]
        elif name.endswith("shared_mlp.input_linear.weight"):
            half = len(values) // 2
            out[f"blk.{layer}.ffn_gate_shexp.weight"], out[f"blk.{layer}.ffn_up_shexp.weight"] = values[:half], values[half:]
        else:
            out[name] = values
    return out


def of_deepseek(tensors: Tensors, config: dict) -> Tensors:
    out = {}
    for name, values in tensors.items():
        if not name.endswith("kv_b_proj.weight"):
            out[name] = values
            continue
        plain = config["qk_nope_head_dim"]
        heads = values.reshape(config["num_attention_heads"], plain + config["v_head_dim"], -1)
        out[name.replace("kv_b_proj", "k_b_proj")] = heads[:, :plain].swapaxes(1, 2)
        out[name.replace("kv_b_proj", "v_b_proj")] = heads[:, plain:]
    return out


def of_bloom(tensors: Tensors, config: dict) -> Tensors:
    return {name.removeprefix("transformer."): values for name, values in tensors.items()}


def of_text_model(tensors: Tensors, config: dict) -> Tensors:
    """Other towers have a file of their own."""
    return {name.replace("model.language_model.", "model."): values for name, values in tensors.items()
            if "visual." not in name and "projector" not in name}


def of_stablelm(tensors: Tensors, config: dict) -> Tensors:
    out, stacks = {}, {}
    for name, values in tensors.items():
        if found := re.match(r"(.*_layernorm)\.norms\.(\d+)\.weight$", name):
            stacks.setdefault(f"{found[1]}.weight", {})[int(found[2])] = values
        else:
            out[name] = values
    return out | {name: np.stack([stack[index] for index in range(len(stack))]) for name, stack in stacks.items()}


def of_encoder(tensors: Tensors, config: dict) -> Tensors:
    out = {}
    for name, values in tensors.items():
        name = re.sub(r"^(bert|roberta|nomic_bert|model)\.", "", name)
        if name.startswith(("cls.", "lm_head.", "pooler.", "decoder.")):
            continue
        if name == "embeddings.position_embeddings.weight" and config["model_type"] != "bert":
            values = values[config["pad_token_id"] + 1:]
        out[name] = values
    return out


def of_lfm2(tensors: Tensors, config: dict) -> Tensors:
    return {name: values.squeeze(1) if ".conv.conv." in name else values for name, values in tensors.items()}


def of_llama4(tensors: Tensors, config: dict) -> Tensors:
    """Experts of (E, inputs, outputs), gates before ups."""
    out = {}
    for name, values in tensors.items():
        if name.endswith("experts.gate_up_proj"):
            gate, up = np.split(values.swapaxes(1, 2), 2, axis=1)
            out[name.replace("gate_up_proj", "gate_proj.weight")] = gate
            out[name.replace("gate_up_proj", "up_proj.weight")] = up
        elif name.endswith("experts.down_proj"):
            out[f"{name}.weight"] = values.swapaxes(1, 2)
        else:
            out[name] = values
    return out


def heads_in_turn(values: np.ndarray, config: dict, axis: int = 0) -> np.ndarray:
    """Value heads that share a key head lie far apart: the first of each key head, then the second of each."""
    keys, heads = config["linear_num_key_heads"], config["linear_num_value_heads"]
    shape = values.shape
    split = values.reshape(*shape[:axis], keys, heads // keys, shape[axis] // heads, *shape[axis + 1:])
    return split.swapaxes(axis, axis + 1).reshape(shape)


def of_qwen_hybrid(tensors: Tensors, config: dict) -> Tensors:
    """Rates of decay themselves, gains with 1 added. Of Qwen3-Next all queries, all keys, all values and all gates; of Qwen3.5 value heads
    in another order."""
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    out = {}
    for name, values in tensors.items():
        layer, tiled = name.split(".")[2] if ".layers." in name else "", config["model_type"] != "qwen3_next"
        if name.endswith("linear_attn.in_proj_qkvz.weight"):
            groups, own = config["linear_num_key_heads"], config["linear_key_head_dim"]
            runs = values.reshape(groups, -1, values.shape[-1])
            of_head = (runs.shape[1] - 2 * own) // 2
            q, k, v, z = np.split(runs, [own, 2 * own, 2 * own + of_head], axis=1)
            out[f"blk.{layer}.attn_qkv.weight"] = np.concatenate([part.reshape(-1, values.shape[-1]) for part in (q, k, v)])
            out[f"blk.{layer}.attn_gate.weight"] = z.reshape(-1, values.shape[-1])
            continue
        if ".linear_attn." in name and tiled:
            if name.endswith(("in_proj_qkv.weight", "conv1d.weight")):
                values = np.concatenate([values[:2 * keys], heads_in_turn(values[2 * keys:], config)])
            elif name.endswith("out_proj.weight"):
                values = heads_in_turn(values, config, axis=1)
            elif not name.endswith("linear_attn.norm.weight"):
                values = heads_in_turn(values, config)
        if name.endswith(".A_log"):
            values = -np.exp(values.astype(np.float64)).astype(np.float32)
        elif name.endswith(".dt_bias"):
            name = name.replace(".dt_bias", ".dt_proj.bias")
        elif name.endswith("conv1d.weight"):
            values = values.squeeze(1)
        elif name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
            values = values + np.float32(1)
        if name.endswith("experts.gate_up_proj"):
            gate, up = np.split(values, 2, axis=1)
            out[name.replace("gate_up_proj", "gate_proj.weight")], out[name.replace("gate_up_proj", "up_proj.weight")] = gate, up
        else:
            out[f"{name}.weight" if name.endswith("experts.down_proj") else name] = values
    return out


def of_gemma4(tensors: Tensors, config: dict) -> Tensors:
    out = {}
    for name, values in tensors.items():
        layer = name.split(".")[2] if ".layers." in name else ""
        if name.endswith("router.scale"):
            name = f"blk.{layer}.ffn_gate_inp.scale"
        elif name.endswith("router.per_expert_scale"):
            name = f"blk.{layer}.ffn_down_exps.scale"
        elif name.endswith(("layer_scalar", "experts.gate_up_proj", "experts.down_proj")):
            name += ".weight"
        out[name] = values
    head = config["global_head_dim"]
    turned = int(head * config["rope_parameters"]["full_attention"]["partial_rotary_factor"] / 2)
    out["rope_freqs.weight"] = np.array([1.0] * turned + [1e30] * (head // 2 - turned), np.float32)
    return out


OWN = {"qwen3next": of_qwen_hybrid, "qwen35": of_qwen_hybrid, "qwen35moe": of_qwen_hybrid, "gemma4": of_gemma4,
       "llama4": of_llama4, "lfm2": of_lfm2, "gpt-oss": of_gpt_oss, "granitemoe": of_granitemoe, "deepseek2": of_deepseek, "glm-dsa": of_deepseek,
       "stablelm": of_stablelm, "bloom": of_bloom,
       "qwen2vl": of_text_model, "qwen3vl": of_text_model} | {name: of_encoder for name in ENCODERS}


def one_by_one(case: Case, name: str, values: np.ndarray, config: dict) -> np.ndarray:
    heads = config.get("num_attention_heads", config.get("n_head"))
    if case.architecture in PERMUTED and ".q_proj." in name:
        return pairs_side_by_side(values, heads)
    if case.architecture in PERMUTED and ".k_proj." in name:
        return pairs_side_by_side(values, config["num_key_value_heads"])
    if ".query_key_value." in name:
        return blocks_of_heads(values, heads, heads if case.architecture == "bloom" else falcon_kv_heads(config))
    if case.architecture == "nemotron" and name.endswith("norm.weight"):
        return values + np.float32(1)
    if name.endswith(("shared_expert_gate.weight", "moe_statics.e_score_correction_bias")):
        return values.reshape(-1)
    return values


def gguf_tensors(case: Case, tensors: Tensors, config: dict) -> Tensors:
    """By their names in the file."""
    kinds = {name: kind for kind, name in gguf.MODEL_ARCH_NAMES.items()}
    blocks = config.get("num_hidden_layers", config.get("n_layer", config.get("n_layers")))
    names = gguf.get_tensor_name_map(kinds[case.architecture], blocks + config.get("num_nextn_predict_layers", 0))
    tensors = {name: one_by_one(case, name, values, config) for name, values in tensors.items()}
    if case.older and case.architecture == "llama":
        tensors = older_mixtral(tensors)
    tensors = stacked_experts(tensors)
    if case.architecture in OWN and not (case.older and case.architecture == "deepseek2"):
        tensors = OWN[case.architecture](tensors, config)
    out = {}
    for name, values in tensors.items():
        if name.endswith("inv_freq"):
            continue
        asked = name.replace("e_score_correction_bias", "e_score_correction.bias")
        found = name if name.startswith(("blk.", "rope_freqs")) else names.get_name(asked, try_suffixes=(".weight", ".bias"))
        assert found is not None, f"{case.architecture}: {name}"
        out[found] = np.ascontiguousarray(values)
    return out


# ---- Keys ---------------------------------------------------------------------------------------------------------

# Of config.json, and of the file after the architecture's name: the first that is there.
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
    """What config.json's is adjusted to."""
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
        drafts = 0  # they are skipped
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
            del out["expert_weights_norm"]  # the converter writes none
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
