#!/usr/bin/env python3
"""Write tests/data/forward/daisy_gpt2*/: tiny daisy-wee GPT2Core checkpoints and their expected forward pass.

    python tools/golden_daisy.py
    python tools/golden_daisy.py --convert CHECKPOINT.pt FOLDER   (config.json and model.safetensors of a real checkpoint)
    python tools/golden_daisy.py --compare FOLDER EXPECTED.safetensors

(`tools/make_golden.py` calls it too.) The expected values, in the format of golden_forward.py, are computed here from the
stored values in float64, with float32 rotary tables. transformers has no class for these models.
Source: jonathanmiddleton/daisy-wee, models/gpt2, commit d1eb5d6951505418c663f530db8cf79db545357a.
"""

import argparse
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from golden_forward import FORWARD, SEED, Inputs, expected_tensors
from golden_variants import Variants, write_config
from safetensors.numpy import load_file as read_arrays
from safetensors.torch import load_file as read_tensors
from safetensors.torch import save_file as save_tensors

EPSILON = 1.1920929e-07
SCORE_SCALE = 0.12  # independent of head_dim
ROTARY_BASE = 1024


@dataclass(frozen=True)
class Shape:
    name: str
    layers: int
    heads: int
    head_dim: int
    vocabulary: int = 40
    context: int = 24

    @property
    def width(self) -> int:
        return self.heads * self.head_dim


CASES = (
    Shape("daisy_gpt2", layers=4, heads=3, head_dim=4),  # one nonzero frequency
    Shape("daisy_gpt2-6", layers=6, heads=2, head_dim=8),
    Shape("daisy_gpt2-8", layers=8, heads=1, head_dim=16),  # two layers without value embeddings
    Shape("daisy_gpt2-16", layers=16, heads=2, head_dim=4),  # two skips
)


# ---- The forward pass ---------------------------------------------------------------------------------------------

def norm(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + EPSILON)


def skip_sources(layers: int) -> dict[int, int]:
    """Map each layer to the earlier layer whose output is added to its input."""
    count, centre = max(1, layers // 8), layers // 2
    gap = max(1, layers // (2 * (count + 1)))
    pairs = {centre - count + step - 1: centre - count + step - 1 - step * gap for step in range(1, count + 1)}
    return {layer: source for layer, source in pairs.items() if 0 <= source < layer}


def value_tables(layers: int) -> list[int | None]:
    return [0, 1, 2, *[None] * (layers - 6), 0, 1, 2][:layers]


def rotary_tables(tokens: int, head_dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Return cos and sin [T, d / 2]. Half of the frequencies are zero. The model keeps them in float32."""
    turning = head_dim // 4
    exponents = np.arange(turning, dtype=np.float32) / np.float32(max(1, turning - 1))
    frequencies = np.concatenate([np.float32(1 / ROTARY_BASE) ** exponents,
                                  np.zeros(head_dim // 2 - turning, np.float32)]).astype(np.float32)
    angles = np.arange(tokens, dtype=np.float32)[:, None] * frequencies
    return np.cos(angles).astype(np.float64), np.sin(angles).astype(np.float64)


def rotated(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """Rotate x [T, H, d]. The halves of a head rotate in the opposite direction to Llama's."""
    first, second = np.split(x, 2, axis=-1)
    cos, sin = cos[:, None], sin[:, None]
    return np.concatenate([first * cos + second * sin, second * cos - first * sin], axis=-1)


def attention(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the attention maps [H, T, T] for inputs [T, H, d]."""
    scores = SCORE_SCALE * np.einsum("ihd,jhd->hij", q, k)
    scores[:, ~np.tri(len(q), dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def forward(tensors: dict[str, np.ndarray], shape: Shape, ids: np.ndarray) -> dict[str, np.ndarray]:
    layers, heads, tokens = shape.layers, (shape.heads, shape.head_dim), len(ids)
    scalars = tensors["scalars"]
    lambdas, value_lambdas = scalars[layers:3 * layers].reshape(-1, 2), scalars[3 * layers:].reshape(-1, 2)
    cos, sin = rotary_tables(tokens, shape.head_dim)
    skips, tables = skip_sources(layers), value_tables(layers)
    x = start = norm(tensors["embed.weight"][ids])
    states, maps = [x], []
    for layer in range(layers):
        if layer in skips:
            x = x + scalars[skips[layer]] * states[skips[layer] + 1]
        x = lambdas[layer, 0] * x + lambdas[layer, 1] * start
        wq, wk, wv, wo = tensors[f"blocks.{layer}.attn.qkvo_w"]
        q, k, v = (norm((x @ weight.T).reshape(tokens, *heads)) for weight in (wq, wk, wv))
        v = value_lambdas[layer, 0] * v
        if tables[layer] is not None:
            table = tensors[f"value_embeds.{tables[layer]}.weight"]
            v = v + value_lambdas[layer, 1] * table[ids].reshape(tokens, *heads)
        weights = attention(rotated(q, cos, sin), rotated(k, cos, sin))
        x = x + np.einsum("hij,jhd->ihd", weights, v).reshape(tokens, -1) @ wo.T
        hidden = np.maximum(norm(x) @ tensors[f"blocks.{layer}.mlp.fc_w"].T, 0)**2
        x = x + hidden @ tensors[f"blocks.{layer}.mlp.proj_w"].T
        states.append(x)
        maps.append(weights)
    logits = norm(x) @ tensors["lm_head_w"][:shape.vocabulary].T  # the remaining rows are padding
    return {"logits": logits, "hidden_states": np.stack(states), "attentions": np.stack(maps)}


def in_float64(path: Path) -> dict[str, np.ndarray]:
    return {name: tensor.double().numpy() for name, tensor in read_tensors(path).items()}


# ---- Files --------------------------------------------------------------------------------------------------------

def random_tensors(shape: Shape) -> dict[str, torch.Tensor]:
    generator = np.random.default_rng([SEED, shape.layers])

    def normal(scale: float, *size: int) -> torch.Tensor:
        return torch.from_numpy(scale * generator.standard_normal(size))

    width, layers = shape.width, shape.layers
    padded = -(-shape.vocabulary // 128) * 128
    lambdas = torch.tensor([0.8, 0.4] * layers + [0.7, 0.5] * layers, dtype=torch.float64)
    matrices = {"embed.weight": normal(0.003, shape.vocabulary, width)}  # small, so that the norm's epsilon matters
    matrices |= {f"value_embeds.{table}.weight": normal(1.0, shape.vocabulary, width) for table in range(3)}
    for layer in range(layers):
        matrices[f"blocks.{layer}.attn.qkvo_w"] = normal(width**-0.5, 4, width, width)
        matrices[f"blocks.{layer}.mlp.fc_w"] = normal(width**-0.5, 4 * width, width)
        matrices[f"blocks.{layer}.mlp.proj_w"] = normal(0.3 * width**-0.5, width, 4 * width)
    return {"lm_head_w": normal(width**-0.5, padded, width).float(),
            "scalars": (torch.cat([torch.full((layers,), 0.5), lambdas]) + normal(0.2, 5 * layers)).float(),
            **{name: matrix.bfloat16() for name, matrix in matrices.items()}}


def hyperparameters(shape: Shape) -> dict:
    return {"architectures": ["GPT2Core"], "model_type": "daisy_gpt2", "model_class": "models.gpt2.gpt_core.GPT2Core",
            "vocab_size": shape.vocabulary, "num_layers": shape.layers, "num_heads": shape.heads,
            "model_dim": shape.width, "head_dim": shape.head_dim, "window_block_size": 8,
            "train_attention_window_len": 16, "eos_token_id": 0}


def make(shape: Shape) -> None:
    folder = FORWARD / shape.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    save_tensors(random_tensors(shape), folder / "model.safetensors")
    config, out = hyperparameters(shape), Variants()
    out.add_config("", config | {"max_seq_len": shape.context})
    # Files before 2025-10-15 have two lengths. The larger one is the context length.
    older = {"training_sequence_length": shape.context // 2, "val_seq_len": shape.context}
    out.add_config("", config | older, "old")
    generator = np.random.default_rng([SEED, shape.layers, 1])
    lengths = (10, 1, shape.context) if shape.layers == 4 else (10,)
    texts = [generator.integers(0, shape.vocabulary, length).astype(np.int32) for length in lengths]
    tensors = in_float64(folder / "model.safetensors")
    rows = [{name: value.astype(np.float32) for name, value in forward(tensors, shape, text).items()} for text in texts]
    out.add_tensors("", expected_tensors(Inputs([[text] for text in texts], None), rows))
    out.write(folder)


def make_all() -> None:
    for shape in CASES:
        make(shape)
        print(f"forward/{shape.name}")


def convert(checkpoint: Path, folder: Path) -> None:
    content = torch.load(checkpoint, map_location="cpu", weights_only=True)
    folder.mkdir(parents=True, exist_ok=True)
    save_tensors({name: tensor.contiguous() for name, tensor in content["model"].items()}, folder / "model.safetensors")
    write_config(folder / "config.json", {"architectures": ["GPT2Core"], "model_type": "daisy_gpt2"} | content["hparams"])


def compare(folder: Path, expected_path: Path) -> None:
    config, expected = json.loads((folder / "config.json").read_text()), read_arrays(expected_path)
    shape = Shape("", config["num_layers"], config["num_heads"], config["head_dim"], config["vocab_size"])
    for name, value in forward(in_float64(folder / "model.safetensors"), shape, expected["ids"]).items():
        print(f"{name}: largest difference {np.abs(value - expected[name]).max():.2g} of {np.abs(expected[name]).max():.3g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--convert", metavar=("CHECKPOINT", "FOLDER"), nargs=2, type=Path)
    parser.add_argument("--compare", metavar=("FOLDER", "EXPECTED"), nargs=2, type=Path)
    arguments = parser.parse_args()
    if arguments.convert:
        convert(*arguments.convert)
    elif arguments.compare:
        compare(*arguments.compare)
    else:
        make_all()


if __name__ == "__main__":
    main()
