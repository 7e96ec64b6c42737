"""Edits of activations while a model runs."""

import json
import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from attnscope._errors import UsageError, UsageTypeError
from attnscope._table import Table

Indices = SupportsIndex | Iterable[SupportsIndex]

_OPERATIONS = ("set", "add", "scale", "project_out", "from_run")


class Edit:
    """A change of one activation during a run: exactly one of set, add, scale, project_out, from_run.

    - name: of the activation: "resid_post", "z", "pattern", ... (docs/metrics.md lists them)
    - layer: a layer or a list of layers (default: all layers that have the activation)
    - head: a head or a list of heads (default: all); for "k" and "v", key/value heads
    - positions: "last" (the last token of the prompt), "each-new" (every generated token), a
      position, a list, or a text such as "10-"; for attention maps, of queries. Default: all
    - set, add, scale: a number or an array that replaces the activation, is added to it, or
      multiplies it. Its axes are positions, heads and columns, and broadcast like NumPy's. An edit
      of one head has no axis for heads
    - project_out: a vector (columns,): its direction is removed from the activation
    - from_run: a result of `model.run()` with this activation, whose values replace it. It needs
      the same number of tokens, or `from_positions`, one for each of `positions`
    """

    def __init__(
        self,
        name: str,
        *,
        layer: Indices | None = None,
        head: Indices | None = None,
        positions: str | Indices | None = None,
        set: Any = None,
        add: Any = None,
        scale: Any = None,
        project_out: Any = None,
        from_run: Table | None = None,
        from_positions: Indices | None = None,
    ) -> None:
        given = {"set": set, "add": add, "scale": scale, "project_out": project_out, "from_run": from_run}
        chosen = [operation for operation, value in given.items() if value is not None]
        if len(chosen) != 1:
            raise UsageError(f"Edit: expected exactly one of {', '.join(_OPERATIONS)}, not {' and '.join(chosen) or 'none'}")
        if not isinstance(name, str):
            raise UsageTypeError(f"Edit: name: expected a str, not {type(name).__name__}")
        self.name = name
        self.operation = chosen[0]
        value = given[chosen[0]]
        self.value = value if self.operation == "from_run" else _numbers(self.operation, value)
        self.layer, self.head = _indices("layer", layer), _indices("head", head)
        self.positions = positions if positions is None or isinstance(positions, str) else _indices("positions", positions)
        self.from_positions = _indices("from_positions", from_positions)
        if self.from_positions is not None and self.operation != "from_run":
            raise UsageError("Edit: from_positions: requires from_run")

    def __repr__(self) -> str:
        return f"Edit({self.name!r}, layer={self.layer}, head={self.head}, positions={self.positions!r}, {self.operation}=...)"

    def records(self) -> list[dict[str, Any]]:
        """Return the edit in the format of `--edits`: one record, or one per layer of a run."""
        place = {"name": self.name, "layer": self.layer, "head": self.head, "positions": self.positions}
        record = {key: value for key, value in place.items() if value is not None}
        if self.operation != "from_run":
            return [record | {self.operation: self.value}]
        return [record | part for part in self._of_run(self.value)]

    def _of_run(self, run: Any) -> list[dict[str, Any]]:
        """Return the layers of another run, each with its values as `set`."""
        values = getattr(run, "arrays", {}).get(self.name)
        if values is None:
            raise UsageError(f"Edit: from_run: expected a result of run() with the activation {self.name!r}")
        if isinstance(values, list):
            raise UsageError("Edit: from_run: expected a run of one text")
        if "positions" in run.arrays or f"{self.name}.heads" in run.arrays:
            raise UsageError("Edit: from_run: expected a run that kept all positions and heads")
        axis = -2 if self.name.endswith(("attn_scores", "pattern")) else 0
        if self.name == "final_norm":
            return [self._values({}, values, axis)]
        layers = list(run.arrays.get(f"{self.name}.layers", range(len(values))))
        wanted = layers if self.layer is None else ([self.layer] if isinstance(self.layer, int) else self.layer)
        for layer in wanted:
            if layer not in layers:
                raise UsageError(f"Edit: from_run: the run has no {self.name!r} of layer {layer}")
        return [self._values({"layer": int(layer)}, values[layers.index(layer)], axis) for layer in wanted]

    def _values(self, place: dict[str, Any], values: NDArray[Any], axis: int) -> dict[str, Any]:
        tokens = values.shape[axis]
        if self.head is not None:
            values = np.take(values, self.head, axis=0 if axis == -2 else 1)
        if axis == 0 and self.positions is not None:
            chosen = self.from_positions if self.from_positions is not None else self.positions
            if isinstance(chosen, str):
                chosen = _positions(chosen, tokens)
            values = np.take(values, np.atleast_1d(chosen), axis=0)
        elif axis == 0 and self.from_positions is not None:
            raise UsageError("Edit: from_positions: requires positions, one for each")
        tokens_needed = {"tokens": tokens} if self.from_positions is None else {}
        return place | tokens_needed | {"set": _numbers("from_run", values)}


def _positions(text: str, tokens: int) -> list[int]:
    if text == "last":
        return [tokens - 1]
    raise UsageError(f"Edit: from_run: positions {text!r} are not supported: pass 'last', a position or a list")


def _indices(name: str, value: Any) -> int | list[int] | None:
    if value is None:
        return None
    try:
        return operator.index(value)
    except TypeError:
        pass
    try:
        return [operator.index(one) for one in value]
    except TypeError:
        raise UsageTypeError(f"Edit: {name}: expected an int or a list of ints, not {value!r}") from None


def _numbers(name: str, value: Any) -> Any:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    try:
        array = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        raise UsageTypeError(f"Edit: {name}: expected a number or an array, not {type(value).__name__}") from None
    return array.tolist()


def written(edits: Edit | Sequence[Edit]) -> str:
    """Return the edits in the format of `--edits`."""
    given = [edits] if isinstance(edits, Edit) else list(edits)
    for edit in given:
        if not isinstance(edit, Edit):
            raise UsageTypeError(f"edits: expected Edit objects, not {type(edit).__name__}")
    return json.dumps([record for edit in given for record in edit.records()])
