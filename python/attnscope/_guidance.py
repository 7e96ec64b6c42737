"""Errors for keywords and attributes that do not exist: they name what to use instead."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attnscope._errors import UsageAttributeError, UsageKeyError, UsageTypeError

T = TypeVar("T")

KEYWORDS: dict[str, tuple[str, ...]] = {
    "layer": ("layers",),
    "layers": ("layer",),
    "heads": ("head",),
    "matrices": ("matrix",),
    "input_ids": ("inputs", "tokens"),
    "ids": ("tokens",),
    "prompt": ("text", "prompts"),
    "sentence_b": ("text_pair",),
    "text_b": ("text_pair",),
    "include_layers": ("layers", "layer"),
    "k": ("top",),
    "top_k": ("top",),
    "topk": ("top",),
    "max_new_tokens": ("generate",),
    "output_attentions": ("maps",),
    "output_hidden_states": ("save",),
    "n_jobs": ("threads",),
    "num_workers": ("threads",),
    "every_n_steps": ("every",),
    "steps": ("every",),
}
"""Keywords of other libraries, and ours for the same."""

OF_RESULTS = ("layer", "layers", "head", "heads")
"""Keywords that select rows. Commands without them return all rows."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name with the most similar spelling. None: there is none."""
    spelled = {one.lower().replace("_", ""): one for one in known}
    found = difflib.get_close_matches(name.lower().replace("_", "").replace(" ", ""), spelled, 1, 0.7)
    return spelled[found[0]] if found else None


def _advice(keyword: str, known: list[str]) -> str:
    """Return what to use instead of an unknown keyword."""
    ours = [one for one in KEYWORDS.get(keyword, ()) if one in known]
    if not ours and keyword in OF_RESULTS and ("text" in known or "matrix" in known):
        if "head" in keyword and "per_head" in known:
            return ": pass per_head=True, then use table.filter(head=...)"
        return f": use table.filter({keyword.removesuffix('s')}=...) on the result"
    better = ours[0] if ours else nearest(keyword, known)
    return f": did you mean '{better}'?" if better else f"; keywords: {', '.join(known) or 'none'}"


def _name_of(function: Callable[..., Any]) -> str:
    owner, _, name = function.__qualname__.rpartition(".")
    return owner if name == "__init__" else name


def _explained(function: Callable[..., Any], error: TypeError, given: Mapping[str, Any]) -> str:
    """Return the message for a call that does not fit the function's signature."""
    name = _name_of(function)
    parameters = inspect.signature(function).parameters.values()
    known = [one.name for one in parameters if one.name != "self" and one.kind is not one.VAR_KEYWORD]
    unknown = next((keyword for keyword in given if keyword not in known), None)
    if unknown is not None:
        return f"{name}: unknown keyword '{unknown}'{_advice(unknown, known)}"
    problem = str(error).partition(") ")[2] or str(error)
    named = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    if "positional argument" in problem and "missing" not in problem and named:
        return f"{name}: {problem}; pass others by keyword: {', '.join(named)}"
    return f"{name}: {problem}"


def _guided(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            # Only a call that does not fit the signature fails without entering the function.
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            raise UsageTypeError(_explained(function, error, kwargs)) from None

    return call


def guided(target: T) -> T:
    """Raise UsageTypeError for unknown keywords, with the nearest one.

    `target`: a function, or a class, whose public methods are meant.
    """
    if not inspect.isclass(target):
        return cast("T", _guided(cast("Callable[..., Any]", target)))
    for name, one in list(vars(target).items()):
        if inspect.isfunction(one) and (not name.startswith("_") or name == "__init__"):
            setattr(target, name, _guided(one))
    return target


class Named(dict[str, Any]):
    """A dict of named results, whose error for an unknown name lists the names."""

    def __missing__(self, name: object) -> Any:
        raise UsageKeyError(f"{name}{_meant(name, self)}; names: {', '.join(self)}")


def _meant(name: object, known: Iterable[str]) -> str:
    near = nearest(name, known) if isinstance(name, str) else None
    return "" if near is None else f" (did you mean '{near}'?)"


def no_attribute(
    owner: str, name: str, known: Iterable[str], hints: Mapping[str, str]
) -> AttributeError:
    """Return the error for an attribute that an object does not have."""
    if name.startswith("_"):
        return AttributeError(f"{owner} has no attribute '{name}'")
    if name in hints:
        return UsageAttributeError(f"{owner} has no '{name}': use {hints[name]}")
    return UsageAttributeError(f"{owner} has no '{name}'{_meant(name, known)}")


class Hinted:
    """An object whose error for an unknown attribute names what to use instead."""

    _hints: Mapping[str, str] = {}

    if not TYPE_CHECKING:  # type checkers report unknown attributes themselves

        def __getattr__(self, name: str) -> Any:
            public = [one for one in dir(type(self)) if not one.startswith("_")]
            raise no_attribute(type(self).__name__, name, public, self._hints)
