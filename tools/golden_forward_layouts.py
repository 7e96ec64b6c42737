"""Cases of golden_forward.py for models that attnscope/model/layouts/ describes.

As in golden_forward_published.py, each architecture equals one of transformers, apart from the names of tensors and config keys, and apart
from causality for models that attend in both directions."""

from contextlib import contextmanager

import torch
from golden_forward_case import Variant, variant
from golden_forward_published import QKV, fused, one_head_each, only, published, renamed
from golden_forward_rotary import LLAMA3, rope, small
from transformers.models.llama import modeling_llama
from transformers.models.qwen2 import modeling_qwen2


def both_ways(module):
    """Replace the causal mask of a module of transformers."""

    @contextmanager
    def unmasked():
        mask = module.create_causal_mask
        module.create_causal_mask = lambda config, inputs_embeds, **_: torch.zeros(
            inputs_embeds.shape[0], 1, inputs_embeds.shape[1], inputs_embeds.shape[1], dtype=inputs_embeds.dtype)
        try:
            yield
        finally:
            module.create_causal_mask = mask

    return unmasked


def keys_of(model_type: str, *removed: str, **added):
    """Keep the keys of Llama, with the RoPE base outside `rope_parameters`."""
    def keys(config: dict) -> dict:
        return only(config, model_type, *removed, rope_theta=config["rope_parameters"]["rope_theta"]) | added
    return keys


def moved(config: dict, model_type: str, names: dict, **added) -> dict:
    """Keep only the keys in `names`, under other names."""
    return {"model_type": model_type} | {other: config[name] for name, other in names.items() if name in config} | added


SIZES = {"vocab_size": "vocab_size", "hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head",
         "intermediate_size": "n_inner", "max_position_embeddings": "n_positions"}


def in_model(tensors: dict) -> dict:
    return {"model." + name: tensor for name, tensor in tensors.items()}


def yi_names(tensors: dict) -> dict:
    return renamed(tensors, (r"input_layernorm", "ln1"), (r"post_attention_layernorm", "ln2"))


def exaone_keys(config: dict) -> dict:
    parameters = dict(config["rope_parameters"])
    names = {key: key for key in ("vocab_size", "hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size", "head_dim",
                                  "max_position_embeddings", "tie_word_embeddings")}
    return moved(config, "exaone", names, num_layers=config["num_hidden_layers"], layer_norm_epsilon=config["rms_norm_eps"],
                 activation_function="silu", rope_theta=parameters.pop("rope_theta"),
                 rope_scaling=None if parameters["rope_type"] == "default" else parameters)


def exaone_names(tensors: dict) -> dict:
    return renamed(tensors, (r"^model\.layers", "transformer.h"), (r"^model\.norm", "transformer.ln_f"), (r"^model\.embed_tokens", "transformer.wte"),
                   (r"self_attn\.o_proj", "self_attn.out_proj"), (r"self_attn", "attn.attention"), (r"mlp\.gate_proj", "mlp.c_fc_0"),
                   (r"mlp\.up_proj", "mlp.c_fc_1"), (r"mlp\.down_proj", "mlp.c_proj"), (r"input_layernorm", "ln_1"),
                   (r"post_attention_layernorm", "ln_2"))


def llada_keys(config: dict) -> dict:
    return moved(config, "llada", {"hidden_size": "d_model", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
                                   "num_key_value_heads": "n_kv_heads", "intermediate_size": "mlp_hidden_size", "vocab_size": "embedding_size",
                                   "max_position_embeddings": "max_sequence_length", "rms_norm_eps": "rms_norm_eps"},
                 rope_theta=config["rope_parameters"]["rope_theta"], activation_type="silu", block_type="llama", layer_norm_type="rms",
                 rope=True, alibi=False, include_bias=False, include_qkv_bias=False, weight_tying=False, input_emb_norm=False)


def llada_names(tensors: dict) -> dict:
    return renamed(tensors, (r"^model\.layers", "model.transformer.blocks"), (r"^model\.norm", "model.transformer.ln_f"),
                   (r"^model\.embed_tokens", "model.transformer.wte"), (r"^lm_head", "model.transformer.ff_out"), (r"self_attn\.o_proj", "attn_out"),
                   (r"self_attn\.", ""), (r"mlp\.gate_proj", "ff_proj"), (r"mlp\.up_proj", "up_proj"), (r"mlp\.down_proj", "ff_out"),
                   (r"input_layernorm", "attn_norm"), (r"post_attention_layernorm", "ff_norm"))


def stablelm_keys(config: dict) -> dict:
    return keys_of("stablelm_epoch", "layer_norm_eps", "partial_rotary_factor", "qk_layernorm", "use_parallel_residual",
                   norm_eps=config["layer_norm_eps"], rope_pct=config["rope_parameters"]["partial_rotary_factor"])(config)


def orion_keys(config: dict) -> dict:
    return keys_of("orion", "layer_norm_eps", "partial_rotary_factor", "qk_layernorm", "use_parallel_residual", "use_qkv_bias",
                   rms_norm_eps=config["layer_norm_eps"], attention_bias=False)(config)


def codeshell_keys(config: dict) -> dict:
    return moved(config, "codeshell", SIZES | {"num_key_value_heads": "num_query_groups", "norm_epsilon": "layer_norm_epsilon",
                                               "hidden_act": "activation_function", "tie_word_embeddings": "tie_word_embeddings"},
                 group_query_attention=True, position_embedding_type="rope")


def codeshell_names(tensors: dict) -> dict:
    out = dict(tensors)
    for name in tensors:
        if ".q_proj." in name:  # Q is wider than K and V
            out[name.replace("q_proj", "c_attn")] = torch.cat([out.pop(name.replace("q_proj", part)) for part in QKV])
    return renamed(out, (r"^model\.layers", "transformer.h"), (r"^model\.norm", "transformer.ln_f"), (r"^model\.embed_tokens", "transformer.wte"),
                   (r"self_attn\.", "attn."), (r"o_proj", "c_proj"), (r"input_layernorm", "ln_1"), (r"post_attention_layernorm", "ln_2"))


def phi_keys(config: dict) -> dict:
    heads = config["hidden_size"] // config["num_attention_heads"]
    return moved(config, "phi-msft", SIZES | {"layer_norm_eps": "layer_norm_epsilon"}, activation_function="gelu_new", n_inner=None,
                 rotary_dim=int(config["rope_parameters"]["partial_rotary_factor"] * heads), n_head_kv=None)


def phi_names(tensors: dict) -> dict:
    return renamed(fused(tensors, QKV, "Wqkv"), (r"^model\.layers", "transformer.h"), (r"^model\.embed_tokens", "transformer.embd.wte"),
                   (r"^model\.final_layernorm", "lm_head.ln"), (r"^lm_head\.(weight|bias)", r"lm_head.linear.\1"), (r"self_attn\.dense", "mixer.out_proj"),
                   (r"self_attn\.", "mixer."), (r"input_layernorm", "ln"))


TWO_LENGTHS = (Variant("", lengths=(7, 12)),)
LAYER_NORM = dict(one_head_each(), layer_norm_eps=1e-4, hidden_act="silu")
PHI = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 32,
       "hidden_act": "gelu_new", "rope_parameters": rope() | {"partial_rotary_factor": 0.5}}
CODEGEN = {"vocab_size": 32, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 32, "n_ctx": 32, "rotary_dim": 4, "n_inner": None,
           "tie_word_embeddings": False}

SHIPPED = [
    published("yi", "LlamaForCausalLM", small(), keys_of("Yi"), yi_names, TWO_LENGTHS),
    published("xverse", "LlamaForCausalLM", one_head_each(), keys_of("xverse", "num_key_value_heads"), None, TWO_LENGTHS),
    published("skywork", "LlamaForCausalLM", one_head_each(), keys_of("skywork"), None, TWO_LENGTHS),
    published("exaone", "LlamaForCausalLM", small(), exaone_keys, exaone_names,
              (Variant("", lengths=(7, 12)), variant("llama3", rope_parameters=LLAMA3))),
    published("llada", "LlamaForCausalLM", one_head_each(), llada_keys, llada_names, TWO_LENGTHS, altered=both_ways(modeling_llama)),
    published("dream", "Qwen2Model", small(), keys_of("Dream", "layer_types", use_sliding_window=False), in_model, TWO_LENGTHS,
              altered=both_ways(modeling_qwen2)),
    published("mimo", "Qwen2ForCausalLM", small(), keys_of("mimo", "layer_types", use_sliding_window=False, attention_bias=True), None,
              TWO_LENGTHS),
    published("stablelm_epoch", "StableLmForCausalLM", LAYER_NORM | {"rope_parameters": rope() | {"partial_rotary_factor": 0.5}},
              stablelm_keys, None, TWO_LENGTHS),
    published("orion", "StableLmForCausalLM", LAYER_NORM | {"rope_parameters": rope() | {"partial_rotary_factor": 1.0}}, orion_keys, None,
              TWO_LENGTHS),
    published("codeshell", "Starcoder2ForCausalLM", small(hidden_act="gelu_pytorch_tanh", use_bias=True, sliding_window=None, head_dim=4,
                                                          tie_word_embeddings=True), codeshell_keys, codeshell_names, TWO_LENGTHS),
    published("phi-msft", "PhiForCausalLM", PHI, phi_keys, phi_names, TWO_LENGTHS),
    published("moss", "CodeGenForCausalLM", CODEGEN, lambda config: config | {"model_type": "moss"}, None, TWO_LENGTHS),
]
