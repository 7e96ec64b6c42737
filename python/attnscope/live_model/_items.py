"""Computes the work items of a run on a live model, one at a time."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from attnscope import _core
from attnscope._errors import UnsupportedError
from attnscope.live_model import _ablate, _attention, _induction, _lens
from attnscope.live_model._hooks import Interrupted, evaluating
from attnscope.live_model._layers import LiveLayers
from attnscope.live_model._maps import saving
from attnscope.live_model._pass import Runner
from attnscope.live_model._texts import Texts
from attnscope.live_model._wrappers import not_compiled

ANALYSES = {"ablate": _ablate.outcomes, "lens": _lens.outcomes}
"""The function that computes an item, by the name of its analysis."""


_runs: WeakKeyDictionary[Any, Lock] = WeakKeyDictionary()
"""Held by the run that uses a module, whose hooks and mode other runs would change."""


class LiveItems:
    """The items of one run. Passed to the library in place of an executor.

    `layers`: runs the layers of the library's own forward passes. `computes_items`: whether items
    are computed here; otherwise, the library computes them with these layers.

    The module is in evaluation mode meanwhile, and other runs on it wait. Leaving waits for a
    running item.
    """

    def __init__(
        self, module: Any, tensors: Mapping[str, Any], core: _core.OpenModel,
        stacks: Sequence[str], threads: int,
    ) -> None:
        self._module, self._tensors, self._core = module, tensors, core
        self._threads = threads  # of the library, which measures maps
        self._saved_maps = saving.get()
        self._lock = Lock()  # one item or pass at a time uses the device
        self.layers = LiveLayers(module, tensors, core, stacks, self._lock)
        self.computes_items = True
        self._stack = ExitStack()
        self._runners: dict[int, Runner] = {}
        self._texts: tuple[Any, Texts] | None = None

    def __enter__(self) -> "LiveItems":
        self._stack.enter_context(_runs.setdefault(self._module, Lock()))
        self._stack.enter_context(evaluating(self._module))
        self._stack.enter_context(not_compiled())
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._runners, self._texts = {}, None
            self._stack.close()

    def __call__(self, model: str, item: str, stopped: Callable[[], bool]) -> str | None:
        """Return the serialized outcomes of an item. None: the run is being stopped."""
        import torch

        with self._lock, torch.no_grad():
            if stopped():
                return None
            batch = json.loads(item).get("batch") or {}
            if not batch.get("tokens"):  # it only reads weights, as in a report
                return _core.compute_item(item, self._core, self._threads)
            runner = self._runner(0)
            runner.stopped = stopped
            try:
                return json.dumps({"outcomes": self._outcomes(runner, item)})
            except Interrupted:
                return None
            finally:
                runner.stopped = lambda: False

    def _runner(self, stack: int) -> Runner:
        if stack not in self._runners:
            described = _core.LivePass(self._core, stack)
            self._runners[stack] = Runner(self._module, self._tensors, described)
        return self._runners[stack]

    def _outcomes(self, runner: Runner, text: str) -> list[dict[str, Any]]:
        item = json.loads(text)
        if item["analysis"] == "attention":
            return _attention.outcomes(runner, text, self._threads, self._saved_maps)
        if item["analysis"] == "ablate_induction":
            return _induction.outcomes(runner, item)
        compute = ANALYSES.get(item["analysis"])
        if compute is None:
            raise UnsupportedError(f"{item['analysis']}: not supported on a live model")
        return compute(runner, self._texts_of(runner, item, text), item)

    def _texts_of(self, runner: Runner, item: dict[str, Any], text: str) -> Texts:
        """Return the texts of an item. Items of one run have the same texts."""
        batch = item["batch"]
        key = json.dumps([batch["tokens"], batch.get("types"), batch.get("scored"), batch["first"],
                          item["parameters"].get("mask")])
        if self._texts is None or self._texts[0] != key:
            self._texts = None  # frees memory before the next ones are recorded
            self._texts = (key, Texts(runner, _core.item_positions(text)))
        return self._texts[1]
