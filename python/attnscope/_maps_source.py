"""The attention maps behind a table of `attention`, for its views."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attnscope._errors import UsageError
from attnscope._head_view import MOST_MAP_BYTES, Maps, maps_of_arrays

if TYPE_CHECKING:
    from attnscope._table import Table

DROPPED = ("store", "executor", "maps", "maps_of", "activations")
"""Keywords of the first run that a run for its maps does not need."""


def maps_source(
    table: "Table", given: Mapping[str, Any], model: Any
) -> Callable[[int | None], Maps] | None:
    """Return a function that returns the maps: those that the call kept, or of another run.

    `model`: the open model of a call that kept arrays; None: the call kept none.
    """
    if given.get("heatmap") is not None or given.get("induction"):
        return None
    names = [str(one["name"]) for one in table.models]
    kept = table.arrays if "attentions" in table.arrays else None
    length = int(table.parameters.get("length") or 0)
    heads = max((row["head"] or 0 for row in table), default=0) + 1
    layers = len({row["layer"] for row in table})
    is_large = 4 * layers * heads * length**2 > MOST_MAP_BYTES

    def maps(layer: int | None) -> Maps:
        if len(names) != 1:
            raise UsageError(
                f"a view shows one model, but the table has {len(names)}: run attention for one of them"
            )
        if kept is not None and model is not None:
            return maps_of_arrays(names[0], kept, model._core.token_texts)
        # Not at the top, because that module needs this one.
        from attnscope._run import run

        again = {key: value for key, value in given.items() if key not in DROPPED}
        if is_large and layer is not None:
            again["layers"] = layer
        return run("attention", {**again, "maps": True, "progress": False})._maps(layer)

    return maps
