"""Forward hooks that are removed whatever happens."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from attnscope._errors import UnsupportedError

Edit = Callable[[Any], Any]
"""Takes a recorded tensor, and returns its replacement. None: the tensor stays."""


class Interrupted(Exception):
    """Raised inside a forward pass to end it, because the run is being stopped."""


class Enough(Exception):
    """Raised inside a forward pass to end it, because its results are complete."""


class Place(NamedTuple):
    """Where the output of a component passes: the input or the output of a module."""

    module: Any
    name: str
    is_input: bool
    call: int = 0  # of the module's calls in one pass: layers may share a module


def _first_tensor(values: Any) -> Any:
    return next((key for key, value in values if hasattr(value, "ndim")), None)


class Hooks:
    """Hooks on modules. Leaving the context removes all of them."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> "Hooks":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def before(
        self, module: Any, call: Callable[[Any, Any], Any], number: int | None = None
    ) -> None:
        """Call with the arguments and keywords of each call of the module, or of one call."""
        is_wanted = _counter(number)
        handle = module.register_forward_pre_hook(
            lambda _, args, kwargs: call(args, kwargs) if is_wanted() else None, with_kwargs=True
        )
        self._stack.callback(handle.remove)

    def after(self, module: Any, call: Callable[[Any], Any], number: int | None = None) -> None:
        """Call with the output of each call of the module, or of one call."""
        is_wanted = _counter(number)
        handle = module.register_forward_hook(
            lambda _, args, output: call(output) if is_wanted() else None
        )
        self._stack.callback(handle.remove)

    def at(self, place: Place, edit: Edit) -> None:
        """Pass the tensor of a place to `edit`, once in a forward pass."""

        def of_input(args: Any, kwargs: Any) -> Any:
            at = _first_tensor(enumerate(args))
            if at is not None:
                new = edit(args[at])
                return None if new is None else ((*args[:at], new, *args[at + 1 :]), kwargs)
            key = _first_tensor(kwargs.items())
            if key is None:
                raise unreachable(place.name, "it gets no tensor")
            new = edit(kwargs[key])
            return None if new is None else (args, {**kwargs, key: new})

        def of_output(output: Any) -> Any:
            new = edit(hidden_of(output, place.name))
            return None if new is None else with_hidden(output, new)

        if place.is_input:
            self.before(place.module, of_input, place.call)
        else:
            self.after(place.module, of_output, place.call)


def _counter(number: int | None) -> Callable[[], bool]:
    """Return a function that is true at its call with this number. None: always."""
    calls = itertools.count()
    return lambda: number is None or next(calls) == number


def hidden_of(output: Any, name: str) -> Any:
    """Return the hidden states in a module's output: the output, or its first entry."""
    if hasattr(output, "ndim"):
        return output
    if isinstance(output, Mapping):
        output = tuple(output.values())
    if isinstance(output, (tuple, list)) and output and hasattr(output[0], "ndim"):
        return output[0]
    raise unreachable(name, f"it returns {type(output).__name__}")


def with_hidden(output: Any, new: Any) -> Any:
    """Replace the hidden states in a module's output."""
    if hasattr(output, "ndim"):
        return new
    if isinstance(output, Mapping):
        kind: Any = type(output)
        return kind({**output, next(iter(output)): new})
    return type(output)((new, *output[1:]))


def unreachable(name: str, problem: str) -> Exception:
    return UnsupportedError(f"module '{name}': its output cannot be replaced: {problem}")


def _set_training(parts: list[Any]) -> None:
    for part in parts:
        part.training = True


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Turn off dropout. Restore the mode of each submodule afterwards."""
    trained = [part for part in module.modules() if part.training]
    try:
        if trained:
            module.eval()
        yield
    finally:
        _set_training(trained)
