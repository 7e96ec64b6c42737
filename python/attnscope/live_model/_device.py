"""The memory of a module's device, and what runs out of it."""

import gc
import os
from collections.abc import Callable
from typing import Any

from attnscope._errors import Error

OF_CPU = 0.25
"""Part of the free memory that one batch may use on a CPU, which other programs share."""

OF_DEVICE = 0.5
UNKNOWN = 4 << 30  # bytes, if a device does not report its free memory

ROWS_OF_CPU = 512
"""Tokens to run together on a CPU. More are not faster there."""

ROWS_OF_DEVICE = 16384


def device_of(module: Any) -> Any:
    """Return the device of the module's token embedding, or of its first parameter."""
    embedding = module.get_input_embeddings() if hasattr(module, "get_input_embeddings") else None
    weight = getattr(embedding, "weight", None)
    return (next(module.parameters()) if weight is None else weight).device


def free_bytes(device: Any) -> int:
    """Return how much memory one batch may use."""
    import torch

    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(OF_DEVICE * (free + cached))
    if device.type == "cpu":
        try:
            return int(OF_CPU * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (OSError, ValueError):
            return UNKNOWN
    return UNKNOWN


def rows_at_once(device: Any) -> int:
    return ROWS_OF_CPU if device.type == "cpu" else ROWS_OF_DEVICE


def is_out_of_memory(error: BaseException) -> bool:
    import torch

    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "out of memory" in text or "can't allocate memory" in text
    )


def release(device: Any) -> None:
    """Free memory that an exception has left."""
    import torch

    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


class Batching:
    """How many copies to run together: halved each time that the device runs out of memory."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self.rows = rows_at_once(device)

    def in_parts(self, count: int, rows: int, run: Callable[[int, int], None]) -> None:
        """Call run(first, end) for parts of `count` copies of `rows` tokens each."""
        first = 0
        while first < count:
            end = min(count, first + max(1, self.rows // rows))
            failed = False
            try:
                run(first, end)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if end - first == 1:
                    raise OutOfMemory(rows) from error
                failed = True
            if failed:  # not in the handler, whose traceback keeps tensors alive
                release(self._device)
                self.rows = max(1, (end - first) // 2) * rows
                continue
            first = end


class OutOfMemory(Error):
    """Raised if the device has too little memory for one copy of a batch."""

    kind, exit_code = "io", 3  # as for memory of the host

    def __init__(self, rows: int = 0) -> None:
        super().__init__(
            f"the device has too little memory to run {rows} tokens together: use shorter texts"
        )
