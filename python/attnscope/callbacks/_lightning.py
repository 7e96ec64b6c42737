"""The callback of Lightning's Trainer."""

from typing import Any

from attnscope.callbacks._monitor import Monitor

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError as error:
        raise ImportError("LightningCallback needs Lightning: pip install lightning") from error


class LightningCallback(Callback):  # type: ignore[misc]
    """Measures the model every N steps, and logs to all loggers of the Trainer.

    The keywords are those of `Monitor`. The measured module is the LightningModule, or the part of
    it that `training_step` calls. Only the main process measures. The model, its gradients and the
    state of random number generators do not change.
    """

    def __init__(self, every: int = 100, **options: Any) -> None:
        self.monitor = Monitor(every, **options)
        self._measured = 0

    @property
    def history(self) -> list[dict[str, float]]:
        """One dict per measured step: `step` and all scalars."""
        return self.monitor.history

    def on_train_batch_start(self, trainer: Any, pl_module: Any, *args: Any) -> None:
        if trainer.is_global_zero:
            self.monitor.before_step(pl_module)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any) -> None:
        step = trainer.global_step
        # With accumulated gradients, several batches belong to one step.
        if not trainer.is_global_zero or step == self._measured:
            return
        self._measured = step
        scalars = self.monitor.after_step(pl_module, step)
        if scalars:
            for logger in trainer.loggers:
                logger.log_metrics(scalars, step=step)
