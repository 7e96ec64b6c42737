"""Tiny transformers models for checks of `plan`, `shrink` and `diff`: making, loading, and access to their matrices.

The first argument of a script that imports this is the program. Exits with 77 (skipped) and prints a line if torch,
transformers or peft is missing.
"""

import os
import subprocess
import sys
from typing import NamedTuple

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
try:
    import numpy as np
    import peft  # noqa: F401
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.pytorch_utils import Conv1D
except ImportError as error:
    print(f"torch, transformers or peft is missing ({error}): nothing was checked")
    sys.exit(77)

torch.set_num_threads(1)
BINARY = sys.argv[1]
TOLERANCE = 1e-4  # For logits, times their standard deviation if it is below 1. The float32 error is about a tenth of this.
SAME_LOSS = 1e-6  # For mean losses in nats. The float32 error is about a hundredth of this.
VOCABULARY, CONTEXT = 96, 64
SMALL = dict(vocab_size=VOCABULARY, num_hidden_layers=3, bos_token_id=0, eos_token_id=0, pad_token_id=None)
LLAMA = dict(SMALL, hidden_size=48, intermediate_size=80, num_attention_heads=6, num_key_value_heads=2, head_dim=8,
             max_position_embeddings=CONTEXT)
WITHOUT_HEAD_DIM = {name: value for name, value in LLAMA.items() if name != "head_dim"}
GPT2 = dict(vocab_size=VOCABULARY, n_layer=3, n_embd=48, n_head=6, n_positions=CONTEXT, bos_token_id=0, eos_token_id=0)
MODELS = {
    "llama": ("llama", dict(LLAMA, tie_word_embeddings=True)),
    "llama-biased": ("llama", dict(LLAMA, attention_bias=True, mlp_bias=True)),
    "mistral": ("mistral", dict(LLAMA, sliding_window=None)),
    "qwen2": ("qwen2", dict(LLAMA, tie_word_embeddings=True)),
    "qwen3": ("qwen3", LLAMA),
    "phi3": ("phi3", WITHOUT_HEAD_DIM),
    "gemma": ("gemma", LLAMA),
    "gemma2": ("gemma2", dict(LLAMA, query_pre_attn_scalar=8, sliding_window=16)),
    "gemma3": ("gemma3_text", dict(LLAMA, query_pre_attn_scalar=8, sliding_window=16,
                                   layer_types=["sliding_attention", "sliding_attention", "full_attention"])),
    "phi": ("phi", LLAMA),
    "mixtral": ("mixtral", dict(LLAMA, num_local_experts=4, num_experts_per_tok=2, sliding_window=None)),
    "qwen3_moe": ("qwen3_moe", dict(LLAMA, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=20)),
    "deepseek_v3": ("deepseek_v3", dict(WITHOUT_HEAD_DIM, num_key_value_heads=6, q_lora_rank=20, kv_lora_rank=16,
                                        qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=8, first_k_dense_replace=3)),
    "gpt2": ("gpt2", GPT2),
}


def run(*words):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, check=False)


def make(folder, kind, values, loader=AutoModelForCausalLM, shard_size="60KB"):
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **values)
    config.dtype = "float32"
    model = loader.from_config(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 1:
                weight.add_(0.1 * torch.randn_like(weight))
            elif "t5" not in kind and not any(part in name for part in ("embed", "shared", "wte", "wpe")):
                weight.mul_(4)  # far from uniform attention; T5's already is, because it does not scale scores
    model.save_pretrained(folder, max_shard_size=shard_size)
    return model


def shard(path, tokens):
    header = np.zeros(256, np.int32)
    header[:3] = 20240520, 1, len(tokens)
    path.write_bytes(header.tobytes() + np.asarray(tokens, np.uint16).tobytes())


def load(folder, loader=AutoModelForCausalLM):
    model, info = loader.from_pretrained(folder, dtype=torch.float32, output_loading_info=True,
                                         attn_implementation="eager")
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info.get(kind):
            raise ValueError(f"{kind}: {sorted(map(str, info[kind]))[:4]}")
    return model.eval()


def expect_same(what, found, wanted):
    difference, most = (found - wanted).abs().max().item(), TOLERANCE * min(1.0, wanted.std().item())
    if not difference <= most:
        raise ValueError(f"{what}: logits differ by {difference:.2g}, more than {most:.2g}")


class Projection(NamedTuple):
    """A matrix (outputs, inputs) and its bias. They are views, so that writing to them changes the model."""
    module: torch.nn.Module
    weight: torch.Tensor
    bias: torch.Tensor | None


# Paths of the modules; for GPT-2's fused modules also which third of the outputs.
LLAMA_PLACES = {"q": ("self_attn.q_proj", None), "k": ("self_attn.k_proj", None), "v": ("self_attn.v_proj", None),
                "o": ("self_attn.o_proj", None), "gate": ("mlp.gate_proj", None), "up": ("mlp.up_proj", None),
                "down": ("mlp.down_proj", None)}
GPT2_PLACES = {"q": ("attn.c_attn", 0), "k": ("attn.c_attn", 1), "v": ("attn.c_attn", 2), "o": ("attn.c_proj", None),
               "up": ("mlp.c_fc", None), "down": ("mlp.c_proj", None)}


def layers_of(model):
    return model.transformer.h if hasattr(model, "transformer") else model.model.layers


def places_of(model):
    return GPT2_PLACES if hasattr(model, "transformer") else LLAMA_PLACES


def projection(model, layer, matrix):
    place, third = places_of(model)[matrix]
    module = layers_of(model)[layer].get_submodule(place)
    weight, bias = module.weight.T if isinstance(module, Conv1D) else module.weight, module.bias
    if third is not None:
        weight, bias = weight.chunk(3)[third], bias.chunk(3)[third]
    return Projection(module, weight, bias)
