"""Checks of adapters written by `diff --lora`, loaded by PEFT, and of `diff` for an adapter written by PEFT."""

import json

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors.numpy import load_file

from tiny_models import expect_same, layers_of, load, places_of, projection, run

FIXED_RANK = 20  # exceeds the rank of keys, which have 16 rows: their rank is limited to 16
LORA = dict(r=4, lora_alpha=6, init_lora_weights=False, task_type="CAUSAL_LM")
OWN_ADAPTERS = {
    "llama-biased": dict(LORA, target_modules=["q_proj", "v_proj", "down_proj"]),
    "gpt2": dict(LORA, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True, use_rslora=True),
}
BEFORE, FIRST = "base_model.model.", ".lora_A.weight"


def change_the_rest(folder):
    """Change what fine-tuning changes besides matrices: the embedding, tied or not, norms and all biases."""
    model = load(folder)
    for weight in model.parameters():
        if weight.ndim == 1 or weight is model.get_input_embeddings().weight:
            weight.add_(0.05 * torch.randn_like(weight))
    model.save_pretrained(folder)


def written(folder, tuned, adapter, *words):
    ran = run("diff", folder, tuned, "--lora", adapter, *words)
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    return load_file(adapter / "adapter_model.safetensors")


def expect_loads(folder, adapter, tensors, wanted, x):
    model = PeftModel.from_pretrained(load(folder), adapter).eval()
    if set(tensors) != set(get_peft_model_state_dict(model)):
        raise ValueError("the adapter's keys differ from PEFT's")
    expect_same("loaded", model(x).logits, wanted(x).logits)
    expect_same("merged", model.merge_and_unload()(x).logits, wanted(x).logits)


def check_fixed_rank(folder, tuned, adapter, x):
    tensors, base, wanted = written(folder, tuned, adapter, "--rank", FIXED_RANK), load(folder), load(tuned)
    for name in (name for name in tensors if name.endswith(FIRST)):
        module = name[len(BEFORE):-len(FIRST)]
        before, after = (model.get_submodule(module).weight for model in (base, wanted))
        left, values, right = np.linalg.svd((after.double() - before.double()).numpy(), full_matrices=False)
        rank = min(FIXED_RANK, len(values))
        if len(tensors[name]) != rank:
            raise ValueError(f"{module}: rank {len(tensors[name])}, not {rank}")
        after.copy_(before + torch.tensor((left[:, :rank] * values[:rank]) @ right[:rank]).float())
    expect_loads(folder, adapter, tensors, wanted, x)


def check_whole_change(folder, tuned, adapter, x):
    change_the_rest(tuned)
    tensors, wanted = written(folder, tuned, adapter, "--lora-energy", "0.999999999"), load(tuned)
    # Biases of modules without a LoRA factor are saved with their modules.
    biased = [name for name in tensors if name.endswith(".base_layer.bias")]
    adapted = [wanted.get_submodule(name[len(BEFORE):-len(FIRST)]) for name in tensors if name.endswith(FIRST)]
    if len(biased) != sum(module.bias is not None for module in adapted):
        raise ValueError(f"{len(biased)} biases are written for {len(adapted)} adapted modules")
    expect_loads(folder, adapter, tensors, wanted, x)


def check_experts(folder, tuned, adapter, x):
    """Check fine-tuning of all weights, including routers and experts: the adapter reproduces it, or `diff` refuses."""
    model = load(folder)
    for weight in model.parameters():
        weight.add_(0.02 * torch.randn_like(weight))
    model.save_pretrained(tuned)
    ran = run("diff", folder, tuned, "--lora", adapter, "--lora-energy", "0.999999999")
    if ran.returncode not in (0, 5):
        raise ValueError(ran.stderr.strip())
    if ran.returncode == 0:
        expect_same("loaded", PeftModel.from_pretrained(load(folder), adapter).eval()(x).logits, model(x).logits)


def check_own_adapter(name, folder, scratch):
    """Check the output of `diff` for an adapter that PEFT wrote."""
    torch.manual_seed(0)
    adapter, base, adapted = scratch / f"{name}-peft", load(folder), load(folder)
    get_peft_model(adapted, LoraConfig(**OWN_ADAPTERS[name])).save_pretrained(adapter)
    ran = run("diff", folder, adapter, "--format", "json", "--quiet")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    rows, places = json.loads(ran.stdout)["rows"], places_of(base)
    if len(rows) != len(places) * base.config.num_hidden_layers:
        raise ValueError(f"unexpected number of matrices: {len(rows)}")
    for row in rows:
        own = projection(base, row["layer"], row["matrix"]).weight.double().numpy()
        place, third = places[row["matrix"]]
        module = layers_of(adapted)[row["layer"]].get_submodule(place)
        change = np.zeros_like(own)
        if hasattr(module, "lora_A"):
            a, b = (part["default"].weight.double().numpy() for part in (module.lora_A, module.lora_B))
            change = module.scaling["default"] * (b if third is None else np.split(b, 3)[third]) @ a
        wanted = np.linalg.norm(change) / np.linalg.norm(own)
        if not abs(row["relative_change"] - wanted) <= 1e-5 * wanted:
            raise ValueError(f"layer {row['layer']} {row['matrix']}: relative change {row['relative_change']}, expected {wanted}")
        most = LORA["r"] if wanted else 0
        if not all(rank <= most for rank in row["energy_rank"].values()):
            raise ValueError(f"layer {row['layer']} {row['matrix']}: energy ranks {row['energy_rank']} exceed the rank {most}")
