"""The changes that llama.cpp's converter makes to the tensors of each architecture.

Source: ggml-org/llama.cpp, conversion/*.py. Names of tensors come from the map in the `gguf` package.
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
    weights: str = ""  # A folder of tests/data/forward. Empty: `name`.
    variant: str = ""  # A variant of its config.
    changed: dict = field(default_factory=dict)  # Keys of config.json that a GGUF file cannot store. None: without that key.
    older: bool = False  # In the format of converters before 2025.
    loads: bool = False  # Whether transformers' GGUF loader supports the architecture.


def pairs_side_by_side(values: np.ndarray, heads: int) -> np.ndarray:
    shape = values.shape
    return values.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def stacked_experts(tensors: Tensors) -> Tensors:
    """Stack the experts of each matrix in one tensor."""
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
    """Reorder queries, keys and values from groups per key/value head to blocks of all queries, all keys, all values."""
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
    """Split fused experts: 16-bit (E, inputs, outputs) with interleaved gate and up columns, or MXFP4 (E, outputs, inputs)."""
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
    """Keep only the text model. Other towers have separate files."""
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
    """Split experts of shape (E, inputs, outputs), with gate columns before up columns."""
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
    """Reorder value heads: first the first value head of each key head, then the second one of each, and so on."""
    keys, heads = config["linear_num_key_heads"], config["linear_num_value_heads"]
    shape = values.shape
    split = values.reshape(*shape[:axis], keys, heads // keys, shape[axis] // heads, *shape[axis + 1:])
    return split.swapaxes(axis, axis + 1).reshape(shape)


def of_qwen_hybrid(tensors: Tensors, config: dict) -> Tensors:
    """Convert decay rates, add 1 to norm gains, and reorder the projections.

    For Qwen3-Next, the order is all queries, all keys, all values, all gates. For Qwen3.5, the value heads are reordered."""
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
    """Return the tensors by their names in the file."""
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
