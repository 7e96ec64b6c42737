"""Forward passes of a module on batches of token ids, whole or from one layer on."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnscope import _core
from attnscope._errors import NumericalError, UnsupportedError
from attnscope.live_model._device import Batching, device_of, free_bytes
from attnscope.live_model._finish import COMPARED, Finish, FinishRecorder, is_close
from attnscope.live_model._hooks import Hooks, Interrupted, hidden_of
from attnscope.live_model._places import Places

BYTES_OF_LOGIT = 24
"""Largest memory per logit of a batch, which is kept in several forms while it is measured."""


@dataclass(frozen=True)
class Batch:
    """Sequences of one length that run together."""

    first: int  # index of the first one
    first_row: int  # its first row, among the rows of all sequences
    ids: Any  # (B, T)
    types: Any  # token types (B, T), or None

    @property
    def count(self) -> int:
        return int(self.ids.shape[0])

    @property
    def length(self) -> int:
        return int(self.ids.shape[1])

    @property
    def rows(self) -> int:
        return int(self.ids.numel())


class Record:
    """Recorded tensors of one unmodified pass, by layer."""

    def __init__(self) -> None:
        self.streams: dict[int, Any] = {}  # input of each layer (B, T, D); last: of the last norm
        self.calls: dict[int, tuple[Any, Any]] = {}  # further arguments of each layer
        self.heads: dict[int, Any] = {}  # (B T, H d_v)
        self.mixer: dict[int, Any] = {}  # (B T, D)
        self.mlp: dict[int, tuple[Any, ...]] = {}  # (B T, D) each


def _flat(values: Any, batch: Batch) -> Any:
    """Copy values as rows, without padding that the module added at the end, as Longformer does.

    A copy, because a module may change its output in place later, as Falcon does.
    """
    rows = values.reshape(batch.count, -1, values.shape[-1])[:, : batch.length]
    return rows.flatten(0, 1).clone()


class Runner:
    """Runs one stack of a module. `stopped`: called often; returns whether to stop."""

    def __init__(
        self, module: Any, tensors: Mapping[str, Any], described: _core.LivePass
    ) -> None:
        self.module = module
        self.described = described
        self.places = Places(module, tensors, described)
        self.device = device_of(module)
        self.batching = Batching(self.device)
        self.stopped: Callable[[], bool] = lambda: False
        self._is_probed = False
        self.has_checked_maps = False
        self._mean_row: list[float] | None = None
        self.finish: Finish | None = None  # None: logits are not made by modules alone
        self._may_chain = False
        self._chains: dict[tuple[int, int], bool] = {}  # by sequences and tokens of a batch
        vocabulary = max(1, self.places.facts["vocabulary"])
        self.rows_of_logits = max(1, free_bytes(self.device) // (BYTES_OF_LOGIT * vocabulary))
        accepted = inspect.signature(type(module).forward).parameters
        takes_any = any(one.kind is one.VAR_KEYWORD for one in accepted.values())
        first = next(iter(list(accepted)[1:]), "input_ids")
        self._ids = "input_ids" if takes_any or "input_ids" in accepted else first
        self._takes_types = "token_type_ids" in accepted
        self._returns_maps = "output_attentions" in accepted
        self._keywords = {"use_cache": False} if "use_cache" in accepted else {}
        self._parts = [part for name, part in module.named_modules() if name and name[-1].isdecimal()]

    @property
    def layers(self) -> int:
        return len(self.places.layers)

    def batches(self, inputs: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> list[Batch]:
        """Group consecutive sequences of one length into batches."""
        import torch

        out: list[Batch] = []
        first, row = 0, 0
        while first < len(inputs):
            length, end = len(inputs[first]), first
            most = max(1, min(self.batching.rows, self.rows_of_logits) // length)
            typed = bool(types[first])
            while end < len(inputs) and end - first < most and len(inputs[end]) == length:
                if bool(types[end]) != typed:
                    break
                end += 1
            ids = torch.tensor(inputs[first:end], device=self.device)
            own = torch.tensor(types[first:end], device=self.device) if typed else None
            out.append(Batch(first, row, ids, own))
            row += (end - first) * length
            first = end
        return out

    def rows_of_stream(self, record: Record, layer: int, batch: Batch) -> Any:
        """Return the input of a layer as rows (B T, D). Number L: the last stream."""
        return record.streams[layer][:, : batch.length].flatten(0, 1)

    def check_stop(self) -> None:
        if self.stopped():
            raise Interrupted

    def _watched(self, hooks: Hooks) -> None:
        """Check for a stop before each layer."""
        calls = self.places.layer_calls
        for part in self._parts if calls is None else {call.module for call in calls}:
            hooks.before(part, lambda args, kwargs: self.check_stop())

    def call(self, batch: Batch, copies: int = 1, **keywords: Any) -> Any:
        """Run the whole module on copies of a batch. Return its output."""
        inputs = {self._ids: batch.ids.repeat(copies, 1), **self._keywords, **keywords}
        if batch.types is not None:
            if not self._takes_types:
                raise UnsupportedError(f"{type(self.module).__name__} takes no token types")
            inputs["token_type_ids"] = batch.types.repeat(copies, 1)
        return self.module(**inputs)

    def logits(self, batch: Batch, copies: int = 1) -> Any:
        """Run the whole module on copies of a batch: (copies B, T, V)."""
        output = self.call(batch, copies)
        found: Any = getattr(output, "logits", None)
        if found is None and hasattr(output, "prediction_logits"):
            found = output.prediction_logits
        if found is None and not isinstance(output, Mapping):  # not of transformers
            found = output[0] if isinstance(output, (tuple, list)) and output else output
        if getattr(found, "ndim", 0) != 3 or found.shape[-1] < self.places.facts["vocabulary"]:
            raise UnsupportedError(f"{type(self.module).__name__} returns no logits")
        return found

    def run_with_maps(self, hooks: Hooks, batch: Batch) -> None:
        """Run the whole module, which returns its attention maps if it can."""
        self._watched(hooks)
        self.call(batch, **({"output_attentions": True} if self._returns_maps else {}))

    def watched_logits(self, hooks: Hooks, batch: Batch, copies: int) -> Any:
        self._watched(hooks)
        return self.logits(batch, copies)

    def directions(self, tokens: list[int]) -> Any:
        """Return the direction (n, D) of each token's logit: `LinearHead::directions`."""
        import torch

        found = self.described.directions(tokens, self._mean_output_row())
        return torch.from_numpy(found).to(self.device)

    def _mean_output_row(self) -> list[float]:
        """Return the mean row of W_U over the vocabulary: `mean_output_row`. Empty: unknown."""
        import torch

        if self._mean_row is None:
            head = getattr(self.module, "get_output_embeddings", lambda: None)()
            weight: Any = getattr(head, "weight", None) if type(head) is torch.nn.Linear else None
            is_matrix = weight is not None and weight.ndim == 2 and weight.is_floating_point()
            is_whole = is_matrix and weight.shape[0] == self.places.facts["vocabulary"]
            self._mean_row = weight.float().mean(0).cpu().tolist() if is_whole else []
        return self._mean_row

    def recorded(
        self, batch: Batch, layers: Sequence[int], with_logits: bool = True
    ) -> tuple[Record, Any]:
        """Run a batch unmodified. Return what passes the places of these layers, and the logits."""
        record = Record()
        with Hooks() as hooks:
            self._watched(hooks)
            for layer in layers:
                self._record(hooks, record, layer, batch)
            self._record_streams(hooks, record)
            recorder = None
            if with_logits and not self._is_probed and self.places.layer_calls is not None:
                recorder = FinishRecorder(self.module, self.places.layer_calls[-1])
                recorder.watch(hooks)
            logits = self.logits(batch) if with_logits else self.call(batch)
        self._check_heads(record, layers)
        if self.layers in record.streams:
            for layer in reversed(range(self.layers)):  # texts skip some layers of some models
                record.streams.setdefault(layer, record.streams[layer + 1])
        if with_logits:
            check_finite(logits)
            if not self._is_probed:
                self._probe(recorder, record, batch, logits)
            self._verify_chain(record, batch, logits)
        return record, logits

    def _check_heads(self, record: Record, layers: Sequence[int]) -> None:
        """Raise if the heads of a layer are not where the library expects them."""
        for layer in layers:
            places = self.places.layers[layer]
            if places.heads is None:
                continue
            if layer not in record.heads:
                raise UnsupportedError(f"layer {layer}: module '{places.heads.name}' does not run")
            heads, size, found = places.heads_count, places.head_size, record.heads[layer].shape[-1]
            if found != heads * size:
                raise UnsupportedError(
                    f"layer {layer}: the input of module '{places.heads.name}' has {found} columns, "
                    f"not those of {heads} heads of size {size}"
                )

    def _record(self, hooks: Hooks, record: Record, layer: int, batch: Batch) -> None:
        places = self.places.layers[layer]

        def of(into: dict[int, Any]) -> Callable[[Any], None]:
            return lambda values: into.__setitem__(layer, _flat(values, batch))

        if places.heads is not None:
            hooks.at(places.heads, of(record.heads))
        if places.mixer is not None:
            hooks.at(places.mixer, of(record.mixer))
        for place in places.mlp:
            hooks.at(
                place,
                lambda values: record.mlp.__setitem__(
                    layer, (*record.mlp.get(layer, ()), _flat(values, batch))
                ),
            )

    def _record_streams(self, hooks: Hooks, record: Record) -> None:
        calls = self.places.layer_calls
        if calls is None:
            return

        def of(layer: int) -> Callable[[Any, Any], None]:
            def look(args: Any, kwargs: Any) -> None:
                named = not args
                stream = kwargs.get("hidden_states") if named else args[0]
                rest = {key: one for key, one in kwargs.items() if not named or key != "hidden_states"}
                record.streams[layer] = None if stream is None else stream.clone()
                record.calls[layer] = (args[1:], rest)

            return look

        for layer, call in enumerate(calls):
            hooks.before(call.module, of(layer), call.call)

        def last(output: Any) -> None:
            record.streams[len(calls)] = hidden_of(output, "last layer").clone()

        hooks.after(calls[-1].module, last, calls[-1].call)

    # Passes that start at a layer, and their ends.

    def _probe(self, recorder: FinishRecorder | None, record: Record, batch: Batch, logits: Any) -> None:
        """Find out, on the first batch, how the model can be run in parts."""
        self._is_probed = True
        streams = record.streams
        if recorder is None or self.layers not in streams:
            return
        if any(stream is None or stream.ndim != 3 for stream in streams.values()):
            return
        last = streams[self.layers][:, : batch.length]
        self.finish = recorder.finish(last, logits, self.places.facts["head"])
        is_whole = self.places.layer_modules is None or not self.places.facts["may_start_between"]
        if self.finish is None or is_whole:
            return
        self._may_chain = True

    def chains(self, batch: Batch) -> bool:
        """Return whether a pass on copies of this batch may start at a layer."""
        return self._chains.get((batch.count, batch.length), False)

    def _verify_chain(self, record: Record, batch: Batch, logits: Any) -> None:
        """Verify on two copies that the layers, one after another, give the same logits.

        Once per shape of a batch, because arguments of layers are repeated by their shapes.
        """
        shape = (batch.count, batch.length)
        if shape in self._chains or not self._may_chain or self.finish is None:
            return
        self._chains[shape] = False
        if record.streams[0].shape[1] != batch.length:  # with padding, as in Longformer
            return
        try:
            found = self.finish(self.continued(record, batch, 0, 2)[:, -COMPARED:])
        except (RuntimeError, TypeError, ValueError):
            return
        self._chains[shape] = is_close(found, logits[:, -COMPARED:].repeat(2, 1, 1))

    def continued(self, record: Record, batch: Batch, layer: int, copies: int) -> Any:
        """Run copies of a batch from a layer on. Return the last stream (copies B, T, D)."""
        sequences = batch.count

        def repeated(value: Any) -> Any:
            if isinstance(value, tuple) and type(value) is tuple:
                return tuple(map(repeated, value))
            if not hasattr(value, "ndim") or value.ndim < 2 or value.shape[0] != sequences:
                return value
            if sequences == 1:
                return value.expand(copies, *value.shape[1:])
            return value.repeat(copies, *[1] * (value.ndim - 1))

        stream = record.streams[layer].repeat(copies, 1, 1)
        modules = self.places.layer_modules
        assert modules is not None
        for at in range(layer, self.layers):
            self.check_stop()
            if at not in record.calls:
                continue
            args, kwargs = record.calls[at]
            output = modules[at](
                stream, *map(repeated, args), **{key: repeated(one) for key, one in kwargs.items()}
            )
            stream = hidden_of(output, f"layer {at}")
        return stream

    def may_keep(self, rows: int, element: int) -> bool:
        """Return whether the recorded tensors of all layers fit into memory for so many tokens."""
        facts = self.places.facts["layers"]
        widths: int = sum(one["heads"] * one["value_dim"] for one in facts)
        width = self._width()
        needed = rows * (widths + 3 * width * len(facts)) * element
        return bool(needed <= free_bytes(self.device))

    def _width(self) -> int:
        embedding: Any = getattr(self.module, "get_input_embeddings", lambda: None)()
        return int(embedding.weight.shape[-1]) if hasattr(embedding, "weight") else 0


def check_finite(logits: Any) -> None:
    """Raise as the C++ forward pass does for logits that are NaN or infinite."""
    if not bool(logits.isfinite().all()):
        raise NumericalError("the model's logits have NaN or infinite values")
