"""Loading of a live model by transformers."""

import os
from typing import Any

from attnscope._errors import UnsupportedError, UsageTypeError, error_of


def loaded(name: Any, tokenizer: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return the model and its tokenizer."""
    try:
        path: str = os.fsdecode(os.fspath(name))
    except TypeError:
        kind = type(name).__name__
        raise UsageTypeError(f"model: expected a module, a folder or a hub name, not {kind}") from None
    try:
        import transformers
    except ImportError:
        raise UnsupportedError(
            "a live model needs PyTorch and transformers (pip install torch transformers)"
        ) from None
    options = dict(options)
    device = options.pop("device", None)
    try:
        config = transformers.AutoConfig.from_pretrained(path)
    except (OSError, ValueError) as error:
        problem = f"transformers cannot load '{path}': {str(error).partition(chr(10))[0]}"
        raise error_of("io", problem, {"file": path, "problem": problem}) from error
    wanted: Any = next((one for one in config.architectures or () if hasattr(transformers, one)), None)
    loader = getattr(transformers, wanted) if wanted else transformers.AutoModelForCausalLM
    try:
        module = loader.from_pretrained(path, **options)
    except TypeError as error:  # of an unknown keyword
        raise UsageTypeError(f"transformers cannot load '{path}': {error}") from error
    if device is not None:
        module = module.to(device)
    if tokenizer is None:
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        except (OSError, ValueError, KeyError):
            tokenizer = None  # commands that take a text report that it is missing
    return module.eval(), tokenizer
