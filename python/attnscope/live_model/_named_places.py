"""Where named activations pass in a module: hook points, and observers of a forward pass."""

from collections.abc import Callable, Mapping
from typing import Any

from attnscope._errors import UnsupportedError
from attnscope.live_model._hooks import Place
from attnscope.live_model._places import LayerPlaces, Places

Combine = Callable[[Callable[[Any], Any], Any], Any]
"""Takes a function that shows an activation, and the tensor at a place. Returns the new tensor, or
None."""

OUTPUT_OF = {"q": "query", "k": "key", "v": "value", "mlp_pre": "gate", "mlp_pre_linear": "up"}
"""Activations that are the output of one projection: its tensor among the facts of a layer."""

INPUT_OF = {"input_output": ["output"], "input_up": ["gate", "up"], "input_down": ["down"]}
"""Inputs of matrices: facts of a layer that name a tensor with this input."""

ROLES = {"query": "q", "key": "k", "value": "v"}
"""Roles of these tensors, if they have another name."""


def _alone(show: Callable[[Any], Any], values: Any) -> Any:
    return show(values)


def _read_only(name: str, layer: int, reason: str, combine: Combine) -> Combine:
    """Refuse changes of an activation."""

    def combined(show: Callable[[Any], Any], values: Any) -> Any:
        if combine(show, values) is not None:
            raise UnsupportedError(
                f"'{name}' of layer {layer}: can be read on this live model, but not changed: {reason}"
            )

    return combined


class _AfterBranch:
    """Shows the residual stream after a branch, at the output of the branch."""

    def __init__(self, entered: Mapping[int, Any], layer: int) -> None:
        self._entered, self._layer = entered, layer

    def __call__(self, show: Callable[[Any], Any], values: Any) -> Any:
        stream = self._entered[self._layer].to(values.device)
        shown = stream + values.view(stream.shape)
        changed = show(shown)
        return None if changed is None else (changed - stream).view(values.shape)


class _Sum:
    """Shows the sum of the outputs of several modules, at the last one."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._before: list[Any] = []

    def __call__(self, show: Callable[[Any], Any], values: Any) -> Any:
        if len(self._before) < self._count - 1:
            self._before.append(values.clone())
            return None
        rest = sum(one.reshape(values.shape) for one in self._before)
        self._before = []
        changed = show(values + rest)
        return None if changed is None else changed - rest


class _Columns:
    """Shows those outputs of a module that are the rows of one matrix."""

    def __init__(self, name: str, outputs: dict[str, Any]) -> None:
        self._name, self._count, self._ranges = name, outputs["count"], outputs["ranges"]

    def __call__(self, show: Callable[[Any], Any], values: Any) -> Any:
        import torch

        if values.shape[-1] != self._count:
            raise UnsupportedError(
                f"'{self._name}': the module of the live model has {values.shape[-1]} outputs, not {self._count}"
            )
        if self._ranges == [[0, self._count]]:
            return show(values)
        device = values.device
        columns = torch.cat([torch.arange(a, a + n, device=device) for a, n in self._ranges])
        changed = show(values[..., columns])
        if changed is None:
            return None
        new = values.clone()
        new[..., columns] = changed
        return new


class NamedPlaces:
    """The places of one pass.

    - across: those of the decoder's cross-attention, if it is needed
    - entered: the residual stream before each layer, from when the layer starts
    """

    def __init__(
        self, places: Places, across: Places | None, entered: Mapping[int, Any]
    ) -> None:
        self._places, self._across, self._entered = places, across, entered

    def of(self, name: str, layer: int) -> list[tuple[Place, Combine]]:
        """Return the places of an activation. Raise UnsupportedError if no module has it."""
        own = self._places.layers[layer]
        if name == "mlp" and len(own.mlp) > 1:
            combine = _Sum(len(own.mlp))
            return [(place, combine) for place in own.mlp]
        if name in ("middle", "resid_mid") and own.facts["adds_attention"]:
            branch = own.mixer if own.mixer is not None else self._of("attn_out", layer, own)
            if branch is not None:
                return [(branch, _AfterBranch(self._entered, layer))]
        place = self._of(name, layer, own)
        if place is None:
            raise UnsupportedError(
                f"'{name}' of layer {layer}: no module of the live model has it as its input or output"
            )
        return [(place, self._combine(name, layer, own, place))]

    def _combine(self, name: str, layer: int, own: LayerPlaces, place: Place) -> Combine:
        if name == "resid_mid" and place.is_input:
            return _read_only(name, layer, "no module has it as its output", _alone)
        if name not in OUTPUT_OF:
            return _alone
        outputs = self._outputs_of(name, own)
        combine = _alone if outputs is None else _Columns(name, outputs)
        keys, values = (self._output_facts(one, own) for one in ("k", "v"))
        if name in ("k", "v") and keys == values:
            return _read_only(name, layer, "one matrix makes keys and values", combine)
        return combine

    def _output_facts(self, name: str, own: LayerPlaces) -> Any:
        return own.facts[OUTPUT_OF[name]], self._outputs_of(name, own)

    def _tensor_of(self, name: str, own: LayerPlaces) -> str:
        """Return the projection whose output an activation is. Without a gate, `up` comes first."""
        found = OUTPUT_OF[name]
        return "up" if found == "gate" and own.facts["gate"] is None else found

    def _of(self, name: str, layer: int, own: LayerPlaces) -> Place | None:
        facts = own.facts
        plain = facts["branch_factor"] == 1 and not facts["scales_columns"]
        if name == "heads":
            return own.heads
        if name == "input_query":
            return own.query
        if name in INPUT_OF:
            return self._input(layer, next((facts[one] for one in INPUT_OF[name] if facts[one]), None))
        if name == "z" and not facts["has_block"]:
            return self._input(layer, facts["output"])
        if name == "cross_heads" and self._across is not None:
            return self._across.layers[layer].heads
        if name == "mixer" or (name == "mixer_out" and facts["branch_factor"] == 1):
            return own.mixer
        if name == "mlp" and own.mlp:
            return own.mlp[0]
        if name == "attn_out" and plain:
            return self._branch(layer, facts["attention_norm"], facts["output"])
        if name == "mlp_out" and plain and len(own.mlp) == 1:
            return self._norm(layer, facts["mlp_norm"], False) if facts["mlp_norm"] else own.mlp[0]
        if name in ("middle", "resid_mid"):
            return self._middle(layer, name, facts)
        if name == "resid_post" and facts["convolution_norm"]:  # it follows the layer
            return self._norm(layer, facts["convolution_norm"], False)
        if name == "resid_post" and self._places.layer_calls is not None:
            return self._places.layer_calls[layer]._replace(is_input=False)
        if facts["has_block"]:  # adapters of its layers add to the outputs of its projections
            return None
        if name == "mlp_post":
            return self._input(layer, facts["down"])
        if name == "routing":
            return self._input(layer, facts["router"])
        if name in OUTPUT_OF:
            return self._projected(layer, name, own)
        return None

    def _projected(self, layer: int, name: str, own: LayerPlaces) -> Place | None:
        """Return the output of a projection with its bias. None: no module has it."""
        place = self._output(layer, own.facts[self._tensor_of(name, own)])
        bias = (self._outputs_of(name, own) or {}).get("bias")
        if place is None or bias is None:
            return place
        return place if self._places.path_of(bias) == place.name else None

    def _outputs_of(self, name: str, own: LayerPlaces) -> dict[str, Any] | None:
        tensor = self._tensor_of(name, own)
        found: dict[str, Any] | None = own.facts["outputs"].get(ROLES.get(tensor, tensor))
        return found

    def _input(self, layer: int, tensor: str | None) -> Place | None:
        return self._of_linear(layer, tensor, True)

    def _output(self, layer: int, tensor: str | None) -> Place | None:
        return self._of_linear(layer, tensor, False)

    def _of_linear(self, layer: int, tensor: str | None, is_input: bool) -> Place | None:
        """Return a place of a module that only multiplies with the tensor. None: there is none."""
        place = None if tensor is None else self._places.place_of(layer, tensor, is_input)
        return place if place is not None and hasattr(place.module, "weight") else None

    def _norm(self, layer: int, norm: dict[str, Any] | None, is_input: bool) -> Place | None:
        return self._places.place_of_norm(layer, norm, is_input)

    def _branch(self, layer: int, norm: dict[str, Any] | None, tensor: str | None) -> Place | None:
        """Return the output of a branch: of its norm, or of its last projection."""
        return self._norm(layer, norm, False) if norm else self._output(layer, tensor)

    def _middle(self, layer: int, name: str, facts: dict[str, Any]) -> Place | None:
        if name == "resid_mid" and self._places.facts["crosses"]:
            return None  # the cross-attention follows, without a module that starts with it
        if facts["mlp_input_norm"]:
            return self._norm(layer, facts["mlp_input_norm"], True)
        return self._norm(layer, facts["attention_sum_norm"], False)
