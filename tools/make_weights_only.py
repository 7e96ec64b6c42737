#!/usr/bin/env python3
"""Write tests/data/weights_only/<family>: tiny files of families without forward-pass support, as saved by transformers.

    python tools/make_weights_only.py

Needs torch, transformers and safetensors, but tests do not. A second run gives the same bytes.
"""

import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "weights_only"
FAMILIES = {
    "deepseek_v4": ("DeepseekV4ForCausalLM", {
        "vocab_size": 12, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8, "q_lora_rank": 6,
        "o_lora_rank": 3, "o_groups": 2, "qk_rope_head_dim": 4, "moe_intermediate_size": 5, "n_routed_experts": 3,
        "num_experts_per_tok": 2, "index_n_heads": 2, "index_head_dim": 4, "index_topk": 4, "sliding_window": 4,
        "layer_types": ["heavily_compressed_attention", "compressed_sparse_attention"], "mlp_layer_types": ["hash_moe", "moe"],
        "compress_rates": {"compressed_sparse_attention": 2, "heavily_compressed_attention": 4}}),
}


def make(name: str, class_name: str, config: dict) -> None:
    model_class = getattr(transformers, class_name)
    model = model_class(model_class.config_class(**config))
    generator = np.random.default_rng(17)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.from_numpy(generator.standard_normal(tuple(parameter.shape))))
    model.to(torch.bfloat16).save_pretrained(FOLDER / name)
    (FOLDER / name / "generation_config.json").unlink(missing_ok=True)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for family, (class_name, config) in FAMILIES.items():
        make(family, class_name, config)
