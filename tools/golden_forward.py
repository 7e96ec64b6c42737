#!/usr/bin/env python3
"""Write tests/data/forward/<case>/: tiny checkpoints and their expected forward pass.

    python tools/golden_forward.py [--only CASE] [--check]

(`tools/make_golden.py` calls it too.) A second run gives the same bytes. Needs numpy, torch, transformers and safetensors, but
tests do not. `--check` also runs everything in float64 and prints the float32 errors.

Each folder has one weights file, model.safetensors, and one or more configs for it. golden_variants.py describes
the files. config.json is in the format of transformers 5. A config with spelling "old" omits keys that have a default.
The expected tensors of a variant, for inputs N = 0, 1, ...:
    - tokens.N         [T] int32
    - logits.N         [T, V] float32; absent if the checkpoint has no head
    - hidden_states.N  [L + 1, T, D] float32, as returned by transformers: the last one is after the final norm. With several
                       streams (AltUp): the active one
    - attentions.N     [L, H, T, T] float32, after the softmax; only of layers with attention

If the last hidden state is narrower than D (OPT with projections), hidden_states.N has L entries and
last_hidden_state.N [T, E] is the last one. The metadata key "batches", a JSON list such as [[2, 3]], lists inputs of the main
variant that were run together, padded on the right and masked. Only the rows of tokens are written.
    - routing.tokens [200] int32, routing.experts [layers, 200, k] uint8, routing.weights float32
                     MoE models: the experts that each MoE layer selects for these tokens
    - generated.prompt [T], generated.tokens [N] int32
                     some variants: the output of generate() with its cache

All values come from transformers, eager and float32, which loads the written files into a new model for every input.
"""

import argparse
import json
import os
import shutil
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything is built here; nothing may be downloaded

import numpy as np
import torch
import transformers
from golden_forward_case import Case, Variant, changed
from golden_forward_cases import CASES
from golden_forward_values import SEED, randomise
from golden_variants import Tensors, Variants, config_of, tensors_of, write_config
from safetensors.torch import load_file as read_tensors
from safetensors.torch import save_file as save_tensors
from torch.overrides import TorchFunctionMode

FORWARD = Path(__file__).resolve().parent.parent / "tests" / "data" / "forward"
SIZE_LIMIT = 24_000_000
# Variants with generated text: those in which a longer text changes the rotation of earlier keys, and those with windows.
ROUTED = 200  # tokens
GENERATES = {("llama", "dynamic"), ("gpt_neox", "dynamic"), ("phi3", "longrope"), ("phi3", "longrope-su"),
             ("phi3", "longrope-share"), ("mistral", "window-8"), ("gemma3", ""), ("bloom", ""), ("mpt", ""), ("falcon-rw", ""),
             ("minicpm3", ""), ("qwen3_next", ""), ("qwen3_5-long", ""), ("lfm2", ""), ("kimi_linear", ""), ("recurrent_gemma", ""), ("gemma3n", ""),
             ("granitemoehybrid", ""), ("bamba", ""), ("nemotron_h", ""), ("jamba", ""), ("falcon_h1", ""), ("zamba2", ""),
             ("deepseek_v32-selects", ""), ("glm_moe_dsa-selects", "shared"), ("gemma4", ""), ("gemma4-same-matrix", "")}
PROMPT, WRITTEN = 6, 24  # tokens
WITHOUT_MAPS = 1e-4
FLOAT32_ERROR = 5e-6  # relative to the largest value: the accepted error of float32 itself; tests allow 2e-5


def load(case: Case, weights: Path, config: dict, attention: str = "eager") -> torch.nn.Module:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(weights, Path(folder) / "model.safetensors")
        write_config(Path(folder) / "config.json", config)
        model_class = getattr(transformers, case.model)
        # The faster expert implementations do not support float64.
        eager = {"experts_implementation": "eager"} if model_class._can_set_experts_implementation() else {}
        model, info = model_class.from_pretrained(
            folder, dtype=torch.float32, attn_implementation=attention, output_loading_info=True, **eager)
    assert not info["missing_keys"] and not info["mismatched_keys"], f"{case.name}: {info}"
    return model.eval()


class InFloat64(TorchFunctionMode):
    """Override conversions to float32 that modules do for every dtype. Rotary tables stay float32."""
    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = dict(keywords or {})
        wide = arguments and isinstance(arguments[0], torch.Tensor) and arguments[0].dtype == torch.float64
        if wide and (function is torch.Tensor.float or
                     (function is torch.Tensor.to and arguments[1:] == (torch.float32,))):
            return arguments[0]
        if wide and "softmax" in getattr(function, "__name__", "") and keywords.get("dtype") == torch.float32:
            keywords["dtype"] = torch.float64
        return function(*arguments, **keywords)


@contextmanager
def last_states_kept(model: torch.nn.Module):
    """Keep the input of the LM head in `last_states`."""
    head = getattr(model, "lm_head", None)
    hook = head and head.register_forward_pre_hook(lambda _, arguments: setattr(model, "last_states", arguments[0]))
    try:
        yield
    finally:
        if hook:
            hook.remove()


def with_skipped(states: list[torch.Tensor], layers: int, skipped: list[int]) -> list[torch.Tensor]:
    """Repeat the states before layers that texts skip (Mllama). transformers records no states of these layers."""
    recorded, out = iter(states[1:]), states[:1]
    for layer in range(layers):
        out.append(out[-1] if layer in skipped else next(recorded))
    return out


def states_of(model: torch.nn.Module, result) -> list[torch.Tensor]:
    """Return the hidden states (texts, T, D). Models with several streams (AltUp) return all of them, before the final norm:
    this takes the active stream, and the last hidden state after the norm."""
    states = list(result.hidden_states)
    if skipped := getattr(model.config, "cross_attention_layers", None):
        return with_skipped(states, model.config.num_hidden_layers, skipped)
    if states[0].dim() == 3:
        return states
    return [state[model.config.altup_active_idx] for state in states[:-1]] + [model.last_states]


def maps_of(model: torch.nn.Module, result) -> list[torch.Tensor]:
    """Return the attention maps. MiniMax also returns the states of layers with lightning attention."""
    if model.config.model_type != "minimax":
        return list(result.attentions)
    kinds = model.config.layer_types
    return [maps for maps, kind in zip(result.attentions, kinds, strict=True) if kind == "full_attention"]


def outputs(model: torch.nn.Module, texts: list[np.ndarray], pad: int | None) -> list[dict[str, np.ndarray]]:
    """Return the rows of each text. Several texts form one batch, padded on the right and masked."""
    longest = max(map(len, texts))
    ids = np.stack([np.pad(text, (0, longest - len(text)), constant_values=pad or 0) for text in texts])
    masks = {}
    if len(texts) > 1:
        masks["attention_mask"] = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in texts])
    with torch.no_grad(), last_states_kept(model):
        result = model(input_ids=torch.from_numpy(ids).long(), output_hidden_states=True, output_attentions=True,
                       **masks)
        states = states_of(model, result)
    rows = []
    for index, text in enumerate(texts):
        size = len(text)
        hidden = [state[index, :size].numpy() for state in states]
        narrow = hidden[-1].shape != hidden[0].shape
        row = {"hidden_states": np.stack(hidden[:-1] if narrow else hidden),
               "attentions": np.stack([maps[index, :, :size, :size].numpy() for maps in maps_of(model, result)])}
        if narrow:
            row["last_hidden_state"] = hidden[-1]
        if "logits" in result and result.logits.dim() == 3:  # not for models such as ELECTRA, whose logits are not per token over the vocabulary
            row["logits"] = result.logits[index, :size].numpy()
        rows.append(row)
    return rows


def tokens_of(case: Case, vocabulary: int, pad: int | None, length: int, index: int) -> np.ndarray:
    """Return random ids. The first text has a pad token in the middle, which affects only RoBERTa's positions."""
    generator = np.random.default_rng([SEED, index, length, zlib.crc32(case.name.encode())])
    ids = generator.integers(3, vocabulary, length).astype(np.int32)
    if index == 0 and pad is not None and length > 4:
        ids[4] = pad
    return ids


@dataclass(frozen=True)
class Inputs:
    batches: list[list[np.ndarray]]  # texts that are run together
    pad: int | None


def inputs_of(case: Case, variant: Variant, config: dict) -> Inputs:
    pad, batches, index = config.get("pad_token_id"), [], 0
    for entry in variant.lengths:
        lengths = entry if isinstance(entry, tuple) else (entry,)
        batches.append([tokens_of(case, config["vocab_size"], pad, length, index + offset)
                        for offset, length in enumerate(lengths)])
        index += len(lengths)
    return Inputs(batches, pad)


def run(case: Case, weights: Path, config: dict, inputs: Inputs) -> list[dict[str, np.ndarray]]:
    # Dynamic scaling remembers the longest text, so each batch uses a new model.
    with case.corrected(), case.altered():
        return [row for texts in inputs.batches for row in outputs(load(case, weights, config), texts, inputs.pad)]


def run_in_float64(case: Case, weights: Path, config: dict, inputs: Inputs) -> list[dict[str, np.ndarray]]:
    if "reorder_and_upcast_attn" in config:
        config = config | {"reorder_and_upcast_attn": False}  # forces float32, and otherwise has no effect
    rows = []
    for texts in inputs.batches:
        model = load(case, weights, config).double()
        with InFloat64(), case.corrected(), case.altered():
            rows += outputs(model, texts, inputs.pad)
    return rows


def largest_difference(got: np.ndarray, expected: np.ndarray, name: str) -> float:
    """Return the difference relative to the largest value, separately for each hidden state and each layer's attention."""
    if name in ("hidden_states", "attentions"):
        return max(largest_difference(a, b, "") for a, b in zip(got, expected, strict=True))
    return float(np.abs(got.astype(np.float64) - expected).max() / np.abs(expected).max())


def float32_error(case: Case, weights: Path, config: dict, inputs: Inputs, rows: list) -> dict[str, float]:
    worst: dict[str, float] = {}
    for exact, row in zip(run_in_float64(case, weights, config, inputs), rows, strict=True):
        assert all(value.dtype == np.float64 for value in exact.values())
        for name in row:
            worst[name] = max(worst.get(name, 0), largest_difference(row[name], exact[name], name))
    return worst


def check_without_maps(case: Case, weights: Path, config: dict, inputs: Inputs, rows: list) -> None:
    """Check that transformers without maps returns the same states."""
    if not getattr(transformers, case.model)._supports_sdpa:
        return
    for text, row in zip((text for texts in inputs.batches for text in texts), rows, strict=True):
        with torch.no_grad(), case.altered():
            model = load(case, weights, config, "sdpa")
            with last_states_kept(model):
                states = states_of(model, model(input_ids=torch.from_numpy(text).long()[None], output_hidden_states=True))
        error = largest_difference(states[-2][0].numpy(), row["hidden_states"][len(states) - 2], "")
        assert error < WITHOUT_MAPS, f"{case.name}: states without maps differ by {error}"


# ---- Files --------------------------------------------------------------------------------------------------------

def save_weights(case: Case, folder: Path) -> dict:
    """Write model.safetensors and return the main config as transformers writes it."""
    model_class = getattr(transformers, case.model)
    model = model_class(model_class.config_class(**changed({}, case.config)))
    randomise(model, case)
    model.to(case.dtype).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").unlink()
    return config


def expected_tensors(inputs: Inputs, rows: list[dict[str, np.ndarray]]) -> Tensors:
    tensors = {}
    for index, text in enumerate(text for texts in inputs.batches for text in texts):
        tensors[f"tokens.{index}"] = text
        tensors |= {f"{name}.{index}": np.ascontiguousarray(value) for name, value in rows[index].items()}
    assert all(np.isfinite(value).all() for value in tensors.values())
    return tensors


def batches_of(inputs: Inputs) -> dict[str, str] | None:
    """Return the metadata that lists inputs run together."""
    padded, index = [], 0
    for texts in inputs.batches:
        if len(texts) > 1:
            padded.append(list(range(index, index + len(texts))))
        index += len(texts)
    return {"batches": json.dumps(padded)} if padded else None  # only one key, because the order of several would be random


def generated_tensors(case: Case, folder: Path, config: dict) -> Tensors:
    prompt = tokens_of(case, config["vocab_size"], None, PROMPT, 0)
    ids = torch.from_numpy(prompt).long()[None]
    with torch.no_grad(), case.corrected(), case.altered():
        text = load(case, folder / "model.safetensors", config).generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=WRITTEN, eos_token_id=None,
            pad_token_id=0, use_cache=True)
    tokens = text[0, PROMPT:].numpy().astype(np.int32)
    assert len(tokens) == WRITTEN
    return {"prompt": prompt, "tokens": tokens}


def routes_of(model: torch.nn.Module) -> list:
    """Return a list that will contain the selected experts and their weights per layer, recorded by hooks."""
    chosen = []
    for module in model.modules():
        if type(module).__name__ == "Llama4Router":
            def add(router, _, output):
                scores, _ = output
                experts = scores.topk(router.top_k).indices
                chosen.append((experts, scores.gather(1, experts)))
            module.register_forward_hook(add)
        elif type(module).__name__.endswith("Experts") and not type(module).__name__.startswith("Llama4"):
            module.register_forward_pre_hook(lambda _, arguments: chosen.append(arguments[1:3]))
    return chosen


def routing_tensors(case: Case, folder: Path, config: dict) -> Tensors:
    model = load(case, folder / "model.safetensors", config)
    chosen = routes_of(model)
    tokens = tokens_of(case, config["vocab_size"], None, ROUTED, 0)
    with torch.no_grad():
        model(input_ids=torch.from_numpy(tokens).long()[None])
    return {"tokens": tokens, "experts": np.stack([experts.numpy().astype(np.uint8) for experts, _ in chosen]),
            "weights": np.stack([weights.numpy() for _, weights in chosen])}


def make_variant(case: Case, variant: Variant, folder: Path, main_config: dict, out: Variants, check: bool) -> None:
    weights, config = folder / "model.safetensors", changed(main_config, variant.config)
    inputs = inputs_of(case, variant, config)
    rows = run(case, weights, config, inputs)
    out.add_tensors(variant.name, expected_tensors(inputs, rows))
    if batches := batches_of(inputs):
        assert not variant.name
        out.metadata = batches
    if (case.name, variant.name) in GENERATES:
        out.add_tensors(variant.name, generated_tensors(case, folder, config), "generated")
    if case.routes:
        out.add_tensors(variant.name, routing_tensors(case, folder, config), "routing")
    spellings = {"": config} | ({"old": variant.old(config)} if variant.old else {})
    for spelling, written in spellings.items():
        out.add_config(variant.name, case.rewrite_config(written) if case.rewrite_config else written, spelling)
    if check:
        errors = float32_error(case, weights, config, inputs, rows)
        print(f"{case.name:20} {variant.name:24}", "  ".join(f"{name} {value:.1e}" for name, value in errors.items()))
        check_without_maps(case, weights, config, inputs, rows)
        worst = max(errors.values())
        assert worst < FLOAT32_ERROR, f"{case.name} {variant.name}: float32 error of {worst}"


def check_files(case: Case, variant: Variant, folder: Path, main_config: dict) -> None:
    """Check that the written configs and weights reproduce the written values."""
    inputs = inputs_of(case, variant, changed(main_config, variant.config))
    expected = tensors_of(folder, variant.name)
    for spelling in ("", "old") if variant.old and variant.old_loads else ("",):
        config = config_of(folder, variant.name, spelling)
        for index, row in enumerate(run(case, folder / "model.safetensors", config, inputs)):
            assert all(np.array_equal(value, expected[f"{name}.{index}"]) for name, value in row.items()), \
                f"{case.name} {variant.name} {spelling}: values differ after reading back"


def make(case: Case, check: bool = False) -> None:
    folder = FORWARD / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    main_config, out = save_weights(case, folder), Variants()
    for variant in case.variants:
        make_variant(case, variant, folder, main_config, out, check)
    out.write(folder)
    if case.rewrite:
        path = folder / "model.safetensors"
        tensors = case.rewrite(read_tensors(path))
        save_tensors({name: tensor.contiguous() for name, tensor in tensors.items()}, path, metadata={"format": "pt"})
    for variant in case.variants if case.loads_back else ():
        if case.rewrite or variant.old:
            check_files(case, variant, folder, main_config)


def make_all(only: str | None = None, check: bool = False) -> None:
    torch.set_num_threads(1)  # sums in the same order on every machine
    for case in CASES:
        if only in (None, case.name):
            make(case, check)
            print(f"forward/{case.name}")
    total = sum(path.stat().st_size for path in FORWARD.rglob("*") if path.is_file())
    assert total < SIZE_LIMIT, f"tests/data/forward has {total} bytes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="CASE")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    make_all(arguments.only, arguments.check)


if __name__ == "__main__":
    main()
