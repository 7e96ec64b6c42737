"""Cases of golden_forward.py for models whose code is published with their weights, not in transformers.

Each architecture equals one of transformers, apart from the names of tensors and config keys. The expected values are those of that
architecture, and the files are rewritten to the published format. Sources: modeling_baichuan.py, modeling_internlm2.py, modeling_qwen.py,
modeling_chatglm.py, modeling_minicpm.py on the Hugging Face hub."""

import re
from contextlib import contextmanager

import numpy as np
import torch
from golden_forward_case import ABSENT, BF16, ONLY, Case, Variant, changed, variant
from golden_forward_rotary import inside_model, llama_like, rope, small
from golden_forward_towers import nested, with_pictures
from transformers.models.llama import modeling_llama

TEXTS = Variant("", lengths=(10, 1, 14))


def published(name: str, model: str, config: dict, keys, rename=None, variants: tuple = (TEXTS,), **more) -> Case:
    """`keys`: converts a config. `rename`: converts tensors."""
    return Case(name, model, config, variants, BF16, rewrite=rename, rewrite_config=keys, loads_back=False, **more)


def renamed(tensors: dict, *pairs: tuple[str, str]) -> dict:
    out = {}
    for name, tensor in tensors.items():
        for pattern, replacement in pairs:
            name = re.sub(pattern, replacement, name)
        out[name] = tensor
    return out


def fused(tensors: dict, parts: tuple[str, ...], whole: str, groups: int = 1) -> dict:
    """Join the projections `parts` of each layer: `groups` runs, each with an equal share of every part."""
    out = dict(tensors)
    for name in tensors:
        if not re.search(rf"\.{parts[0]}\.(weight|bias)$", name):
            continue
        own = [out.pop(name.replace(f".{parts[0]}.", f".{part}.")) for part in parts]
        runs = [part.chunk(groups) for part in own]
        out[name.replace(f".{parts[0]}.", f".{whole}.")] = torch.cat([run[group] for group in range(groups) for run in runs])
    return out


QKV = ("q_proj", "k_proj", "v_proj")


def only(config: dict, model_type: str, *removed: str, **added) -> dict:
    return {key: value for key, value in config.items() if key not in ("architectures", "rope_parameters", *removed)} \
        | {"model_type": model_type} | added


# ---- Llama under other names --------------------------------------------------------------------------------------

def internlm_keys(config: dict) -> dict:
    parameters = config["rope_parameters"]
    return only(config, "internlm", "attention_bias", "mlp_bias", bias=True,
                rotary={"base": parameters["rope_theta"], "type": "dynamic"})


def internlm2_names(tensors: dict) -> dict:
    return renamed(fused(tensors, QKV, "wqkv", groups=2), (r"self_attn\.", "attention."), (r"o_proj", "wo"),
                   (r"mlp\.gate_proj", "feed_forward.w1"), (r"mlp\.up_proj", "feed_forward.w3"), (r"mlp\.down_proj", "feed_forward.w2"),
                   (r"input_layernorm", "attention_norm"), (r"post_attention_layernorm", "ffn_norm"),
                   (r"embed_tokens", "tok_embeddings"), (r"^lm_head", "output"))


def internlm2_keys(config: dict) -> dict:
    parameters = config["rope_parameters"]
    return only(config, "internlm2", "attention_bias", "mlp_bias", bias=False, rope_theta=parameters["rope_theta"],
                rope_scaling={"type": "dynamic", "factor": parameters["factor"]})


def qwen_names(tensors: dict) -> dict:
    return renamed(fused(tensors, QKV, "c_attn"), (r"^model\.layers", "transformer.h"), (r"^model\.norm", "transformer.ln_f"),
                   (r"^model\.embed_tokens", "transformer.wte"), (r"self_attn\.", "attn."), (r"o_proj", "c_proj"),
                   (r"mlp\.up_proj", "mlp.w1"), (r"mlp\.gate_proj", "mlp.w2"), (r"mlp\.down_proj", "mlp.c_proj"),
                   (r"input_layernorm", "ln_1"), (r"post_attention_layernorm", "ln_2"))


def qwen_keys(config: dict) -> dict:
    return only(config, "qwen", "head_dim", "rms_norm_eps", "num_key_value_heads", "layer_types", "use_sliding_window", "sliding_window",
                "max_window_layers", "hidden_act", layer_norm_epsilon=config["rms_norm_eps"], kv_channels=config["head_dim"],
                intermediate_size=2 * config["intermediate_size"], rotary_emb_base=config["rope_parameters"]["rope_theta"],
                rotary_pct=1.0, seq_length=config["max_position_embeddings"], use_dynamic_ntk=True, use_logn_attn=True, no_bias=True)


def one_head_each(**changes) -> dict:
    """Make a config with as many key/value heads as heads, and heads of the usual size."""
    return small(num_key_value_heads=4, head_dim=4) | changes


def minicpm_keys(config: dict) -> dict:
    removed = ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling")
    return only(config, "minicpm", *removed, scale_emb=5, scale_depth=0.8, dim_model_base=4, rope_theta=config["rope_parameters"]["rope_theta"])


# ---- Baichuan -----------------------------------------------------------------------------------------------------

def slopes(heads: int) -> np.ndarray:
    """BLOOM's slopes: those of the next smaller power of two, then every second one of twice that number."""
    power = 2 ** int(np.log2(heads))
    own = 2.0 ** (-8 * np.arange(1, power + 1) / power)
    more = 2.0 ** (-4 * np.arange(1, 2 * power, 2) / power)
    return np.concatenate([own, more])[:heads]


@contextmanager
def alibi_instead_of_rotation():
    """Give Llama ALiBi, like Baichuan 13B."""
    mask, rotation = modeling_llama.create_causal_mask, modeling_llama.LlamaRotaryEmbedding.forward

    def biased_mask(config, inputs_embeds, **keywords):
        tokens = inputs_embeds.shape[1]
        bias = torch.tensor(slopes(config.num_attention_heads)[:, None, None] * np.arange(tokens)[None, None]).to(inputs_embeds.dtype)
        hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        return bias.expand(-1, tokens, -1).masked_fill(hidden, torch.finfo(torch.float32).min)[None]

    def unrotated(self, x, position_ids):
        cos, sin = rotation(self, x, position_ids)
        return torch.ones_like(cos), torch.zeros_like(sin)

    modeling_llama.create_causal_mask, modeling_llama.LlamaRotaryEmbedding.forward = biased_mask, unrotated
    try:
        yield
    finally:
        modeling_llama.create_causal_mask, modeling_llama.LlamaRotaryEmbedding.forward = mask, rotation


BAICHUAN = ("head_dim", "num_key_value_heads", "attention_bias", "mlp_bias")


def packed(tensors: dict) -> dict:
    return fused(tensors, QKV, "W_pack")


def baichuan_keys(config: dict) -> dict:
    return only(config, "baichuan", *BAICHUAN)


def baichuan_13b_keys(config: dict) -> dict:
    return only(config, "baichuan", *BAICHUAN, "max_position_embeddings", model_max_length=16)


# ---- ChatGLM ------------------------------------------------------------------------------------------------------

def chatglm_names(tensors: dict) -> dict:
    return renamed(fused(tensors, QKV, "query_key_value"), (r"^model\.layers", "transformer.encoder.layers"), (r"self_attn", "self_attention"),
                   (r"o_proj", "dense"), (r"gate_up_proj", "dense_h_to_4h"), (r"down_proj", "dense_4h_to_h"),
                   (r"^model\.norm", "transformer.encoder.final_layernorm"), (r"^lm_head", "transformer.output_layer"),
                   (r"^model\.embed_tokens", "transformer.embedding.word_embeddings"))


def chatglm_keys(config: dict) -> dict:
    return only(config, "chatglm", "vocab_size", "num_hidden_layers", "intermediate_size", "num_key_value_heads", "head_dim", "rms_norm_eps",
                "max_position_embeddings", "attention_bias", num_layers=config["num_hidden_layers"], padded_vocab_size=config["vocab_size"],
                ffn_hidden_size=config["intermediate_size"], multi_query_attention=True, multi_query_group_num=config["num_key_value_heads"],
                kv_channels=config["head_dim"], layernorm_epsilon=config["rms_norm_eps"], seq_length=config["max_position_embeddings"],
                add_qkv_bias=True, add_bias_linear=False, rmsnorm=True, post_layer_norm=True,
                apply_residual_connection_post_layernorm=False, rope_ratio=config["rope_parameters"]["rope_theta"] / 1e4)


def glm4v_keys(config: dict) -> dict:
    """Remove keys that have the default of GLM-4V, or that it does not read."""
    parameters = {key: value for key, value in config["rope_parameters"].items() if value != 1.0}
    removed = ("rms_norm_eps", "head_dim", "attention_bias")
    return nested("glm4v", "glm4v_text")({key: value for key, value in config.items() if key not in removed} | {"rope_parameters": parameters})


GLM = llama_like(vocab_size=32, hidden_size=16, intermediate_size=24, attention_bias=True)
HALF = {"partial_rotary_factor": 0.5}
DYNAMIC = {"max_position_embeddings": 8}

PUBLISHED = [
    published("aquila", "LlamaForCausalLM", one_head_each(), lambda config: config | {"model_type": "aquila"}),
    published("internlm", "LlamaForCausalLM", one_head_each(attention_bias=True, rope_parameters=rope(500.0, rope_type="dynamic", factor=1.0), **DYNAMIC),
              internlm_keys, variants=(Variant("", lengths=(7, 12)),)),
    published("internlm2", "LlamaForCausalLM", small(rope_parameters=rope(1e6, rope_type="dynamic", factor=2.0), **DYNAMIC), internlm2_keys,
              internlm2_names, (Variant("", lengths=(7, 12)),)),
    published("internlm3", "LlamaForCausalLM", small(attention_bias=True, mlp_bias=True),
              lambda config: only(config, "internlm3", "attention_bias", "mlp_bias", qkv_bias=True, bias=True)),
    published("qwen", "Qwen2ForCausalLM", one_head_each(rope_parameters=rope(500.0)), qwen_keys, qwen_names),
    published("minicpm", "GraniteForCausalLM", changed(one_head_each(
        embedding_multiplier=5.0, attention_multiplier=0.5, residual_multiplier=0.8 / 2 ** 0.5, logits_scaling=4.0, tie_word_embeddings=True),
        {"head_dim": ABSENT}), minicpm_keys),
    published("baichuan", "LlamaForCausalLM", one_head_each(), baichuan_keys, packed),
    published("baichuan-13b", "LlamaForCausalLM", one_head_each(num_attention_heads=3, num_key_value_heads=3, hidden_size=12), baichuan_13b_keys,
              packed, altered=alibi_instead_of_rotation),
    published("chatglm", "GlmForCausalLM", GLM | {"rope_parameters": rope() | HALF}, chatglm_keys, chatglm_names,
              (TEXTS, variant("ratio", rope_parameters=rope(5e5) | HALF), variant("eps", rms_norm_eps=1e-2))),
    published("glm4v", "Glm4ForCausalLM", GLM | {"head_dim": 4, "rms_norm_eps": 1e-5, "rope_parameters": rope() | HALF}, glm4v_keys,
              with_pictures("model.visual", inside_model), (ONLY, variant("share-absent", rope_parameters=rope() | {"partial_rotary_factor": 1.0}))),
]
