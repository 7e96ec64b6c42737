"""Weights of golden_forward.py's models: random values for which every part of the forward pass matters."""

import zlib

import numpy as np
import torch
from golden_forward_case import Case
from transformers.pytorch_utils import Conv1D

SEED = 17
QUERY_OR_KEY = ("query.", "key.", "q_lin", "k_lin", "q_proj", "k_proj", "c_attn", "query_key_value", "qkv_proj", "Wqkv",
                "attn.q.", "attn.k.", "query_proj", "key_proj")
EMBEDDINGS = ("embed", "wte", "wpe")


def values_of(generator: np.random.Generator, name: str, parameter: torch.Tensor, fan_in: int) -> np.ndarray:
    """Return values of a parameter.

    Attention scores are large, embeddings small (so that a norm's epsilon matters), gains far from 1, and biases nonzero.
    """
    noise = generator.standard_normal(tuple(parameter.shape))
    if name.endswith("A_log"):  # initialized randomly
        return noise
    if parameter.dim() == 1:
        return 0.3 * noise if name.endswith("bias") else parameter.detach().numpy() + 0.3 * noise
    if any(part in name for part in EMBEDDINGS) and "mapping" not in name and "embeddings_project" not in name:
        return 0.03 * noise
    return (1.5 if any(part in name for part in QUERY_OR_KEY) else 1.0) * noise / np.sqrt(fan_in)


def randomise(model: torch.nn.Module, case: Case) -> None:
    """Replace every parameter. NumPy's random numbers are the same on every machine."""
    generator = np.random.default_rng([SEED, zlib.crc32(case.name.encode())])
    transposed = {id(module.weight) for module in model.modules() if isinstance(module, Conv1D)}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:  # a table of sinusoids (RoFormer)
            continue
        fan_in = parameter.shape[0 if id(parameter) in transposed else -1]
        values = values_of(generator, name, parameter, fan_in)
        for part, factor in case.gains.items():
            values = values * factor if part in name else values
        if case.snapped:
            values = case.snapped(name, values)
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(values))
    for name, buffer in model.named_buffers():
        if name.endswith("e_score_correction_bias"):  # as large as the router scores, so that it affects the selection
            buffer.copy_(torch.from_numpy(0.3 * generator.standard_normal(tuple(buffer.shape))))
        if name.endswith("layer_scalar"):
            buffer.copy_(torch.from_numpy(1 + 0.3 * generator.standard_normal(tuple(buffer.shape))))
