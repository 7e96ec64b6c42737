"""Cases of golden_forward.py: language models in multimodal files.

The expected values are those of the same weights in a text-only file."""

import torch
from golden_forward_by_layer import plain
from golden_forward_case import BF16, ONLY, Case
from golden_forward_experts import stacked
from golden_forward_mla import EXPERTS, latent
from golden_forward_rotary import inside_language_model, inside_model, llama_like, rope, small


def with_pictures(place: str, rename=None):
    """Add tensors of the other models in the file."""
    def rewrite(tensors: dict) -> dict:
        named = rename(tensors) if rename else dict(tensors)
        return named | {f"{place}.patch_embed.proj.weight": torch.ones(4, 3, dtype=BF16),
                        "multi_modal_projector.linear_1.weight": torch.ones(2, 4, dtype=BF16)}
    return rewrite


def nested(model_type: str, text_type: str, **changes):
    def rewrite(config: dict) -> dict:
        text = {key: value for key, value in config.items() if key not in ("architectures", "dtype")}
        return {"architectures": ["ForConditionalGeneration"], "model_type": model_type, "dtype": config["dtype"],
                "tie_word_embeddings": config["tie_word_embeddings"], "vision_config": {"hidden_size": 4},
                "text_config": text | {"model_type": text_type} | changes}
    return rewrite


def flat(model_type: str):
    def rewrite(config: dict) -> dict:
        return config | {"architectures": ["ForConditionalGeneration"], "model_type": model_type, "vision_config": {},
                         "rope_theta": 1e6, "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}}
    return rewrite


def case(name: str, model: str, config: dict, rewrite, rewrite_config) -> Case:
    return Case(name, model, config, (ONLY,), BF16, rewrite=rewrite, rewrite_config=rewrite_config, loads_back=False)


def inputs_first(tensors: dict) -> dict:
    """Stack experts as in the published files of Qwen3-VL-MoE."""
    return {name: tensor.transpose(1, 2) if ".experts." in name else tensor for name, tensor in stacked("mlp")(tensors).items()}


def always_normalised(config: dict) -> dict:
    nested_config = nested("qwen3_vl_moe", "qwen3_vl_moe_text")(config)
    del nested_config["text_config"]["norm_topk_prob"]
    return nested_config


QWEN = small(rope_parameters=rope(1e6), head_dim=8, num_attention_heads=2, num_key_value_heads=1)
TOWERS = [
    case("llava", "LlamaForCausalLM", small(), with_pictures("vision_tower", inside_language_model),
         nested("llava", "llama")),
    case("mistral3", "MistralForCausalLM", small(sliding_window=None), with_pictures("vision_tower", inside_language_model),
         nested("mistral3", "mistral")),
    case("qwen2_vl", "Qwen2ForCausalLM", QWEN, with_pictures("visual"), flat("qwen2_vl")),
    case("qwen2_5_vl", "Qwen2ForCausalLM", QWEN, with_pictures("visual", inside_model),
         nested("qwen2_5_vl", "qwen2_5_vl_text")),
    case("qwen3_vl", "Qwen3ForCausalLM", llama_like(rope_parameters=rope(5e6)), with_pictures("model.visual", inside_model),
         nested("qwen3_vl", "qwen3_vl_text")),
    case("gemma4-multimodal", "Gemma4ForCausalLM", plain(num_kv_shared_layers=2, hidden_size_per_layer_input=6, vocab_size_per_layer_input=32),
         with_pictures("model.vision_tower", inside_model), nested("gemma4", "gemma4_text")),
    case("qwen3_vl_moe", "Qwen3MoeForCausalLM", llama_like(
            num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, norm_topk_prob=True, rope_parameters=rope(5e6)),
         with_pictures("model.visual", lambda tensors: inside_model(inputs_first(tensors))), always_normalised),
    case("kimi_k25", "DeepseekV3ForCausalLM", latent(**EXPERTS | {"num_hidden_layers": 2, "n_group": 1, "topk_group": 1}),
         with_pictures("vision_tower", inside_language_model), nested("kimi_k25", "kimi_k2")),
    case("llama4-multimodal", "Llama4ForCausalLM",
         small(intermediate_size=8, intermediate_size_mlp=12, num_local_experts=3, interleave_moe_layer_step=2, attention_chunk_size=5,
               no_rope_layers=[1, 0]), with_pictures("vision_model", inside_language_model), nested("llama4", "llama4_text")),
]
