"""Measure the attention of a model while it trains.

    from attnscope.callbacks import TransformersCallback

    trainer = transformers.Trainer(model, args, callbacks=[TransformersCallback(every=100)], ...)

`LightningCallback` does the same for a Lightning Trainer, and `Monitor` for your own training loop.
transformers and Lightning are imported only if their callback is used.
"""

from typing import TYPE_CHECKING, Any

from attnscope.callbacks._collapse import CollapseWarning
from attnscope.callbacks._monitor import Monitor

if TYPE_CHECKING:
    from attnscope.callbacks._lightning import LightningCallback
    from attnscope.callbacks._transformers import TransformersCallback

__all__ = ["CollapseWarning", "LightningCallback", "Monitor", "TransformersCallback"]


def __getattr__(name: str) -> Any:
    if name == "TransformersCallback":
        from attnscope.callbacks import _transformers

        return _transformers.TransformersCallback
    if name == "LightningCallback":
        from attnscope.callbacks import _lightning

        return _lightning.LightningCallback
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
