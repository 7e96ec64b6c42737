"""What a case of golden_forward.py is."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import torch
from golden_forward_spelling import old_spelling

ABSENT = object()  # a config key to leave out


@dataclass(frozen=True)
class Variant:
    """One way to read a case's weights. `lengths`: of its inputs; a tuple among them is a padded batch."""
    name: str  # "" for the main one
    config: dict = field(default_factory=dict)  # on top of the main config; ABSENT removes a key
    lengths: tuple = (8,)
    old: Callable[[dict], dict] | None = None  # the older spelling of the config
    old_loads: bool = True  # whether this transformers can still read it


@dataclass(frozen=True)
class Case:
    name: str
    model: str  # class name in transformers
    config: dict
    variants: tuple[Variant, ...]
    dtype: torch.dtype = torch.float32
    gains: dict[str, float] = field(default_factory=dict)  # part of a parameter's name -> factor on its values
    rewrite: Callable[[dict], dict] | None = None  # of the tensors, after the expected values are known
    rewrite_config: Callable[[dict], dict] | None = None  # and of every config
    snapped: Callable[[str, np.ndarray], np.ndarray] | None = None  # a parameter's values, to those that a format has
    routes: bool = False  # whether its layers have experts
    loads_back: bool = True  # whether transformers can still read the rewritten files with `model`
    mended: Callable = nullcontext  # in which transformers' eager attention does what it should


def changed(config: dict, changes: dict) -> dict:
    return {key: value for key, value in (config | changes).items() if value is not ABSENT}


# ---- Short ways to say them ---------------------------------------------------------------------------------------

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
VOCABULARY, WIDTH, HEADS, MLP_WIDTH, CONTEXT = 48, 24, 3, 40, 16
SMALL = {"vocab_size": 32, "hidden_size": 16, "num_attention_heads": 2}  # for cases that need weights of their own

# One token, and a text as long as the context.
MAIN = Variant("", lengths=(10, 1, CONTEXT), old=old_spelling)
MAIN_ENCODER = Variant("", lengths=(10, 1, CONTEXT, (5, 9)), old=old_spelling)
ONLY = Variant("")  # of a case that has one variant


def variant(name: str, **config) -> Variant:
    return Variant(name, config)


def both(name: str, **config) -> Variant:
    """A variant that older files spell otherwise."""
    return Variant(name, config, old=old_spelling)


BOTH_WAYS = variant("both-ways", is_causal=False)  # as embedding models made of decoders have it


def activation(key: str, *names: str) -> tuple[Variant, ...]:
    return tuple(Variant(name, {key: name}, lengths=(5,)) for name in names)
