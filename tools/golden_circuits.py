#!/usr/bin/env python3
"""Write tests/golden/circuits/<case>.json: expected results of `attnscope circuits` for the tiny checkpoints.

    python tools/golden_circuits.py [--only CASE]
    python tools/golden_circuits.py --trained FOLDER...

The second form writes tests/golden/circuits/trained/<folder's name>.json: only circuits of the stored weights.

Every circuit is multiplied out as a D x D matrix in float64, and every measure is computed from its definition. The
matrices come from make_golden.py, which observes the transformers modules. Biases, norm gains and rotary frequencies are
observed here in the same way.
"""

import argparse
import json
import tempfile
from pathlib import Path

import observed_linear_maps
import numpy as np
import torch
import transformers
from golden_checkpoints import CASES, Case, build, save
from observed_linear_maps import PLACES, layers_as_executed, observe, questions
from make_golden import DATA, GOLDEN, energy_rank, load

FOLDER = GOLDEN / "circuits"
TRAINED = FOLDER / "trained"
THRESHOLDS = (0.9, 0.99)
OFFSET = -3
SCORES = ("identity_cosine", "identity_scale", "identity_residual", "symmetry", "positive_fraction", "copying_score",
          "frobenius_norm")
RANKS = ("energy_rank", "left_rank", "right_rank", "head_space_rank")


# ---- Biases, norm gains and rotary frequencies --------------------------------------------------------------------

def observe_biases(model: torch.nn.Module) -> list[dict[str, np.ndarray]]:
    """Return the outputs of Q, K and V for zero inputs, (heads, d) per layer. Call after observe(), which installs the recorder."""
    places = PLACES[model.config.model_type]
    width = model.config.hidden_size
    biases = []
    observed_linear_maps.RECORDER.reply = None
    for layer in layers_as_executed(model, places.layer):
        observed_linear_maps.run_attention(layer.get_submodule(places.attention), questions(width))
        states = observed_linear_maps.RECORDER.states
        biases.append({name: state[-1, :, 0, :].detach().numpy() for name, state in zip("qkv", states)})
    return biases


def observe_gains(model: torch.nn.Module) -> list[np.ndarray | None]:
    """Return the gain of each layer's norm whose output is the attention input. None: there is no such norm.

    The input (1, -1, 1, …) is unchanged by every kind of normalization, so the norm's output is its gain.
    """
    places = PLACES[model.config.model_type]
    width = model.config.hidden_size
    norms, outputs, inputs, hooks = [], [], [], []
    for name, module in model.named_modules():
        if "norm" in type(module).__name__.lower():
            hooks.append(module.register_forward_hook(
                lambda module, given, result: outputs.append((module, result.detach().clone()))))
    attentions = {id(inside_norms(layer.get_submodule(places.attention)))
                  for layer in layers_as_executed(model, places.layer)}
    for module in model.modules():
        if id(module) in attentions:
            hooks.append(module.register_forward_pre_hook(
                lambda module, args, kwargs: inputs.append((args[0] if args else kwargs["hidden_states"]).clone()),
                with_kwargs=True))
    model(input_ids=torch.arange(3, 9)[None])
    for hook in hooks:
        hook.remove()
    signs = torch.tensor([1.0, -1.0] * (width // 2), dtype=torch.float64)
    for given in inputs:
        found = [module for module, result in outputs if result.shape == given.shape and torch.equal(result, given)]
        if not found:
            norms.append(None)
            continue
        norm = found[-1]
        epsilon = getattr(norm, "variance_epsilon", getattr(norm, "eps", 0.0))
        answer = (norm(signs[None]) - norm(torch.zeros_like(signs)[None]))[0]
        norms.append(exact_gain(norm, ((answer / signs) * np.sqrt(1 + epsilon)).detach().numpy()))
    return norms


def inside_norms(attention: torch.nn.Module) -> torch.nn.Module:
    """Return the inner module of ESM's attention, because the outer one contains the norm of its input."""
    return attention.self if type(attention).__name__ == "EsmAttention" else attention


def exact_gain(norm: torch.nn.Module, observed: np.ndarray) -> np.ndarray:
    """Return the gain in float64. Some norms always compute in float32, so the observed gain only selects the formula."""
    fitting = [gain for gain in (norm.weight.numpy(), 1 + norm.weight.numpy()) if np.allclose(gain, observed, atol=1e-5)]
    assert len(fitting) == 1, "the gain is neither the weight nor 1 + the weight"
    return fitting[0]


def rope_frequencies(model: torch.nn.Module, layer: int) -> np.ndarray | None:
    """Compute the frequencies in float64 from transformers' parameters. Check them against transformers' float32 values."""
    rotary = next((m for m in model.modules() if type(m).__name__.endswith("RotaryEmbedding")), None)
    if rotary is None or getattr(model.config, "alibi", False):
        return None
    config = model.config
    parameters = getattr(config, "rope_parameters", None)
    if parameters is None:
        parameters = {"rope_type": "default", "rope_theta": config.rope_theta}
    buffer = "inv_freq"
    if "full_attention" in parameters:
        parameters = parameters[config.layer_types[layer]]
        buffer = f"{config.layer_types[layer]}_inv_freq"
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    size = int(head_dim * parameters.get("partial_rotary_factor", 1.0))
    frequencies = parameters["rope_theta"] ** (-np.arange(0, size, 2) / size)
    if parameters["rope_type"] == "linear":
        frequencies = frequencies / parameters["factor"]
    if parameters["rope_type"] == "llama3":
        context, factor = parameters["original_max_position_embeddings"], parameters["factor"]
        low, high = parameters["low_freq_factor"], parameters["high_freq_factor"]
        waves = 2 * np.pi / frequencies
        smooth = (context / waves - low) / (high - low)
        between = (1 - smooth) * frequencies / factor + smooth * frequencies
        frequencies = np.where(waves > context / low, frequencies / factor,
                               np.where(waves < context / high, frequencies, between))
    assert np.allclose(frequencies, getattr(rotary, buffer).numpy(), rtol=1e-6, atol=0), "different frequencies"
    return frequencies


def rotation(frequencies: np.ndarray, head_dim: int, offset: int) -> np.ndarray:
    """Return R with R x = x cos + rotate_half(x) sin on the first 2 n dimensions."""
    pairs = len(frequencies)
    matrix = np.eye(head_dim)
    for pair, angle in enumerate(offset * frequencies):
        first, second = pair, pair + pairs
        matrix[first, first] = matrix[second, second] = np.cos(angle)
        matrix[first, second], matrix[second, first] = -np.sin(angle), np.sin(angle)
    return matrix


# ---- Measures, by definition --------------------------------------------------------------------------------------

def spectrum(matrix: np.ndarray) -> np.ndarray:
    return np.linalg.svd(matrix, compute_uv=False)


def ranks(values: np.ndarray) -> list[int | None]:
    cumulative = np.cumsum(values**2) / np.sum(values**2)
    return [energy_rank(cumulative, threshold) for threshold in THRESHOLDS]


def rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.12g}")


def measures(left: np.ndarray, right: np.ndarray) -> list:
    """Compute the measures of left.T @ right: RANKS at each threshold, then SCORES."""
    product = left.T @ right
    square = product.shape[0] == product.shape[1]
    head_space = ranks(spectrum(right @ left.T)) if square else [None] * len(THRESHOLDS)
    out = [ranks(spectrum(product)), ranks(spectrum(left)), ranks(spectrum(right)), head_space]
    norm = np.linalg.norm(product)
    scores = dict.fromkeys(SCORES) | {"frobenius_norm": norm}
    if square:
        width = len(product)
        identity = np.eye(width)
        symmetric = np.linalg.eigvalsh((product + product.T) / 2)
        eigenvalues = np.linalg.eigvals(product)
        scores |= {
            "identity_cosine": np.trace(product) / (np.sqrt(width) * norm),
            "identity_scale": np.trace(product) / width,
            "identity_residual": np.linalg.norm(product - identity) / np.sqrt(width),
            "symmetry": np.sum(product * product.T) / norm**2,
            "positive_fraction": symmetric[symmetric > 0].sum() / np.abs(symmetric).sum(),
            "copying_score": eigenvalues.real.sum() / np.abs(eigenvalues).sum(),
        }
    return out + [rounded(scores[name]) for name in SCORES]


class Variant:
    """One layer's per-head factors with the options `--fold-norm`, `--with-bias` and `--rope-offset`."""

    def __init__(self, layer, biases, gain, frequencies, fold=False, bias=False, offset=0):
        heads = {name: [part.matrix for part in layer.heads[name]] for name in "qkvo"}
        for name in "qkv":
            if fold and gain is not None:
                heads[name] = [matrix * gain for matrix in heads[name]]
            if bias:
                heads[name] = [np.column_stack([m, b]) for m, b in zip(heads[name], biases[name])]
        if offset:
            heads["k"] = [rotation(frequencies, len(matrix), offset) @ matrix for matrix in heads["k"]]
        self.group = len(heads["q"]) // len(heads["k"])
        count = range(len(heads["q"]))
        self.qk = [(heads["q"][h], heads["k"][h // self.group]) for h in count]
        self.ov = [(heads["o"][h].T, heads["v"][h // self.group]) for h in count]

    def summed(self, pairs):
        lefts = [sum(left for left, _ in pairs[first:first + self.group])
                 for first in range(0, len(pairs), self.group)]
        return np.vstack(lefts), np.vstack([right for _, right in pairs[::self.group]])

    def rows(self, layer: int, only_sum: bool) -> list:
        found = []
        for name, pairs in (("qk", self.qk), ("ov", self.ov)):
            found.append([layer, name, None, *measures(*self.summed(pairs))])
            if not only_sum:
                found += [[layer, name, head, *measures(*pair)] for head, pair in enumerate(pairs)]
        return found


def composition(variants: list[Variant]) -> list:
    """Return rows of earlier layer, later layer, kind, and a score per later head and earlier head."""
    found = []
    norm = np.linalg.norm
    for later in range(len(variants)):
        for earlier in range(later):
            writes = [left.T @ right for left, right in variants[earlier].ov]
            qk = [left.T @ right for left, right in variants[later].qk]
            ov = [left.T @ right for left, right in variants[later].ov]
            for kind, readers in (("q", [m.T for m in qk]), ("k", qk), ("v", ov)):
                scores = [[rounded(norm(reads @ wrote) / (norm(reads) * norm(wrote))) for wrote in writes]
                          for reads in readers]
                found.append([earlier, later, kind, scores])
    return found


# ---- Files --------------------------------------------------------------------------------------------------------

def figures(model: torch.nn.Module) -> dict:
    gains = observe_gains(model)
    frequencies = [rope_frequencies(model, layer) for layer in range(model.config.num_hidden_layers)]
    layers = observe(model)
    biases = observe_biases(model)

    def variants(**options) -> list[Variant]:
        return [Variant(*parts, **options) for parts in zip(layers, biases, gains, frequencies)]

    def rows(only_sum: bool = False, **options) -> list:
        return [row for index, variant in enumerate(variants(**options)) for row in variant.rows(index, only_sum)]

    golden = {"thresholds": list(THRESHOLDS), "columns": ["layer", "circuit", "head", *RANKS, *SCORES],
              "plain": rows(), "fold_norm": rows(fold=True, only_sum=True), "with_bias": rows(bias=True)}
    if frequencies[0] is not None:
        golden["rope_offset"] = [row for row in rows(offset=OFFSET) if row[1] == "qk"]
    golden["composition"] = composition(variants())
    return golden


def as_text(golden: dict) -> str:
    parts = []
    for key, value in golden.items():
        if isinstance(value[0], list):
            text = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            parts.append(f'"{key}":[\n{text}]')
        else:
            parts.append(f'"{key}":{json.dumps(value, separators=(",", ":"))}')
    return "{" + ",\n".join(parts) + "}\n"


def trained_figures(folder: Path) -> dict:
    model_class = json.loads((folder / "config.json").read_text())["architectures"][0]
    layers = observe(load(Case(folder.name, model_class, {}), folder))
    return {"thresholds": list(THRESHOLDS), "columns": ["layer", "circuit", "head", *RANKS, *SCORES],
            "plain": [row for index, layer in enumerate(layers)
                      for row in Variant(layer, None, None, None).rows(index, only_sum=index > 0)]}


def load_as_written(case: Case) -> torch.nn.Module:
    """Load a case's model. If transformers cannot read its files back, save readable files with the same values."""
    if case.loads_back:
        return load(case, DATA / case.name)
    with tempfile.TemporaryDirectory() as folder:
        save(case, build(case), Path(folder))
        return load(case, Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="CASE", choices=[case.name for case in CASES])
    parser.add_argument("--trained", metavar="FOLDER", nargs="+", type=Path)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    TRAINED.mkdir(parents=True, exist_ok=True)
    for folder in arguments.trained or []:
        with torch.no_grad():
            (TRAINED / f"{folder.resolve().name}.json").write_text(as_text(trained_figures(folder.resolve())))
    for case in [] if arguments.trained else CASES:
        if arguments.only not in (None, case.name):
            continue
        model = load_as_written(case)
        with torch.no_grad():
            text = as_text(figures(model))
        (FOLDER / f"{case.name}.json").write_text(text)
        print(case.name, len(text))


if __name__ == "__main__":
    main()
