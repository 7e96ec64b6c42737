"""The callback of transformers' Trainer."""

import sys
from typing import Any

from attnscope._errors import UsageError
from attnscope.callbacks._monitor import Monitor

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise ImportError("TransformersCallback needs transformers: pip install transformers") from error


def _running_trainer() -> Any:
    """Return the Trainer that calls the callback. A Trainer passes everything but itself."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        trainer = frame.f_locals.get("self")
        if hasattr(trainer, "callback_handler") and hasattr(trainer, "log"):
            return trainer
        frame = frame.f_back
    raise UsageError("TransformersCallback: pass it to a Trainer of transformers: callbacks=[callback]")


class TransformersCallback(TrainerCallback):  # type: ignore[misc]
    """Measures the model every N steps, and logs to everything that the Trainer reports to.

    The keywords are those of `Monitor`. The scalars are also in `trainer.state.log_history`. Only
    the main process measures. The model, its gradients and the state of random number generators
    do not change.
    """

    def __init__(self, every: int = 100, **options: Any) -> None:
        self.monitor = Monitor(every, **options)

    @property
    def history(self) -> list[dict[str, float]]:
        """One dict per measured step: `step` and all scalars."""
        return self.monitor.history

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self.monitor.before_step(kwargs["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        scalars = self.monitor.after_step(kwargs["model"], state.global_step)
        if scalars:
            wanted = control.should_log
            _running_trainer().log(scalars)
            # A log resets this flag, and the Trainer would not log the loss of this step.
            control.should_log = wanted
