#!/usr/bin/env python3
"""Compare how attnscope and PEFT's merge_and_unload() merge adapters, for every type and every option that affects weights.

    tools/check_adapters.py BINARY

Compares the logits of `predict BASE+ADAPTER`, and for models of the LLaMA and GPT-2 families the changes in `diff` and the singular values
in `spectrum`. Also fails if a config class has an option that is not in adapter_cases.py, in the refusals below, or in the list of options
without effect.
"""

import dataclasses
import json
import pathlib
import sys
import tempfile

from tiny_models import layers_of, places_of, run

import numpy as np
import torch
from peft import PeftModel
from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING
from peft.utils.peft_types import PeftType
from safetensors.torch import load_file

from adapter_cases import BASES, CASES, make_adapter, make_base, load_base, merged_model, merged_tensors

# Float32 errors are about 1e-7 of the weight, which is larger than the change. Decompositions have ten times larger errors.
TOLERANCE = 2e-6
MERGED = {"LORA", "ADALORA", "LOHA", "LOKR", "IA3", "VERA", "OFT", "BOFT", "LN_TUNING", "TRAINABLE_TOKENS"}
REFUSED = {"use_qalora": True, "use_bdlora": {"nblocks": 2}, "kasa_config": {"beta": 1e-4},
           "alora_invocation_tokens": [1], "arrow_config": {"top_k": 3}, "monteclora_config": {"num_samples": 8},
           "layer_replication": [[0, 2], [1, 2]], "megatron_config": {"hidden_size": 8}}
WITH_PLACES = {"llama", "tied", "gpt2"}
REFUSED_INITS = ("pissa_niter_4", "corda", "loftq")
NO_EFFECT = {"task_type", "peft_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision", "inference_mode",
             "lora_dropout", "megatron_core", "loftq_config", "eva_config", "corda_config", "lora_ga_config", "qalora_group_size",
             "runtime_config", "base_model_class", "parent_library", "rank_dropout", "module_dropout", "rank_dropout_scale", "init_weights",
             "init_ia3_weights", "vera_dropout", "d_initial", "boft_dropout", "tinit", "tfinal", "deltaT", "beta1", "beta2",
             "orth_reg_weight", "use_effective_conv2d", "boft_n_butterfly_factor"}


def options_of_peft():
    known = set(REFUSED) | NO_EFFECT | {"init_lora_weights"}
    for _, _, options, changes in CASES.values():
        known |= set(options) | set(changes)
    classes = [kind for name, kind in PEFT_TYPE_TO_CONFIG_MAPPING.items() if name.value in MERGED]
    return {field.name for kind in classes for field in dataclasses.fields(kind)} - known


def changes_of(base, adapter):
    ran = run("diff", base, adapter, "--format", "json", "--quiet")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    return json.loads(ran.stdout)["rows"]


def wrong_changes(base, adapter):
    model = load_base(base)
    places, names = places_of(model), {module: name for name, module in model.named_modules()}
    before, after = merged_tensors(base, adapter)
    rows = changes_of(base, adapter)
    if len(rows) != len(places) * model.config.num_hidden_layers:
        yield f"unexpected number of matrices: {len(rows)}"
    for row in rows:
        place, third = places[row["matrix"]]
        name = names[layers_of(model)[row["layer"]].get_submodule(place)] + ".weight"
        old, new = (tensors[name].double().numpy() for tensors in (before, after))
        if third is not None:
            old, new = (np.split(weight, 3, axis=1)[third] for weight in (old, new))
        wanted, own = np.linalg.norm(new - old), np.linalg.norm(old)
        if not abs(row["change_norm"] - wanted) <= TOLERANCE * max(wanted, own):
            yield f"layer {row['layer']} {row['matrix']}: change norm {row['change_norm']}, expected {wanted} (PEFT)"


def wrong_logits(base, adapter, saved):
    """Compare the logits of `predict`."""
    ran = run("predict", f"{base}+{adapter}", "--tokens", "0,1,2,3,4,5,6,7", "--save", saved, "--quiet")
    if ran.returncode:
        yield ran.stderr.strip()
        return
    with torch.no_grad():
        wanted = merged_model(load_base(base), adapter).eval()(torch.arange(8)[None]).logits[0]
    got = next(value for name, value in load_file(saved).items() if "logits" in name).reshape(wanted.shape)
    if not torch.allclose(got, wanted, rtol=0, atol=2e-5 * max(1.0, float(wanted.abs().max()))):
        yield f"logits differ by {float((got - wanted).abs().max())}"


def wrong_spectra(base, adapter):
    """Compare singular values with those of NumPy, in float64, of the weights that PEFT merged."""
    model = load_base(base)
    places, names = places_of(model), {module: name for name, module in model.named_modules()}
    _, after = merged_tensors(base, adapter)
    ran = run("spectrum", f"{base}+{adapter}", "--matrix", ",".join(places), "--values", "--format", "json", "--quiet")
    if ran.returncode:
        yield ran.stderr.strip()
        return
    for row in json.loads(ran.stdout)["rows"]:
        place, third = places[row["matrix"]]
        weight = after[names[layers_of(model)[row["layer"]].get_submodule(place)] + ".weight"].double().numpy()
        if third is not None:
            weight = np.split(weight, 3, axis=1)[third]
        wanted = np.linalg.svd(weight, compute_uv=False)
        if not np.abs(np.array(row["singular_values"]) - wanted).max() <= 10 * TOLERANCE * wanted[0]:
            yield f"layer {row['layer']} {row['matrix']}: singular values differ"


def wrong_refusals(base, adapter):
    path = adapter / "adapter_config.json"
    usual = json.loads(path.read_text())
    cases = [({option: value}, f"'{option}'") for option, value in REFUSED.items()]
    cases += [({"init_lora_weights": name}, f"'{name}'") for name in REFUSED_INITS]
    cases += [({"peft_type": kind.value}, "adapter") for kind in PeftType if kind.value not in MERGED]
    for changes, said in cases:
        path.write_text(json.dumps(usual | changes))
        ran = run("diff", base, adapter)
        if ran.returncode != 5 or said not in ran.stderr:
            yield f"{changes}: exit code {ran.returncode}, {ran.stderr.strip()}"


def save_tuned(base, folder, tied):
    """Change all weights. The head is tied or untied, independently of the base."""
    model = load_base(base)
    with torch.no_grad():
        head = torch.nn.Parameter(model.lm_head.weight.clone())
        model.lm_head.weight = model.model.embed_tokens.weight if tied else head
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) / 4)
    model.config.tie_word_embeddings = tied
    model._tied_weights_keys = model._tied_weights_keys if tied else None
    model.save_pretrained(folder)
    return model


def wrong_written(base, tuned, adapter, tied):
    """Check that PEFT with the adapter of `diff --lora` returns the logits of the fine-tuned model."""
    model, tokens = save_tuned(base, tuned, tied), torch.arange(8)[None]
    ran = run("diff", base, tuned, "--lora", adapter, "--lora-energy", "0.9999999999")
    if ran.returncode:
        yield ran.stderr.strip()
        return
    with torch.no_grad():
        wanted, got = model(tokens).logits, PeftModel.from_pretrained(load_base(base), adapter)(tokens).logits
    if not torch.allclose(got, wanted, rtol=0, atol=1e-3 * float(wanted.std())):
        yield f"logits differ by {float((got - wanted).abs().max())}"


def main():
    faults = [f"LoraConfig has an untested option '{name}'" for name in sorted(options_of_peft())]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for name in BASES:
            make_base(name, folder / name, seed=1)
        for number, (name, (base, *_)) in enumerate(CASES.items()):
            make_adapter(name, folder / base, folder / f"case-{name}", seed=100 + number)
            checks = [wrong_logits(folder / base, folder / f"case-{name}", folder / "saved.safetensors")]
            if base in WITH_PLACES:
                checks += [check(folder / base, folder / f"case-{name}") for check in (wrong_changes, wrong_spectra)]
            try:
                faults += [f"{name}: {fault}" for check in checks for fault in check]
            except ValueError as error:
                faults.append(f"{name}: {error}")
        for number, (base, tied) in enumerate([("tied", True), ("tied", False), ("llama", True), ("llama", False)]):
            names = [folder / f"{kind}-{number}" for kind in ("tuned", "written")]
            faults += [f"{base} into a tied model ({tied}): {fault}" for fault in wrong_written(folder / base, *names, tied)]
        faults += wrong_refusals(folder / "llama", folder / "case-plain")
    for fault in faults:
        print(fault)
    print(f"adapters: {len(CASES)} kinds are merged in the same way as by PEFT" if not faults else f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


torch.set_num_threads(1)
main()
