"""Parquet files of tables."""

import io
from typing import TYPE_CHECKING

import numpy as np

from attnscope._errors import error_of
from attnscope._safetensors import Bytes

if TYPE_CHECKING:
    from attnscope._table import Table


def parquet_of(table: "Table") -> Bytes:
    """Return the content of a Parquet file, written by pyarrow or polars."""
    content = io.BytesIO()
    try:
        import pyarrow.parquet
    except ImportError:
        try:
            import polars
        except ImportError:
            problem, hint = "to_parquet: needs pyarrow or polars", "pip install pyarrow"
            raise error_of(
                "unsupported", f"{problem} ({hint})", {"problem": problem, "hint": hint}
            ) from None
        polars.DataFrame(table).write_parquet(content)
    else:
        pyarrow.parquet.write_table(table.to_arrow(), content)
    return np.frombuffer(content.getvalue(), np.uint8)
