"""The input on which a model is measured during training: by default, its first training batch."""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from attnscope._arrays import is_array
from attnscope._modules import module_in
from attnscope._stacks import looks_like_attention


class Probe(NamedTuple):
    """A module and the keywords of its forward call."""

    module: Any
    inputs: dict[str, Any]


def _has_attention(module: Any) -> bool:
    return any(looks_like_attention(name, part) for name, part in module.named_modules())


def _shortened(value: Any, size: int, sequences: int, length: int) -> Any:
    """Return the first sequences of a tensor of a batch; of token ids and masks, the first tokens."""
    if not is_array(value):
        return value
    value = value.detach() if hasattr(value, "detach") else value
    if value.ndim and int(value.shape[0]) == size:
        value = value[:sequences]
    if value.ndim == 2 and "float" not in str(value.dtype):
        value = value[:, :length]
    return value.clone() if hasattr(value, "clone") else value.copy()


def _bound(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return all arguments by name, without optional labels, for which models compute a loss."""
    signature = inspect.signature(type(module).forward)
    named = dict(signature.bind(module, *args, **kwargs).arguments)
    del named[next(iter(signature.parameters))]
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
        if name in ("labels", "past_key_values") and parameter.default is not parameter.empty:
            named.pop(name, None)
    return named


class Capture:
    """Keeps a copy of the next input of a model, or of the part of it that contains attention."""

    def __init__(self, model: Any, sequences: int, length: int) -> None:
        self.probe: Probe | None = None
        self._sequences = sequences
        self._length = length
        self._handles = [
            part.register_forward_pre_hook(self._look, prepend=True, with_kwargs=True)
            for _, part in module_in(model).named_modules()
            if _has_attention(part)
        ]

    def _look(self, part: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if self.probe is not None:
            return
        named = _bound(part, args, kwargs)
        first = next((one for one in named.values() if is_array(one) and one.ndim), None)
        if first is None:  # a call without tensors: a part that it calls has them
            return
        size = int(first.shape[0])
        inputs = {
            name: _shortened(one, size, self._sequences, self._length)
            for name, one in named.items()
            if one is not None
        }
        self.probe = Probe(part, inputs)

    def stop(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
