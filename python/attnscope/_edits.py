"""Edits of activations while a model runs."""

import json
import operator
import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from attnscope._errors import UsageError, UsageTypeError
from attnscope._safetensors import write_arrays
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

    def _record(self, save: Callable[[dict[str, NDArray[Any]]], str]) -> dict[str, Any]:
        """Return the edit in the format of `--edits`. `save`: writes arrays to a file and returns its path."""
        place = {
            "name": self.name,
            "layer": self.layer,
            "head": self.head,
            "positions": self.positions,
            "from_positions": self.from_positions,
        }
        record = {key: value for key, value in place.items() if value is not None}
        if self.operation != "from_run":
            return record | {self.operation: self.value}
        return record | {"from_run": {"file": save(self._arrays_of_run(self.value))}}

    def _arrays_of_run(self, run: Any) -> dict[str, NDArray[Any]]:
        """Return the activation of another run, of the layers that are edited."""
        values = getattr(run, "arrays", {}).get(self.name)
        if values is None:
            raise UsageError(f"Edit: from_run: expected a result of run() with the activation {self.name!r}")
        if isinstance(values, list):
            raise UsageError("Edit: from_run: expected a run of one text")
        if "positions" in run.arrays or f"{self.name}.heads" in run.arrays:
            raise UsageError("Edit: from_run: expected a run that kept all positions and heads")
        if self.from_positions is not None and self.positions is None:
            raise UsageError("Edit: from_positions: requires positions, one for each")
        values = np.asarray(values, dtype=np.float32)
        if self.name == "final_norm":
            return {self.name: values}
        layers = [int(layer) for layer in run.arrays.get(f"{self.name}.layers", range(len(values)))]
        wanted = layers if self.layer is None else ([self.layer] if isinstance(self.layer, int) else self.layer)
        for layer in wanted:
            if layer not in layers:
                raise UsageError(f"Edit: from_run: the run has no {self.name!r} of layer {layer}")
        places = [layers.index(layer) for layer in wanted]
        return {f"{self.name}.layers": np.asarray(wanted, dtype=np.int64), self.name: values[places]}


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


def write_edits(edits: Edit | Sequence[Edit], file: pathlib.Path) -> None:
    """Write a file in the format of `--edits`, and next to it the arrays of other runs."""
    given = [edits] if isinstance(edits, Edit) else list(edits)

    def save(arrays: dict[str, NDArray[Any]]) -> str:
        path = file.with_name(f"run-{len(list(file.parent.glob('run-*')))}.safetensors")
        write_arrays(arrays, path)
        return str(path)

    for edit in given:
        if not isinstance(edit, Edit):
            raise UsageTypeError(f"edits: expected Edit objects, not {type(edit).__name__}")
    file.write_text(json.dumps([edit._record(save) for edit in given]))
