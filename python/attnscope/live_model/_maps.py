"""Attention maps of a live model, which a run of `attention` keeps for views and for `maps=True`."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from attnscope._errors import UnsupportedError
from attnscope._head_view import Maps
from attnscope._maps_source import DROPPED
from attnscope._saved_maps import SavedMaps

if TYPE_CHECKING:
    from attnscope._table import Table

saving: ContextVar[SavedMaps | None] = ContextVar("saving", default=None)
"""What keeps the maps of the run that is being started."""

BY_LIBRARY = ("edits", "heatmap")
"""Keywords of runs whose maps the library reads."""

Run = Callable[[str, Mapping[str, Any]], "Table"]


def live_model_in(given: Mapping[str, Any]) -> Any:
    """Return the live model of a call. None: the call is for other models."""
    models = given.get("self", given.get("models"))
    if isinstance(models, (list, tuple)) and len(models) == 1:
        models = models[0]
    return models if hasattr(models, "_live_items") else None


def attention_of_live(model: Any, given: Mapping[str, Any], run: Run) -> "Table":
    """Run `attention` and keep the maps of the first sequence, if they are small or wanted."""
    wanted = given.get("maps")
    if any(given.get(key) for key in BY_LIBRARY) or not isinstance(wanted, (bool, type(None))):
        return run("attention", given)
    if wanted and given.get("maps_of") is not None:
        raise UnsupportedError("maps_of of attention: not supported with maps=True; pass a file for maps")

    def once(keywords: Mapping[str, Any]) -> tuple["Table", SavedMaps]:
        saved = SavedMaps(bool(wanted))
        token = saving.set(saved)
        try:
            return run("attention", {**keywords, "maps": None}), saved
        finally:
            saving.reset(token)

    table, saved = once(given)

    def kept() -> SavedMaps:
        nonlocal saved
        if saved.is_empty:  # the rows came from a store
            rest = {key: one for key, one in given.items() if key not in DROPPED}
            _, saved = once({**rest, "progress": False})
        return saved

    def maps(_layer: int | None) -> Maps:
        found = kept().view(model.name)
        ids = [one for one, _ in found.tokens]
        texts = model._core.token_texts(ids)
        found.tokens = list(zip(ids, texts or [None] * len(ids), strict=True))
        return found

    if wanted:
        table.arrays.update(kept().arrays())
        table.tokens = model._core.token_texts(table.arrays["tokens"].ravel().tolist())
    table._maps_of = maps
    return table
