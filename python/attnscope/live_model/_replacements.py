"""What replaces the output of a component: `Replacements` in attnscope/interventions/ablation.cpp."""

from typing import Any, NamedTuple

from attnscope.live_model._hooks import Hooks
from attnscope.live_model._pass import Batch, Record
from attnscope.live_model._places import LayerPlaces


class Part(NamedTuple):
    """A component of a layer: head, attention, mixer or mlp."""

    kind: str
    head: int | None = None


def parts_of(places: LayerPlaces, kinds: list[str]) -> list[Part]:
    """Return the requested components of a layer, in the order of `parts_of_layer` in C++."""
    wanted = set(kinds)
    if "all" in wanted:
        wanted |= {"attention", "mixer", "mlp", "heads"}
    if "layers" in wanted:
        wanted |= {"attention", "mixer", "mlp"}
    out = []
    if "attention" in wanted and places.heads is not None:
        out.append(Part("attention"))
    if "mixer" in wanted and places.mixer is not None:
        out.append(Part("mixer"))
    if "mlp" in wanted and places.mlp:
        out.append(Part("mlp"))
    if "heads" in wanted and places.heads is not None:
        out += [Part("head", head) for head in range(places.heads_count)]
    return out


def _outputs(part: Part, record: Record, layer: int) -> tuple[Any, ...]:
    if part.kind == "mlp":
        return record.mlp[layer]
    return ((record.mixer if part.kind == "mixer" else record.heads)[layer],)


def columns_of(places: LayerPlaces, part: Part) -> slice:
    if part.head is None:
        return slice(None)
    return slice(part.head * places.head_size, (part.head + 1) * places.head_size)


class Replacements:
    """Replacements of a layer's components on some texts, in batches."""

    def __init__(self, records: list[Record], layer: int, how: str, length: int) -> None:
        self._records, self._layer, self._how, self._length = records, layer, how, length
        self._known: dict[str, tuple[Any, ...]] = {}

    def _all(self, part: Part) -> tuple[Any, ...]:
        import torch

        outputs = [_outputs(part, record, self._layer) for record in self._records]
        return tuple(torch.cat(group) for group in zip(*outputs, strict=True))

    def _values(self, part: Part) -> tuple[Any, ...]:
        """Return the mean outputs (columns,), or the outputs on the next text (rows, columns)."""
        key = "heads" if part.kind in ("head", "attention") else part.kind
        if key not in self._known:
            found = self._all(part)
            if self._how == "mean":
                self._known[key] = tuple(one.float().mean(0).to(one.dtype) for one in found)
            else:
                self._known[key] = tuple(one.roll(-self._length, 0) for one in found)
        return self._known[key]

    def of(self, part: Part, batch: Batch, at: int) -> Any:
        """Return what replaces output number `at` of a component on the batch."""
        if self._how == "zero":
            return 0
        values = self._values(part)[at]
        if values.ndim == 1:
            return values
        return values[batch.first_row : batch.first_row + batch.rows]


def replace(
    hooks: Hooks, places: LayerPlaces, parts: list[Part], batch: Batch, values: Any
) -> None:
    """Install hooks that replace one component in each copy of a batch.

    `values(part, at)`: what replaces output number `at` of the component in all its columns.
    """

    def edit(wanted: tuple[str, ...], at: int) -> Any:
        def edited(given: Any) -> Any:
            new = given.contiguous().clone()
            rows = new.view(len(parts), batch.count, -1, new.shape[-1])[:, :, : batch.length]
            for copy, part in enumerate(parts):
                if part.kind not in wanted:
                    continue
                columns = columns_of(places, part)
                value = values(part, at)
                if hasattr(value, "ndim"):
                    value = value[..., columns]
                    value = value if value.ndim == 1 else value.view(batch.count, batch.length, -1)
                rows[copy, ..., columns] = value
            return new

        return edited

    kinds = {part.kind for part in parts}
    if places.heads is not None and kinds & {"head", "attention"}:
        hooks.at(places.heads, edit(("head", "attention"), 0))
    if places.mixer is not None and "mixer" in kinds:
        hooks.at(places.mixer, edit(("mixer",), 0))
    if "mlp" in kinds:
        for at, place in enumerate(places.mlp):
            hooks.at(place, edit(("mlp",), at))
