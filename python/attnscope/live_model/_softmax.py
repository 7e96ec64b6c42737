"""Attention scores and weights of a pass, which hooks may change: the softmax of eager attention."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from attnscope._errors import UnsupportedError
from attnscope.live_model._rows import Part

NAMES = ("attn_scores", "pattern")
"""Activations that are the input and the output of a softmax."""

LOWEST = -1e4
"""Masked scores are below it. Those of float16 have the mask added, whose lowest value is -65504."""

Show = Callable[[str, int, Any], Any]
"""Takes a name, a layer and maps (N, H, T, S). Returns changed maps, or None."""


class Softmax:
    """Shows the scores and weights of layers while they run. `layer`: the running one.

    `wanted`: names and layers. `part`: the texts of the pass.
    """

    def __init__(self, wanted: Collection[tuple[str, int]], part: Part, show: Show) -> None:
        self._wanted, self._left = set(wanted), set(wanted)
        queries = max(map(len, part.sequences))
        past = len(part.run.past[0]) if part.run.caches else 0
        self._shape = (len(part.sequences), queries, past + queries)
        self._show = show
        self.layer = -1

    def _shown(self, name: str, maps: Any) -> Any:
        """Show maps, without columns of sinks. Return changed maps, or the same."""
        self._left.discard((name, self.layer))
        if (name, self.layer) not in self._wanted:
            return maps
        sequences, queries, keys = self._shape
        if maps.shape[0] != sequences or maps.shape[2] != queries or maps.shape[3] < keys:
            raise _absent(name, self.layer, f"its softmax has the shape {tuple(maps.shape)}")
        if name == "attn_scores" and maps.shape[3] > keys:  # transformers subtracts their maximum
            raise _absent(name, self.layer, "scores next to those of sinks are shifted before the softmax")
        own = maps[..., :keys]
        is_masked = own <= LOWEST if name == "attn_scores" else own < 0
        changed = self._show(name, self.layer, own.masked_fill(is_masked, float("-inf")))
        if changed is None:
            return maps
        new = maps.clone()
        new[..., :keys] = own.where(is_masked & changed.isneginf(), changed)
        return new

    def _called(self, function: Any, args: Any, kwargs: Any) -> Any:
        scores = args[0] if args else kwargs["input"]
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        is_of_layer = any(layer == self.layer for _, layer in self._left)
        if not is_of_layer or scores.ndim != 4 or dim not in (-1, 3):
            return function(*args, **kwargs)
        if args:
            args = (self._shown("attn_scores", scores), *args[1:])
        else:
            kwargs = {**kwargs, "input": self._shown("attn_scores", scores)}
        return self._shown("pattern", function(*args, **kwargs))

    @contextmanager
    def watching(self) -> Iterator[None]:
        import torch

        softmax = self
        functions = (torch.nn.functional.softmax, torch.softmax, torch.Tensor.softmax)

        class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
            def __torch_function__(
                self, function: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                kwargs = kwargs or {}
                if function in functions:
                    return softmax._called(function, args, kwargs)
                return function(*args, **kwargs)

        with Mode():
            yield

    def check(self) -> None:
        """Raise if a layer computed no softmax."""
        for name, layer in sorted(self._left):
            raise _absent(name, layer, "the layer computes no softmax over keys")


def _absent(name: str, layer: int, problem: str) -> Exception:
    return UnsupportedError(
        f"'{name}' of layer {layer}: not supported on this live model: {problem}"
    )
