#!/usr/bin/env python3
"""Write tests/data/hybrid/<case>/ and tests/golden/hybrid/<case>.json: tiny models that combine attention with Mamba.

Attention is in some layers only, or next to Mamba in each layer. The JSON files have spectra of that attention.

    python tools/golden_hybrid.py

The layers with attention are determined from the modules that transformers loads, not from the config. Matrices come from these
modules in float64, and are decomposed by NumPy. The latents of Kimi Linear are handled as in golden_mla.py. A second run gives the
same bytes. Needs numpy, torch, transformers and safetensors, but tests do not.
"""

import json
import os
import zlib
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything is built here; nothing may be downloaded

import golden_mla
import numpy as np
import torch
import transformers
from golden_checkpoints import SEED, TOKENS, random_matrix
from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parent.parent
DATA, GOLDEN = ROOT / "tests" / "data" / "hybrid", ROOT / "tests" / "golden" / "hybrid"
MAMBA, FULL = "linear_attention", "full_attention"
SIZES = TOKENS | {"vocab_size": 32, "hidden_size": 24, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 20,
                  "max_position_embeddings": 64}
STATE = {"mamba_n_heads": 4, "mamba_d_state": 4}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}

CASES = {
    "granitemoehybrid": ("GraniteMoeHybridForCausalLM", SIZES | STATE | EXPERTS | {
        "num_hidden_layers": 3, "layer_types": [MAMBA, FULL, MAMBA], "shared_intermediate_size": 12, "position_embedding_type": "rope"}),
    "granitemoehybrid-dense": ("GraniteMoeHybridForCausalLM", SIZES | STATE | {
        "num_hidden_layers": 2, "layer_types": [MAMBA, FULL], "num_local_experts": 0, "shared_intermediate_size": 12}),
    "nemotron_h": ("NemotronHForCausalLM", SIZES | {
        "layers_block_type": [MAMBA, "mlp", FULL, "moe", FULL], "head_dim": 8, "mamba_num_heads": 4, "mamba_head_dim": 12,
        "n_groups": 2, "ssm_state_size": 4, "n_routed_experts": 4, "moe_intermediate_size": 8, "moe_shared_expert_intermediate_size": 12,
        "moe_latent_size": 10}),
    "jamba": ("JambaForCausalLM", SIZES | {
        "num_hidden_layers": 5, "attn_layer_period": 3, "attn_layer_offset": 1, "num_experts": 4, "expert_layer_period": 2,
        "expert_layer_offset": 0, "mamba_d_state": 4}),
    "falcon_h1": ("FalconH1ForCausalLM", SIZES | STATE | {"num_hidden_layers": 2, "mamba_d_ssm": 48, "key_multiplier": 0.5}),
    "zamba2": ("Zamba2ForCausalLM", SIZES | {
        "num_hidden_layers": 4, "layers_block_type": [MAMBA, "hybrid", "hybrid", "hybrid"], "n_mamba_heads": 4,
        "mamba_d_state": 4, "num_mem_blocks": 2}),
    "kimi_linear": ("KimiLinearForCausalLM", SIZES | EXPERTS | {
        "num_hidden_layers": 3, "num_key_value_heads": 4, "linear_head_dim": 6, "linear_num_heads": 2, "kv_lora_rank": 8,
        "qk_rope_head_dim": 4, "qk_nope_head_dim": 6, "v_head_dim": 5, "moe_intermediate_size": 8, "layer_types": [MAMBA, FULL, MAMBA]}),
}


def randomise(model: torch.nn.Module, generator: np.random.Generator) -> None:
    """Replace every parameter, including those of convolutions and states."""
    for parameter in model.parameters():
        rows = parameter.shape[0]
        drawn = random_matrix(generator, rows, parameter.numel() // rows).reshape(parameter.shape)
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(drawn)))


def attentions(model: torch.nn.Module) -> dict[int, torch.nn.Module]:
    """Return the attention modules by layer number."""
    found = {}
    for name, module in model.named_modules():
        if type(module).__name__.endswith("Attention") and "Delta" not in type(module).__name__:
            found[int(name.split(".layers.")[1].split(".")[0])] = module
    for number, layer in enumerate(model.model.layers):  # a module shared by layers has the name of the first one
        for module in layer.modules():
            if any(module is attention for attention in found.values()):
                found[number] = module
    return dict(sorted(found.items()))


def values(matrix: np.ndarray, count: int) -> list[float]:
    return np.linalg.svd(matrix, compute_uv=False)[:count].tolist()


def whole_and_heads(matrix: np.ndarray, heads: list[np.ndarray]) -> list[list[float]]:
    return [values(part, min(part.shape)) for part in (matrix, *heads)]


def spectra(attention: torch.nn.Module, heads: int, reads_stream: bool) -> dict:
    q, k, v, o = (getattr(attention, f"{name}_proj").weight.detach().double().numpy() for name in "qkvo")
    of_head = len(q) // heads
    kv_heads = len(k) // of_head
    queries, keys, vals = np.split(q, heads), np.split(k, kv_heads), np.split(v, kv_heads)
    outputs = np.split(o, heads, axis=1)
    out = {"q": whole_and_heads(q, queries), "k": whole_and_heads(k, keys), "v": whole_and_heads(v, vals),
           "o": whole_and_heads(o, outputs)}
    if reads_stream:
        own = [head * kv_heads // heads for head in range(heads)]
        qk = [query.T @ keys[g] for query, g in zip(queries, own)]
        ov = [output @ vals[g] for output, g in zip(outputs, own)]
        for name, products in (("qk", qk), ("ov", ov)):
            out[name] = [values(sum(products), min(len(k), q.shape[1])), *(values(product, of_head) for product in products)]
    return out


def expert_spectra(layer: torch.nn.Module) -> dict:
    """Return the matrices of a Nemotron-H block with only experts: of each routed expert, and the shared ones."""
    def matrix(weight: torch.Tensor) -> np.ndarray:
        return weight.detach().double().numpy()

    def whole(weight: torch.Tensor) -> list[float]:
        return values(matrix(weight), min(weight.shape))

    block = layer.mixer
    return {"up": [whole(one) for one in block.experts.up_proj], "down": [whole(one) for one in block.experts.down_proj],
            "router": [whole(block.gate.weight)], "shared_up": [whole(block.shared_experts.up_proj.weight)],
            "shared_down": [whole(block.shared_experts.down_proj.weight)]}


def make(case: str) -> None:
    name, config = CASES[case]
    model_class = getattr(transformers, name)
    model = model_class(model_class.config_class(**config))
    randomise(model, np.random.default_rng([SEED, zlib.crc32(case.encode())]))
    folder = DATA / case
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    loaded = model_class.from_pretrained(folder, dtype=torch.float64)
    written = json.loads((folder / "config.json").read_text())
    if case == "kimi_linear":
        tensors = load_file(folder / "model.safetensors")
        latent = written | {"rope_parameters": {"rope_theta": 1e4}}
        layers = {layer: golden_mla.spectra(golden_mla.Layer(latent, tensors, layer, fold=False), latent)
                  for layer in attentions(loaded)}
    else:
        layers = {layer: spectra(attention, config["num_attention_heads"], reads_stream=case != "zamba2")
                  for layer, attention in attentions(loaded).items()}
    (GOLDEN / f"{case}.json").write_text(json.dumps(layers) + "\n")
    if case == "nemotron_h":
        experts = {number: expert_spectra(layer) for number, layer in enumerate(loaded.model.layers) if hasattr(layer.mixer, "experts")}
        (GOLDEN / f"{case}-experts.json").write_text(json.dumps(experts) + "\n")
    print(f"hybrid/{case}", *layers)


def main() -> None:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        make(case)


if __name__ == "__main__":
    main()
