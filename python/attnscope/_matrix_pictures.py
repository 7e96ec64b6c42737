"""The rows of matrices as images."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from attnscope._picture import Picture, reduced
from attnscope._rows import Row

if TYPE_CHECKING:
    from attnscope._table import Table


def matrix_of(row: Row) -> tuple[Any, ...]:
    """Return what identifies the matrix of a row."""
    return tuple(row.get(name) for name in ("model", "layer", "matrix", "head"))


def file_name(title: str) -> str:
    """Return the title as the name of a chart."""
    return title.replace(",", "").replace(" ", "-")


def pictures_of(table: "Table", values: str) -> Iterator[Picture]:
    """Yield one picture per matrix. Its rows have the same model, layer, matrix and head."""
    matrices: dict[tuple[Any, ...], list[Row]] = {}
    for row in table:
        matrices.setdefault(matrix_of(row), []).append(row)
    for (model, layer, matrix, head), rows in matrices.items():
        entries = np.array([row[values] for row in rows], dtype=np.float64)
        pixels, side = reduced(np.where(np.isfinite(entries), entries, np.nan))
        of_head = "" if head is None else f" head {head}"
        several = f"{model} " if len(table.models) > 1 else ""
        kind = {"similarity": "cosines of ", "attention": "map of "}.get(table.command, "")
        title = f"{several}{kind}{f'{matrix} ' if matrix else ''}layer {layer}{of_head}"
        of_tokens = table.command == "attention"
        column = "to token" if of_tokens else "column" if table.command == "matrix" else "row"
        yield Picture(
            title=title if side == 1 else f"{title}, {side} × {side} values per pixel",
            values=pixels,
            signed=not of_tokens,
            row_title="from token" if of_tokens else "row",
            column_title=column,
            labels=[str(row["text"]) for row in rows] if of_tokens else None,
        )
