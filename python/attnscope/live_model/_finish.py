"""From the last residual stream to the logits: the modules that a model calls after its layers."""

from typing import Any

from attnscope.live_model._hooks import Hooks, Place

TOLERANCE = {2: 3e-2, 4: 1e-4, 8: 1e-6}
"""Largest difference of two computations of the same logits, relative to their range. By bytes of
an element."""


COMPARED = 8
"""Positions at the end of each sequence that are compared."""


def is_close(found: Any, expected: Any) -> bool:
    """Return whether two computations gave the same values (B, T, columns), up to rounding.

    Only the last positions are compared, because logits are large.
    """
    if found.shape != expected.shape or found.device != expected.device:
        return False
    found, expected = found[:, -COMPARED:], expected[:, -COMPARED:]
    share = TOLERANCE.get(expected.element_size(), 1e-4)
    found, expected = found.float(), expected.float()
    size = (expected - expected.mean()).abs().max().clamp(min=1e-6)
    return bool((found - expected).abs().max() <= share * size)


class _Call:
    """A call of a module: its first argument, the others, and its output."""

    def __init__(self, module: Any, args: Any, kwargs: Any) -> None:
        self.module = module
        self.given = args[0] if args else next(iter(kwargs.values()), None)
        self.name = None if args else next(iter(kwargs), None)
        self.args = args[1:]
        self.kwargs = {key: value for key, value in kwargs.items() if key != self.name}
        self.output: Any = None

    @property
    def may_be_repeated(self) -> bool:
        """Whether the other arguments are not tensors of this call."""
        rest = (*self.args, *self.kwargs.values())
        own = [one for one in rest if hasattr(one, "ndim") and type(one).__name__ != "Parameter"]
        return hasattr(self.given, "ndim") and hasattr(self.output, "ndim") and not own

    def again(self, given: Any) -> Any:
        if self.name is not None:
            return self.module(*self.args, **{self.name: given, **self.kwargs})
        return self.module(given, *self.args, **self.kwargs)


class FinishRecorder:
    """Records the calls of modules after the last layer, in the order of their starts."""

    def __init__(self, module: Any, last_layer: Place) -> None:
        self._last_layer = last_layer
        self._ended = 0  # calls of the last layer's module
        self._inner = [part for part in module.modules() if part is not module]
        self._open: list[_Call] = []
        self._calls: list[_Call] = []
        self._started = False

    def watch(self, hooks: Hooks) -> None:
        for part in self._inner:
            hooks.before(part, self._enter(part))
            hooks.after(part, self._leave(part))

    def _enter(self, part: Any) -> Any:
        def enter(args: Any, kwargs: Any) -> None:
            call = _Call(part, args, kwargs)
            self._open.append(call)
            if self._started:
                self._calls.append(call)

        return enter

    def _leave(self, part: Any) -> Any:
        def leave(output: Any) -> None:
            while self._open:
                call = self._open.pop()
                if call.module is part:
                    call.output = output
                    break
            if part is self._last_layer.module:
                self._started = self._ended == self._last_layer.call
                self._ended += 1

        return leave

    def finish(self, stream: Any, logits: Any, head: dict[str, Any]) -> "Finish | None":
        """Return how the last stream becomes the logits. None: not by modules alone."""
        calls = [call for call in self._calls if call.may_be_repeated]
        for first in ((False, True) if head["factor"] != 1 else (False,)):
            for call in calls:
                found = Finish([call], head, first)
                if call.output.shape != logits.shape or not is_close(found.ended(call.output), logits):
                    continue
                own = stream[:, -COMPARED:]
                if _extend(found, calls, stream) and is_close(found(own), logits[:, -COMPARED:]):
                    return found
        return None


def _extend(found: "Finish", calls: list[_Call], stream: Any) -> bool:
    """Put calls in front of the first one, until it gets the stream. Return whether it does."""
    while not is_close(found.calls[0].given, found.scaled(stream)):
        given = found.calls[0].given
        before = next(
            (call for call in calls if call not in found.calls and is_close(found.scaled(call.output), given)),
            None,
        )
        if before is None:
            return False
        found.calls.insert(0, before)
    return True


class Finish:
    """Repeats calls of modules, with the factor and soft cap of the LM head: `ForwardPass::finish`
    and `ForwardPass::logits`. `first`: the factor applies before the LM head."""

    def __init__(self, calls: list[_Call], head: dict[str, Any], first: bool) -> None:
        self.calls, self._first = calls, first
        self._factor, self._cap = head["factor"], head["soft_cap"]

    def scaled(self, given: Any) -> Any:
        """Apply the factor in front of the LM head, if it is the only call so far."""
        return given * self._factor if self._first and len(self.calls) == 1 else given

    def ended(self, logits: Any) -> Any:
        if self._factor != 1 and not self._first:
            logits = logits * self._factor
        return logits if self._cap is None else self._cap * (logits / self._cap).tanh()

    def __call__(self, stream: Any) -> Any:
        for call in self.calls[:-1]:
            stream = call.again(stream)
        if self._first:
            stream = stream * self._factor
        return self.ended(self.calls[-1].again(stream))
