"""A minimal live module without PyTorch, with only the interface that `asc.attention` needs."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def softmax_maps(*shape: int, causal: bool = False, seed: int = 0) -> Array:
    """Return float32 weights (..., T, S) whose rows sum to 1."""
    scores = 2 * np.random.default_rng(seed).standard_normal(shape)
    if causal:
        scores = np.where(np.tril(np.ones(shape[-2:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True), dtype=np.float32)


class Handle:
    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks, self._hook = hooks, hook

    def remove(self) -> None:
        self._hooks.remove(self._hook)


class Module:
    """Calls forward hooks like PyTorch modules: with keyword arguments, and a returned value replaces the output."""

    def __init__(self, **parts: "Module | Sequence[Module]") -> None:
        self.parts = parts
        self.hooks: list[Callable[..., Any]] = []
        self.before: list[Callable[..., Any]] = []
        self.training = False

    def forward(self, **inputs: Any) -> Any:
        raise NotImplementedError

    def __call__(self, **inputs: Any) -> Any:
        for hook in list(self.before):
            hook(self, ())
        output = self.forward(**inputs)
        for hook in list(self.hooks):
            changed = hook(self, (), inputs, output)
            output = output if changed is None else changed
        return output

    def register_forward_hook(self, hook: Any, prepend: bool, with_kwargs: bool) -> Handle:
        assert prepend and with_kwargs
        self.hooks.insert(0, hook)
        return Handle(self.hooks, hook)

    def register_forward_pre_hook(self, hook: Any, prepend: bool) -> Handle:
        assert prepend
        self.before.append(hook)
        return Handle(self.before, hook)

    def named_modules(self, name: str = "") -> Iterator[tuple[str, "Module"]]:
        yield name, self
        before = f"{name}." if name else ""
        for own, part in self.parts.items():
            for index, one in enumerate(part) if isinstance(part, Sequence) else [("", part)]:
                yield from one.named_modules(f"{before}{own}" + (f".{index}" if index != "" else ""))

    def parameters(self) -> Iterator[Any]:
        return iter(())

    def named_parameters(self, recurse: bool = True) -> Iterator[tuple[str, Any]]:
        return iter(())

    def eval(self) -> None:
        for _, part in self.named_modules():
            part.training = False


class Attention(Module):
    """Returns the same maps at each call, for as many sequences and tokens as the input has."""

    def __init__(self, maps: Array) -> None:
        super().__init__()
        self.maps = maps
        self.calls = 0

    def forward(self, **inputs: Any) -> Any:
        self.calls += 1
        maps = self.maps[: len(inputs["tokens"])]
        maps = maps[:, :, : inputs["tokens"].shape[1]]
        return np.zeros((*maps.shape[::2], 4)), maps


class Layer(Module):
    """A module that contains an attention module and returns its maps."""

    def __init__(self, attention: Attention) -> None:
        super().__init__(attn=attention)
        self.attention = attention

    def forward(self, **inputs: Any) -> Any:
        return self.attention(**inputs)


class Model(Module):
    """A model. `lists`: the attention modules of each list of layers, by name."""

    def __init__(self, **lists: list[Attention]) -> None:
        self.layers = {name: [Layer(one) for one in parts] for name, parts in lists.items()}
        super().__init__(**self.layers)
        self.outputs: list[Any] = []

    def forward(self, **inputs: Any) -> Any:
        self.outputs = [layer(**inputs) for part in self.layers.values() for layer in part]
        return self.outputs[-1][:1]
