#!/usr/bin/env python3
"""Write tests/data/<case>/ (tiny checkpoints), tests/golden/<case>.json (expected results of attnscope) and
tests/data/forward/ (expected forward pass: see golden_forward.py and golden_daisy.py).

    python tools/make_golden.py [--only CASE]
    python tools/make_golden.py --trained FOLDER...

The second form writes tests/golden/trained/<folder's name>.json for existing checkpoints.

Needs numpy, torch, transformers and safetensors, but tests do not. A second run gives the same bytes.

Expected values come from the behavior of the transformers modules, never from slicing a stored tensor: see observed_linear_maps.py.
"""

import argparse
import json
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything is built here; nothing may be downloaded

import golden_daisy
import golden_forward
import golden_seq2seq
import numpy as np
import torch
import transformers
from golden_checkpoints import CASES, Case, build, save
from observed_linear_maps import ENCODERS, PLACES, Layer, Places, circuits, observe, probe, whole_matrix
from safetensors import safe_open

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
GOLDEN = ROOT / "tests" / "golden"
TRAINED = GOLDEN / "trained"
SIZE_LIMIT = 40_000_000
THRESHOLDS = ("0.6", "0.8", "0.9", "0.99")
EPSILON = 2.0**-23
PROBE_SIZE = 64  # numbers that are written down; no tiny checkpoint is wider


# ---- Expected values ----------------------------------------------------------------------------------------------

def shortened(values: np.ndarray) -> list[float]:
    return [float(f"{value:.12g}") for value in values]


def energy_rank(cumulative: np.ndarray, threshold: float) -> int | None:
    """Return the energy rank. None: the threshold is so close to a step that rounding decides."""
    if np.abs(cumulative - threshold).min() <= 1e-6:
        return None
    return int(np.argmax(cumulative >= threshold)) + 1


def clear_count(values: np.ndarray, tolerance: float) -> int | None:
    """Return how many values exceed the tolerance. None: a value is so close to it that rounding decides."""
    if np.any((values > tolerance / 2) & (values < tolerance * 2)):
        return None
    return int(np.sum(values > tolerance))


def assert_clear(golden: dict) -> None:
    """Check that every rank of a tiny checkpoint is unambiguous. If this fails, choose another SEED."""
    for item in golden["spectra"]:
        assert item["numerical_rank"] is not None and None not in item["energy_rank"].values(), item


def spectrum(matrix: np.ndarray, max_possible_rank: int) -> dict:
    values = np.linalg.svd(matrix, compute_uv=False)
    assert np.all(values[max_possible_rank:] < 1e-12 * values[0]), "rank above the maximum"
    values = values[:max_possible_rank]
    energy = values**2
    share = values / values.sum()
    vanished = values[-1] < 1e-6 * values[0]
    return {
        "shape": list(matrix.shape),
        "energy_rank": {t: energy_rank(np.cumsum(energy) / energy.sum(), float(t)) for t in THRESHOLDS},
        "stable_rank": float(energy.sum() / energy[0]),
        "effective_rank": float(np.exp(-np.sum(share * np.log(share)))),
        "participation_ratio": float(energy.sum()**2 / np.sum(energy**2)),
        "numerical_rank": clear_count(values, max(matrix.shape) * EPSILON * values[0]),
        "max_possible_rank": max_possible_rank,
        "spectral_norm": float(values[0]),
        "frobenius_norm": float(np.sqrt(energy.sum())),
        "nuclear_norm": float(values.sum()),
        "condition_number": None if vanished else float(values[0] / values[-1]),
        "singular_values": shortened(values),
    }


def row(layer: int, matrix: str, head: int | None, more: dict) -> dict:
    return {"layer": layer, "matrix": matrix, "head": head} | more


def projection_rows(index: int, layer: Layer) -> list[dict]:
    rows = [row(index, name, head, {"values": shortened(part.probed)})
            for name in "qkvo" for head, part in enumerate(layer.heads[name])]
    return rows + [row(index, name, None, {"values": shortened(part.probed)}) for name, part in layer.mlp.items()]


def spectrum_rows(index: int, layer: Layer) -> list[dict]:
    rows = []
    for name in ("q", "k", "v", "o", *layer.mlp):
        matrix = whole_matrix(layer, name)
        rows.append(row(index, name, None, spectrum(matrix, min(matrix.shape))))
        for head, part in enumerate(layer.heads.get(name, [])):
            rows.append(row(index, name, head, spectrum(part.matrix, min(part.matrix.shape))))
    for name, products in circuits(layer).items():
        # The rank of each product is bounded by the rows of k (for qk) or v (for ov).
        inner = layer.heads["k" if name == "qk" else "v"]
        width, head_dim = len(products[0]), len(inner[0].probed)
        rows.append(row(index, name, None, spectrum(sum(products), min(width, len(inner) * head_dim))))
        rows += [row(index, name, head, spectrum(product, min(width, head_dim)))
                 for head, product in enumerate(products)]
    return rows


# ---- Model info ---------------------------------------------------------------------------------------------------

def tied_embedding(model: torch.nn.Module, config: dict) -> bool | None:
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    if head is not None and head.weight.shape == embedding.weight.shape:  # in DeBERTa the output embedding is an earlier layer
        return head.weight is embedding.weight
    # The file lacks the head's tensor although the model has a head: the config's (default) tying provides it.
    has_head = not config["architectures"][0].endswith("Model") or "LMHead" in config["architectures"][0]
    return bool(model.config.tie_word_embeddings) if has_head else None


def attention_parameters(model: torch.nn.Module, places: Places) -> int:
    modules = {module for module in model.modules() if type(module).__name__ == places.layer}
    seen = {}
    for module in modules:
        for path in (places.attention, places.output):
            for name, parameter in module.get_submodule(path).named_parameters():
                if "norm" not in name.lower():
                    seen[id(parameter)] = parameter.numel()
    return sum(seen.values())


def stored_parameters(folder: Path) -> int:
    return sum(int(np.prod(reader.get_slice(name).get_shape())) for reader in readers(folder) for name in reader.keys())


def stored_dtype(folder: Path) -> str:
    names = {reader.get_slice(name).get_dtype() for reader in readers(folder) for name in reader.keys()}
    assert len(names) == 1, f"{folder.name}: mixed dtypes {names}"
    return names.pop()


def readers(folder: Path) -> list:
    return [safe_open(path, framework="np") for path in sorted(folder.glob("*.safetensors"))]


def facts(model: torch.nn.Module, parameters: int, attention: int, layers: list[Layer], folder: Path) -> dict:
    config = json.loads((folder / "config.json").read_text())
    heads = layers[0].heads
    head_dim, value_dim = len(heads["q"][0].probed), len(heads["v"][0].probed)
    cache = 2 * len(layers) * len(heads["k"]) * (head_dim + value_dim)
    return {
        "architecture": config["model_type"],
        "parameters": parameters,
        "attention_parameters": attention,
        "layers": len(layers),
        "heads": len(heads["q"]),
        "kv_heads": len(heads["k"]),
        "head_dim": head_dim,
        "hidden_size": model.config.hidden_size,
        "intermediate_size": len(layers[0].mlp["up"].probed),
        "vocab_size": model.config.vocab_size,
        "context_length": config.get("max_position_embeddings", config.get("max_seq_len", config.get("seq_length"))),
        "dtype": stored_dtype(folder),
        "kv_cache_bytes_per_token": None if model.config.model_type in ENCODERS else cache,
        "tied_embedding": tied_embedding(model, config),
    }


# ---- Files --------------------------------------------------------------------------------------------------------

def load(case: Case, folder: Path) -> torch.nn.Module:
    """Compute the expected values from the files, so that they correspond to the stored values."""
    model_class = getattr(transformers, case.model)
    model, info = model_class.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"] and not info["mismatched_keys"], f"{case.name}: {info}"
    return model.double().eval()


def as_text(golden: dict) -> str:
    """Write one row object per line, so that diffs are readable."""
    parts = []
    for key, value in golden.items():
        if isinstance(value, list) and isinstance(value[0], dict):
            rows = ",\n".join(json.dumps(item, separators=(",", ":")) for item in value)
            parts.append(f'"{key}":[\n{rows}]')
        else:
            parts.append(f'"{key}":{json.dumps(value, separators=(",", ":"))}')
    return "{" + ",\n".join(parts) + "}\n"


def figures(case: Case, model: torch.nn.Module, folder: Path) -> dict:
    # Count first, because observing removes the norms of Q and K from the model.
    attention = attention_parameters(model, PLACES[model.config.model_type])
    parameters = (sum(parameter.numel() for parameter in model.parameters())
                  if case.loads_back else stored_parameters(folder))
    layers = observe(model)
    return {
        "made_with": {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0],
                      "numpy": np.__version__},
        "facts": facts(model, parameters, attention, layers, folder),
        "probe": probe(PROBE_SIZE).tolist(),
        "projections": [item for index, layer in enumerate(layers) for item in projection_rows(index, layer)],
        "spectra": [item for index, layer in enumerate(layers) for item in spectrum_rows(index, layer)],
    }


def make(case: Case) -> None:
    folder = DATA / case.name
    save(case, build(case), folder)
    model = None if case.loads_back else load(case, folder)
    if case.rewrite:
        case.rewrite(folder)
    with torch.no_grad():
        golden = figures(case, model or load(case, folder), folder)
    assert_clear(golden)
    (GOLDEN / f"{case.name}.json").write_text(as_text(golden))


def trained_case(folder: Path) -> Case:
    return Case(folder.name, json.loads((folder / "config.json").read_text())["architectures"][0], {})


def make_trained(folder: Path) -> None:
    """Write only spectra. Trained checkpoints are too wide for the probe, and the tiny ones already test the layout."""
    case = trained_case(folder)
    with torch.no_grad():
        golden = figures(case, load(case, folder), folder)
    del golden["probe"], golden["projections"]
    (TRAINED / f"{folder.name}.json").write_text(as_text(golden))


def total_size() -> int:
    return sum(path.stat().st_size for top in (DATA, GOLDEN) for path in top.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="CASE", choices=[case.name for case in CASES])
    parser.add_argument("--trained", metavar="FOLDER", nargs="+", type=Path)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    TRAINED.mkdir(parents=True, exist_ok=True)
    for folder in arguments.trained or []:
        make_trained(folder.resolve())
    for case in [] if arguments.trained else CASES:
        if arguments.only in (None, case.name):
            make(case)
            print(case.name)
    if not (arguments.trained or arguments.only):
        golden_forward.make_all()
        golden_seq2seq.make_all()
        golden_daisy.make_all()
    assert total_size() < SIZE_LIMIT, f"tests/data and tests/golden have {total_size()} bytes"


if __name__ == "__main__":
    main()
