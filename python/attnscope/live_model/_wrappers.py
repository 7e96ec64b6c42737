"""The module that runs inside the wrappers of PEFT, torch.compile and TransformerLens."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attnscope._memory import module_of
from attnscope._modules import module_in
from attnscope._wrapped import adapted_module


def module_to_run(module: Any) -> Any:
    """Return the module of transformers inside wrappers. Its adapters stay in place."""
    return module_in(adapted_module(module_of(module_in(module))))


@contextmanager
def not_compiled() -> Iterator[None]:
    """Run compiled modules as Python code, because compiled code ignores new hooks."""
    compiler: Any = getattr(sys.modules.get("torch"), "compiler", None)
    if not hasattr(compiler, "set_stance"):  # before PyTorch 2.6
        yield
        return
    with compiler.set_stance("force_eager"):
        yield
