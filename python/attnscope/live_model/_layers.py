"""Runs the layers of forward passes of the library: `LayersElsewhere` in
attnscope/forward/layers_elsewhere.h.

Commands without work items of their own on the device use it: the library plans the passes, reads
and edits activations, and measures. Activations cross the bus; logits are computed on the device.
"""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from attnscope import _core
from attnscope._errors import UnsupportedError
from attnscope._modules import eager, not_eager
from attnscope.live_model._attention import check_states
from attnscope.live_model._device import Batching, OutOfMemory, device_of, is_out_of_memory
from attnscope.live_model._hooks import Enough, Hooks, Interrupted, Place, hidden_of
from attnscope.live_model._named_places import NamedPlaces
from attnscope.live_model._places import Places
from attnscope.live_model._rows import Inputs, Part, Rows
from attnscope.live_model._softmax import NAMES as OF_SOFTMAX, Softmax

Rows32 = np.ndarray[Any, np.dtype[np.float32]]


TOKENS_FIRST = ("xlnet",)
"""Architectures whose layers take states (T, N, D) instead of (N, T, D)."""


class LiveLayers:
    """Runs the layers of a module's stacks. One pass at a time uses the device."""

    def __init__(
        self, module: Any, tensors: Mapping[str, Any], core: _core.OpenModel, stacks: Sequence[str],
        lock: Any,
    ) -> None:
        self._module, self._tensors, self._core = module, tensors, core
        self._stacks, self._lock = list(stacks), lock
        self._places: dict[str, Places] = {}
        self._texts = _Texts()
        self._has_checked_eager = False
        self._batching = Batching(device_of(module))

    def run(self, run: _core.LayersPass) -> Rows32 | None:
        """Run one pass. Return the last residual stream, (rows, D). None: it ended earlier."""
        import torch

        with self._lock, torch.no_grad():
            try:
                return self._run(run)
            except Interrupted:
                return None

    def multiply_by_vocabulary(self, stack: str, states: Rows32, columns: int) -> Rows32 | None:
        """Return the products with the matrix of the LM head, (rows, columns). None: unknown."""
        import torch

        head: Any = getattr(self._module, "get_output_embeddings", lambda: None)()
        weight = getattr(head, "weight", None)
        if not isinstance(head, torch.nn.Linear) or weight is None or stack == "encoder":
            return None
        if tuple(weight.shape) != (columns, states.shape[1]) or not weight.is_floating_point():
            return None
        with self._lock, torch.no_grad():
            given = torch.from_numpy(states.copy()).to(weight.device, weight.dtype)
            found: Rows32 = torch.nn.functional.linear(given, weight).float().contiguous().cpu().numpy()
            return found

    def _places_of(self, stack: str) -> Places:
        if stack not in self._places:
            described = _core.LivePass(self._core, self._stacks.index(stack))
            self._places[stack] = Places(self._module, self._tensors, described)
        return self._places[stack]

    def _run(self, run: _core.LayersPass) -> Rows32 | None:
        lengths = [len(ids) for ids in run.sequences]
        if run.caches or run.wanted() or not lengths:  # activations are shown for all texts at once
            try:
                return self._run_part(Part(run, 0, len(lengths)))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                raise OutOfMemory(sum(lengths)) from error
        found = []

        def run_part(first: int, end: int) -> None:
            found.append(self._run_part(Part(run, first, end)))

        self._batching.in_parts(len(lengths), max(lengths), run_part)
        parts = [one for one in found if one is not None]
        return np.concatenate(parts) if parts else None

    def _run_part(self, part: Part) -> Rows32 | None:
        run = part.run
        places = self._places_of(run.stack)
        calls = places.layer_calls
        if calls is None:
            raise UnsupportedError("not supported on this live model, whose layers are no modules")
        inputs = self._texts.inputs(self._module, part, device_of(self._module))
        is_early = run.end_layer < len(calls)
        if any(name in OF_SOFTMAX for name, _ in run.wanted()):
            self._check_eager(part, calls[-1])
        with ExitStack() as stack, Hooks() as hooks:
            one = _Pass(part, Rows(inputs), hooks)
            if one.softmax is not None:
                stack.enter_context(eager(self._module))
                stack.enter_context(one.softmax.watching())
            crosses = run.cross_heads is not None or any(name == "cross_heads" for name, _ in one.named)
            one.watch(places, self._places_of("cross") if crosses else None)
            one.end_after(calls[run.end_layer - 1], is_early or not run.caches)
            try:
                self._texts.call(self._module, part, inputs)
            except Enough:
                pass
        if one.softmax is not None:
            one.softmax.check()
        if is_early:
            return None
        if one.last is None:
            raise UnsupportedError("not supported on this live model, whose last layer did not run")
        return one.rows.read(one.last)

    def _check_eager(self, part: Part, last: Place) -> None:
        """Refuse maps of a model whose eager attention gives other states than its usual one."""
        import torch

        kinds = not_eager(self._module)
        if len(self._stacks) > 1:
            raise UnsupportedError("'pattern' and 'attn_scores': not supported on a live model with several stacks")
        if self._has_checked_eager or not kinds:
            return
        ids = torch.tensor([part.sequences[0]], device=device_of(self._module))

        def states() -> Any:
            found = []
            with Hooks() as hooks:
                hooks.after(last.module, lambda output: found.append(hidden_of(output, last.name)), last.call)
                self._module(input_ids=ids)
            return found[0]

        usual = states()
        with eager(self._module):
            check_states(states(), usual, kinds[0])
        self._has_checked_eager = True


class _Texts:
    """Calls modules on texts, and keeps what continues them."""

    def __init__(self) -> None:
        self._known: tuple[list[int], Any, Any] | None = None  # tokens, KV cache, encoder states

    def inputs(self, module: Any, part: Part, device: Any) -> Inputs:
        run = part.run
        if not part.sequences:
            raise UnsupportedError("images and audio are not supported on a live model")
        past = run.past[0] if run.caches else []
        config = getattr(module, "config", None)
        if getattr(config, "model_type", None) in TOKENS_FIRST and len(part.sequences) > 1:
            raise UnsupportedError("several texts together: not supported on a live model of this architecture")
        pad = getattr(config, "pad_token_id", None)
        if not past or self._continues(past):
            return Inputs(part.sequences, part.types, pad, device)
        if run.wanted():
            raise UnsupportedError("edits of generated tokens: not supported on this live model, which has no KV cache")
        return Inputs([[*past, *run.sequences[0]]], [[]], pad, device, len(past))

    def _continues(self, past: Sequence[int]) -> bool:
        return self._known is not None and self._known[0] == past

    def call(self, module: Any, part: Part, inputs: Inputs) -> None:
        run = part.run
        is_causal = run.stack != "encoder" and run.is_causal
        given: dict[str, Any] = {"input_ids": inputs.ids}
        if inputs.mask is not None and not is_causal:
            given["attention_mask"] = inputs.mask.long()
        if inputs.types is not None:
            given["token_type_ids"] = inputs.types
        if run.stack == "encoder":
            module.get_encoder()(**given)
            return
        states = None
        if run.stack == "decoder":
            given = {"decoder_input_ids": inputs.ids}
            states = self._encoder_states(part, inputs)
            given |= states
        if not run.caches:
            module(**given, **({"use_cache": False} if _accepts(module, "use_cache") else {}))
            return
        past = run.past[0]
        if self._known is not None and self._continues(past):
            given["past_key_values"] = self._known[1]
        output = module(**given, use_cache=True)
        cache = getattr(output, "past_key_values", None)
        self._known = None if cache is None else ([*past, *run.sequences[0]], cache, states)

    def _encoder_states(self, part: Part, inputs: Inputs) -> dict[str, Any]:
        from transformers.modeling_outputs import BaseModelOutput

        found = part.run.encoder_states
        if found is None:
            assert self._known is not None  # the caches have it
            known: dict[str, Any] = self._known[2]
            return known
        states, mask = inputs.padded(found, part.run.encoder_lengths, part)
        given: dict[str, Any] = {"encoder_outputs": BaseModelOutput(last_hidden_state=states)}
        return given if mask is None else given | {"attention_mask": mask.long()}


def _accepts(module: Any, keyword: str) -> bool:
    return keyword in inspect.signature(type(module).forward).parameters


class _Pass:
    """The hooks of one pass."""

    def __init__(self, part: Part, rows: Rows, hooks: Hooks) -> None:
        run = part.run
        self._part, self._run, self.rows, self._hooks = part, run, rows, hooks
        self._next = run.first_layer  # the next stream to show
        wanted = run.wanted()
        self._streams = {layer for name, layer in wanted if name == "stream"}
        self.named = [one for one in wanted if one[0] not in ("stream", *OF_SOFTMAX)]
        maps = [one for one in wanted if one[0] in OF_SOFTMAX]
        self.softmax = Softmax(maps, part, self._show_maps) if maps else None
        self._has_started = False
        self._entered: dict[int, Any] = {}  # streams before the layers that run
        self.last: Any = None  # the last stream

    def _show(self, name: str, layer: int, values: Any) -> Any:
        """Return changed values. None: they did not change."""
        return self.rows.show(values, lambda rows: self._run.show(name, layer, rows))

    def _show_maps(self, name: str, layer: int, maps: Any) -> Any:
        """Show scores or weights (N, H, T, S). Return changed ones, or None."""
        import torch

        values = maps.float().cpu().clone().contiguous()
        before = values.clone()
        if not self._run.show_maps(name, layer, values.numpy()):
            raise Interrupted
        if torch.equal(values, before):
            return None
        return values.to(maps.device, maps.dtype)

    def _stream(self, layer: int, values: Any) -> Any:
        """Show a residual stream, and those of skipped layers. Return changed values, or None."""
        if values.ndim != 3:
            raise UnsupportedError("not supported on a live model with several residual streams")
        changed = None
        for at in range(self._next, layer + 1):  # texts skip some layers of some models
            names = ["stream"] if at in self._streams else []
            if at < layer and ("resid_post", at) in self.named:
                names.append("resid_post")
            for name in names:
                new = self._show(name, at, values if changed is None else changed)
                changed = changed if new is None else new
        self._next = max(self._next, layer + 1)
        return changed

    def _enter(self, layer: int, values: Any) -> Any:
        if self._run.stopped:
            raise Interrupted
        first, start = self._run.first_layer, self._part.rows(self._run.stream)
        if self.softmax is not None:
            self.softmax.layer = layer
        if layer < first:
            return None
        started = None
        if start is not None and not self._has_started:  # texts skip some layers of some models
            values = started = self.rows.written(values, start)
        self._has_started = True
        changed = self._stream(layer, values)
        self._entered.clear()  # of earlier layers
        self._entered[layer] = values if changed is None else changed
        return started if changed is None else changed

    def watch(self, places: Places, across: Places | None) -> None:
        """Show what is wanted, and replace what the pass starts with."""
        assert places.layer_calls is not None
        for layer, call in enumerate(places.layer_calls[: self._run.end_layer]):
            self._hooks.at(call, partial(self._enter, layer))
        first = self._run.first_layer
        for own, given in ((places, self._run.heads), (across, self._run.cross_heads)):
            place = own.layers[first].heads if own is not None else None
            rows = self._part.rows(given)
            if place is not None and rows is not None:
                self._hooks.at(place, partial(self.rows.written, rows=rows))
        named = NamedPlaces(places, across, self._entered)
        for name, layer in self.named:
            for place, combine in named.of(name, layer):
                self._hooks.at(place, partial(combine, partial(self._show, name, layer)))

    def end_after(self, last: Place, stops: bool) -> None:
        """Keep the output of the last layer. Installed after the hooks that change it."""

        def ended(output: Any) -> None:
            self.last = hidden_of(output, last.name)
            self._stream(self._run.end_layer, self.last)
            if stops:
                raise Enough

        self._hooks.after(last.module, ended, last.call)
