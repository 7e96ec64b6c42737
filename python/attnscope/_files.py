"""Atomic writing of output files."""

import os
from pathlib import Path
from uuid import uuid4

from attnscope._errors import error_of
from attnscope._safetensors import Bytes

MOST_LETTERS = 200  # of a file name, which may have at most 255 bytes


def _replace(target: Path, content: Bytes) -> None:
    hidden = target.with_name(f".{target.name[:MOST_LETTERS]}.{uuid4().hex[:8]}")
    try:
        hidden.write_bytes(content.data)
        os.replace(hidden, target)
    finally:
        hidden.unlink(missing_ok=True)


def write(path: str | os.PathLike[str], content: Bytes) -> None:
    """Write a file atomically, or raise IoError.

    Follows a symbolic link. Writes directly to a target that is not a regular file (a pipe, a
    device).
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content.data)
        else:
            _replace(target.resolve() if target.is_symlink() else target, content)
    except OSError as error:
        problem = f"cannot write: {error.strerror}"
        raise error_of("io", f"{path}: {problem}", {"file": str(path), "problem": problem}) from None
