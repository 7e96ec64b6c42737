"""What a case of golden_forward.py is."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

ABSENT = object()  # a config key to leave out


@dataclass(frozen=True)
class Variant:
    """One way to read a case's weights. `lengths`: of its inputs; a tuple among them is a padded batch."""
    name: str  # "" for the main one
    config: dict = field(default_factory=dict)  # on top of the main config; ABSENT removes a key
    lengths: tuple = (12,)
    old: Callable[[dict], dict] | None = None  # the older spelling of the config


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


def changed(config: dict, changes: dict) -> dict:
    return {key: value for key, value in (config | changes).items() if value is not ABSENT}
