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
        import torch
        import transformers
    except ImportError:
        raise UnsupportedError(
            "a live model needs PyTorch and transformers (pip install torch transformers)"
        ) from None
    path, adapter = _with_adapter(path)
    options = dict(options)
    device = _device_of(torch, options.pop("device", None))
    try:
        config = transformers.AutoConfig.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise _not_loaded("transformers", path, error) from error
    wanted: Any = next((one for one in config.architectures or () if hasattr(transformers, one)), None)
    loader = getattr(transformers, wanted) if wanted else transformers.AutoModelForCausalLM
    try:
        module = loader.from_pretrained(path, **options)
    except TypeError as error:  # of an unknown keyword
        raise UsageTypeError(f"transformers cannot load '{path}': {error}") from error
    except (OSError, ValueError) as error:  # of its weights
        raise _not_loaded("transformers", path, error) from error
    if adapter:
        module = _adapted(module, adapter)
    if device is not None:
        module = module.to(device)
    if tokenizer is None:
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        except (OSError, ValueError, KeyError):
            tokenizer = None  # commands that take a text report that it is missing
    return module.eval(), tokenizer


def _with_adapter(path: str) -> tuple[str, str]:
    """Return the base and the adapter of "BASE+ADAPTER". The adapter is empty for a model without one."""
    base, plus, adapter = path.partition("+")
    return (base, adapter) if plus and not os.path.exists(path) else (path, "")


def _adapted(module: Any, adapter: str) -> Any:
    try:
        import peft
    except ImportError:
        raise UnsupportedError("an adapter of a live model needs PEFT (pip install peft)") from None
    try:
        return peft.PeftModel.from_pretrained(module, adapter)
    except (OSError, ValueError, RuntimeError) as error:
        raise _not_loaded("PEFT", adapter, error) from error


def _not_loaded(by: str, path: str, error: Exception) -> Exception:
    reason = str(error).partition("\n")[0]
    parts = {"file": path, "problem": f"{by} cannot load it: {reason}"}
    return error_of("io", f"{by} cannot load '{path}': {reason}", parts)


def _device_of(torch: Any, wanted: Any) -> Any:
    """Return the device with that name. "auto": a GPU if there is one."""
    if wanted is None:
        return None
    if wanted == "auto":
        has_gpu = torch.accelerator.is_available()
        return torch.accelerator.current_accelerator() if has_gpu else torch.device("cpu")
    try:
        device = torch.device(wanted)
        if torch.empty(0, device=device).is_meta:
            raise RuntimeError("it has no weights")
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        problem = f"PyTorch cannot use '{wanted}': {str(error).partition(chr(10))[0]}"
        parts = {"parameter": "device", "problem": problem}
        raise error_of("usage", f"device: {problem}", parts) from error
    return device
