#!/usr/bin/env python3
"""Write tests/golden/families/<case>.json: singular values of heads and experts, observed in transformers' modules.

    python tools/golden_families.py [CASE...]

The checkpoints are those of tests/data/forward. Queries, keys, values and outputs are observed on unit vectors (observed_linear_maps.py).
Experts are taken from the stacked tensors that transformers makes when it loads a model. Everything is float64. Needs numpy, torch,
transformers and safetensors, but tests do not.
"""

import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers
from observed_linear_maps import (Layer, Linear, Places, circuits, layers_as_executed, observe_inputs, observe_output,
                             prepare_attention, whole_matrix)

ROOT = Path(__file__).resolve().parent.parent
DATA, GOLDEN = ROOT / "tests/data/forward", ROOT / "tests/golden/families"
DIGITS = 10

# Class of a layer, the module whose forward splits heads, and the module that joins them.
SELF = ("self_attn", "self_attn.o_proj")
CASES = {
    "arcee": ("ArceeDecoderLayer", *SELF), "codegen": ("CodeGenBlock", "attn", "attn.out_proj"),
    "cohere": ("CohereDecoderLayer", *SELF), "cohere2": ("Cohere2DecoderLayer", *SELF),
    "ernie4_5": ("Ernie4_5DecoderLayer", *SELF), "exaone4": ("Exaone4DecoderLayer", *SELF),
    "glm": ("GlmDecoderLayer", *SELF), "glm4": ("Glm4DecoderLayer", *SELF), "gptj": ("GPTJBlock", "attn", "attn.out_proj"),
    "granite": ("GraniteDecoderLayer", *SELF), "helium": ("HeliumDecoderLayer", *SELF),
    "hunyuan_v1_dense": ("HunYuanDenseV1DecoderLayer", *SELF), "ministral3": ("Ministral3DecoderLayer", *SELF),
    "nemotron": ("NemotronDecoderLayer", *SELF), "olmo": ("OlmoDecoderLayer", *SELF), "olmo2": ("Olmo2DecoderLayer", *SELF),
    "olmo3": ("Olmo3DecoderLayer", *SELF), "seed_oss": ("SeedOssDecoderLayer", *SELF), "smollm3": ("SmolLM3DecoderLayer", *SELF),
    "stablelm": ("StableLmDecoderLayer", *SELF), "starcoder2": ("Starcoder2DecoderLayer", *SELF),
    "dots1": ("Dots1DecoderLayer", *SELF), "glm4_moe": ("Glm4MoeDecoderLayer", *SELF), "gpt_oss": ("GptOssDecoderLayer", *SELF),
    "granitemoe": ("GraniteMoeDecoderLayer", *SELF), "hunyuan_v1_moe": ("HunYuanMoEV1DecoderLayer", *SELF),
    "minimax_m2": ("MiniMaxM2DecoderLayer", *SELF), "mixtral": ("MixtralDecoderLayer", *SELF),
    "olmoe": ("OlmoeDecoderLayer", *SELF), "phimoe": ("PhimoeDecoderLayer", *SELF),
    "qwen2_moe": ("Qwen2MoeDecoderLayer", *SELF), "qwen3_moe": ("Qwen3MoeDecoderLayer", *SELF),
    "ernie4_5_moe": ("Ernie4_5_MoeDecoderLayer", *SELF), "qwen3_next": ("Qwen3NextDecoderLayer", *SELF),
    "lfm2": ("Lfm2DecoderLayer", "self_attn", "self_attn.out_proj"),
}
# Norms of queries and keys, under each family's names.
NORMS = ("q_layernorm", "k_layernorm", "query_layernorm", "key_layernorm")


def values(matrix: np.ndarray) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in np.linalg.svd(matrix, compute_uv=False)]


def attention_rows(number: int, layer: torch.nn.Module, places: Places, width: int) -> list[dict]:
    attention = layer.get_submodule(places.attention)
    prepare_attention(attention)
    for name in NORMS:
        if hasattr(attention, name):
            setattr(attention, name, torch.nn.Identity())
    attention.qk_layernorm = False
    heads = observe_inputs(attention, width)
    value_dim = len(heads["v"][0].probed)
    heads["o"] = observe_output(attention, layer.get_submodule(places.output), len(heads["q"]), value_dim, width)
    if type(attention).__name__ == "Qwen3NextAttention":  # for a zero input, its output gate has the value 1/2
        heads["o"] = [Linear(2 * part.matrix, 2 * part.probed) for part in heads["o"]]
    seen = Layer(heads, {})
    rows = []
    for name in "qkvo":
        rows.append({"layer": number, "matrix": name, "head": None, "values": values(whole_matrix(seen, name))})
        rows += [{"layer": number, "matrix": name, "head": head, "values": values(part.matrix)} for head, part in enumerate(heads[name])]
    for name, products in circuits(seen).items():
        inner = len(heads["k" if name == "qk" else "v"][0].probed)
        rows += [{"layer": number, "matrix": name, "head": head, "values": values(product)[:min(width, inner)]}
                 for head, product in enumerate(products)]
    return rows


def stacks_of(experts: torch.nn.Module, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return gate, up and down of every expert, each (E, outputs, inputs)."""
    gate_up, down = (getattr(experts, name).detach().numpy() for name in ("gate_up_proj", "down_proj"))
    if type(experts).__name__ == "GptOssExperts":  # computes x W, with gate and up columns interleaved
        gate_up, down = gate_up.transpose(0, 2, 1), down.transpose(0, 2, 1)
        return gate_up[:, ::2], gate_up[:, 1::2], down
    gate, up = np.split(gate_up, 2, axis=1)
    assert gate.shape[2] == width and down.shape[1] == width
    return gate, up, down


def expert_rows(number: int, layer: torch.nn.Module, width: int) -> list[dict]:
    found = [module for module in layer.modules() if hasattr(module, "gate_up_proj") and hasattr(module, "down_proj")
             and isinstance(module.gate_up_proj, torch.nn.Parameter)]
    rows = []
    for name, stack in zip(("gate", "up", "down"), stacks_of(found[0], width)) if found else []:
        rows += [{"layer": number, "matrix": name, "expert": expert, "values": values(matrix)} for expert, matrix in enumerate(stack)]
    return rows


def make(case: str) -> None:
    folder = DATA / case
    class_name, attention, output = CASES[case]
    places = Places(class_name, attention, output, "", "")
    config = json.loads((folder / "config.json").read_text())
    model, info = getattr(transformers, config["architectures"][0]).from_pretrained(
        folder, output_loading_info=True, attn_implementation="eager")
    assert not info["missing_keys"] and not info["mismatched_keys"], info
    model = model.double().eval()
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    model.config.clip_qkv = None
    width, rows = model.config.hidden_size, []
    with torch.no_grad():
        layers = layers_as_executed(model, places.layer)
        model.config._attn_implementation = "attnscope_recorder"
        for number, layer in enumerate(layers):
            if hasattr(layer, attention.split(".")[0]) and getattr(layer, "layer_type", "full_attention") != "linear_attention":
                rows += attention_rows(number, layer, places, width)
            rows += expert_rows(number, layer, width)
    text = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    (GOLDEN / f"{case}.json").write_text(f"[\n{text}]\n")
    print(f"{case}: {len(rows)} rows, {len(text)} bytes")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or CASES:
        make(name)
