"""Attention weights that a PyTorch module computes, but does not return.

While the module runs, a torch function mode sees each call of PyTorch's attention functions. The
result of the call is unchanged.
"""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from attnscope._errors import error_of
from attnscope._stacks import looks_like_attention, place_of


class Weights(NamedTuple):
    """The attention weights of one call."""

    maps: Any  # (N, H, T, S)
    cross: bool
    sinks: bool  # the weights may sum to less than 1
    masks: Mapping[str, Any]  # additive or boolean masks (N, 1, T, S) of the call; True: attended to


Take = Callable[[str, Any, Weights], None]
"""Called with the name of the module that computed weights, the module and its weights."""


class _Call:
    """A running forward call of one module."""

    def __init__(self, name: str, part: Any = None) -> None:
        self.name = name
        self.part = part
        self.given = 0  # how often attention weights of this call were passed on
        self.softmax: list[Any] = []

    def of_softmax(self) -> Weights | None:
        """Return the result of the call's softmax over keys. None: there was none."""
        if not self.softmax:
            return None
        if len(self.softmax) > 1:
            raise _several(self.name)
        maps = self.softmax[0]
        return Weights(maps, maps.shape[2] != maps.shape[3], False, {})


class Interception:
    """Keeps the running forward calls of a module, and the weights that they compute."""

    def __init__(self, module: Any, take: Take) -> None:
        names = {name for name, part in module.named_modules() if looks_like_attention(name, part)}
        self._attention = names if names == {""} else names - {""}
        self._take = take
        self._calls: list[_Call] = []
        self.notes: list[str] = []

    def enter(self, name: str, part: Any) -> None:
        self._calls.append(_Call(name, part))

    def leave(self, name: str) -> _Call:
        """End the module's running call, and return it."""
        while self._calls:  # calls above it ended in an exception that the module caught
            call = self._calls.pop()
            if call.name == name:
                return call
        return _Call(name)

    def _owner(self) -> _Call | None:
        """Return the innermost running module that looks like attention."""
        for call in reversed(self._calls):
            if call.name in self._attention:
                return call
        return None

    def give(self, weights: Weights) -> None:
        """Pass on weights of the running call."""
        owner = self._owner()
        call = owner or self._calls[-1]
        call.given += 1
        if owner is not None and call.given > 1:
            raise _several(call.name)
        if weights.maps.shape[2] == 1 < weights.maps.shape[3] and place_of(call.name).number is None:
            note = f"{call.name or 'the module'} has one query, so its map was not measured"
            if note not in self.notes:
                self.notes.append(note)
            return
        self._take(call.name, call.part, weights)

    def sdpa(self, run: Any, arguments: Mapping[str, Any]) -> Any:
        """Compute the weights of scaled_dot_product_attention from its arguments."""
        torch = sys.modules["torch"]
        query, key = arguments["query"].float(), arguments["key"].float()
        mask, scale = arguments.get("attn_mask"), arguments.get("scale")
        if arguments.get("enable_gqa"):
            key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
        if arguments.get("is_causal"):
            later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
            scores.masked_fill_(later, float("-inf"))
        if mask is not None:
            is_bool = mask.dtype == torch.bool
            scores = scores.masked_fill(~mask, float("-inf")) if is_bool else scores + mask
        maps = torch.softmax(scores, -1)
        heads = maps.shape[-3] if maps.ndim > 3 else 1
        maps = maps.reshape(-1, heads, *maps.shape[-2:])
        masks = {"attn_mask": mask} if mask is not None else {}
        self.give(Weights(maps, maps.shape[2] != maps.shape[3], False, masks))
        return run()

    def multihead(self, run: Any, arguments: dict[str, Any]) -> Any:
        """Run nn.MultiheadAttention so that it returns the weights of each head."""
        wanted = arguments["need_weights"]
        averaged = arguments["average_attn_weights"]
        output, maps = run(need_weights=True, average_attn_weights=False)
        query, key, padding = arguments["query"], arguments["key"], arguments["key_padding_mask"]
        of_batch = maps if maps.ndim == 4 else maps[None]
        keys = int(key.shape[0])
        is_own = query.shape == key.shape and query.data_ptr() == key.data_ptr()
        masks = {}
        if padding is not None:
            torch = sys.modules["torch"]
            padding = padding if padding.ndim == 2 else padding[None]
            is_bool = padding.dtype == torch.bool
            let_through = ~padding if is_bool else padding > torch.finfo(padding.dtype).min / 2
            masks["key_padding_mask"] = let_through[:, None, None, :]
        # bias_k and zero attention add keys at the end that are no tokens.
        self.give(Weights(of_batch[..., :keys], not is_own, of_batch.shape[-1] > keys, masks))
        if not wanted:
            return output, None
        return output, maps.mean(dim=-3) if averaged else maps

    def softmax(self, run: Any, dim: Any) -> Any:
        """Keep the result of a softmax over keys until the attention module returns."""
        maps = run()
        owner = self._owner()
        if owner is not None and maps.ndim == 4 and dim in (-1, 3):
            owner.softmax.append(maps)
        return maps

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch PyTorch's functions. Without PyTorch, there is nothing to watch."""
        torch: Any = sys.modules.get("torch")
        if torch is None:
            yield
            return
        functional = torch.nn.functional
        of_sdpa = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        of_multihead = inspect.signature(functional.multi_head_attention_forward)
        interception = self

        class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
            def __torch_function__(
                self, function: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                kwargs = kwargs or {}
                if function is functional.scaled_dot_product_attention:
                    named = dict(zip(of_sdpa, args, strict=False)) | kwargs
                    return interception.sdpa(lambda: function(*args, **kwargs), named)
                if function is functional.multi_head_attention_forward:
                    bound = of_multihead.bind(*args, **kwargs)
                    bound.apply_defaults()
                    given = bound.arguments
                    return interception.multihead(lambda **new: function(**{**given, **new}), given)
                if function in (functional.softmax, torch.softmax, torch.Tensor.softmax):
                    dim = kwargs["dim"] if "dim" in kwargs else args[1] if len(args) > 1 else None
                    return interception.softmax(lambda: function(*args, **kwargs), dim)
                return function(*args, **kwargs)

        with Mode():
            yield


def _several(name: str) -> Exception:
    problem = f"{name or 'the module'} computes several attention maps in one call"
    hint = "return the maps from its forward call, after the output"
    return error_of("unsupported", f"{problem} ({hint})", {"problem": problem, "hint": hint})
