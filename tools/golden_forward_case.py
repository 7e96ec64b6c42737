"""Definition of the cases of golden_forward.py."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import torch
from golden_forward_spelling import old_spelling

ABSENT = object()  # omits a config key


@dataclass(frozen=True)
class Variant:
    """One config for a case's weights. `lengths`: of its inputs; a tuple is a padded batch."""
    name: str  # "" for the main variant
    config: dict = field(default_factory=dict)  # overrides the main config; ABSENT removes a key
    lengths: tuple = (8,)
    old: Callable[[dict], dict] | None = None  # converts the config to the older spelling
    old_loads: bool = True  # whether this transformers version can still read it


@dataclass(frozen=True)
class Case:
    name: str
    model: str  # class name in transformers
    config: dict
    variants: tuple[Variant, ...]
    dtype: torch.dtype = torch.float32
    gains: dict[str, float] = field(default_factory=dict)  # Part of a parameter's name -> factor of its values.
    rewrite: Callable[[dict], dict] | None = None  # Converts the tensors, after the expected values are computed.
    rewrite_config: Callable[[dict], dict] | None = None  # Converts every config.
    snapped: Callable[[str, np.ndarray], np.ndarray] | None = None  # Rounds a parameter's values to those that a format can represent.
    routes: bool = False  # Whether its layers have experts.
    loads_back: bool = True  # Whether transformers can still read the rewritten files with `model`.
    corrected: Callable = nullcontext  # Context that fixes errors of transformers' eager attention.
    altered: Callable = nullcontext  # Context that makes another model of an architecture: both ways, ALiBi instead of RoPE.


def changed(config: dict, changes: dict) -> dict:
    return {key: value for key, value in (config | changes).items() if value is not ABSENT}


# ---- Shorthands ---------------------------------------------------------------------------------------------------

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
VOCABULARY, WIDTH, HEADS, MLP_WIDTH, CONTEXT = 48, 24, 3, 40, 16
SMALL = {"vocab_size": 32, "hidden_size": 16, "num_attention_heads": 2}  # for cases with their own weights

# One token, and a text as long as the context.
MAIN = Variant("", lengths=(10, 1, CONTEXT), old=old_spelling)
MAIN_ENCODER = Variant("", lengths=(10, 1, CONTEXT, (5, 9)), old=old_spelling)
ONLY = Variant("")  # for a case with a single variant


def variant(name: str, **config) -> Variant:
    return Variant(name, config)


def both(name: str, **config) -> Variant:
    """A variant with a different spelling in older files."""
    return Variant(name, config, old=old_spelling)


BOTH_WAYS = variant("both-ways", is_causal=False)  # as in embedding models made from decoders


def activation(key: str, *names: str) -> tuple[Variant, ...]:
    return tuple(Variant(name, {key: name}, lengths=(5,)) for name in names)
