"""The result of a command as a table."""

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from attnscope import _core, _html
from attnscope._columns import Buffers, array_of, valid_of, values_of
from attnscope._page import Page
from attnscope._picture import Picture, reduced
from attnscope._plural import counted

if TYPE_CHECKING:
    import altair
    import pandas
    import polars
    import pyarrow

MOST_LINES = 60  # shown of a table in a terminal

OF_PAGES = ("spectrum", "weights", "similarity", "circuits", "attention")
"""Commands whose rows a report can show."""

OF_ONE_HEAD = ("head-among-heads", "attention-heads-of-layer")
"""Charts that depend on a selection in the report; here they show the first head or layer."""


class Table:
    """Rows of one command, with the same names and numbers as the command line's CSV and JSON.

    `table["stable_rank"]` is a column as an array, `table[0]` a row as a dict, and `table[:3]` a
    list of rows. Iteration yields rows. Arrays are read-only, and views of the table's memory if
    possible.
    """

    def __init__(self, report: _core.Report, arrays: dict[str, NDArray[Any]]) -> None:
        self._report = report
        self.arrays = arrays
        """Requested arrays, in addition to the rows: attentions, hidden_states, logits, ..."""

    @property
    def command(self) -> str:
        return self._report.command

    @cached_property
    def models(self) -> list[dict[str, Any]]:
        """Metadata of each model."""
        return self._report.models

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The requested parameters that affect the rows."""
        return self._report.parameters

    @cached_property
    def skipped(self) -> list[dict[str, Any]]:
        """Matrices and heads that could not be analyzed, with the reason."""
        return self._report.skipped

    @property
    def notes(self) -> list[str]:
        """Remarks about the results that are not errors."""
        return self._report.notes

    @cached_property
    def columns(self) -> list[str]:
        return self._report.column_names()

    def __len__(self) -> int:
        return len(self._report)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._report.row(index) for index in range(len(self)))

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> list[dict[str, Any]]: ...
    def __getitem__(
        self, key: str | int | slice
    ) -> NDArray[Any] | dict[str, Any] | list[dict[str, Any]]:
        if isinstance(key, str):
            return array_of(self._column(key))
        if isinstance(key, slice):
            return [self._report.row(index) for index in range(*key.indices(len(self)))]
        index = key + len(self) if key < 0 else key
        if not 0 <= index < len(self):
            raise IndexError(f"the table has {counted(len(self), 'row')}")
        return self._report.row(index)

    def _column(self, name: str) -> Buffers:
        """Return the buffers of a column."""
        if name not in self.columns:
            raise KeyError(f"{name}; columns: {', '.join(self.columns)}")
        return self._report.column(self.columns.index(name))

    def to_json(self) -> str:
        """Return the rows as JSON: the same bytes as the command line's --format json."""
        return self._report.text("json")

    def to_csv(self) -> str:
        """Return the rows as CSV: the same bytes as the command line's --format csv."""
        return self._report.text("csv")

    def __arrow_c_schema__(self) -> object:
        return self._report.arrow_schema()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._report.arrow_stream()

    def to_arrow(self) -> "pyarrow.Table":
        """Return a pyarrow.Table that shares the table's memory."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> "polars.DataFrame":
        """Return a polars.DataFrame that shares the table's memory."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a pandas.DataFrame. Nullable integers and booleans have pandas' nullable dtypes."""
        import pandas

        columns = {}
        for name in self.columns:
            column = self._column(name)
            values, valid = values_of(column), valid_of(column)
            nullable = valid is not None and values.dtype.kind in "ib"
            if nullable:
                make = pandas.arrays.BooleanArray if values.dtype.kind == "b" else (
                    pandas.arrays.IntegerArray
                )
                columns[name] = pandas.Series(make(values, ~np.asarray(valid)))
            else:
                columns[name] = pandas.Series(array_of(column))
        return pandas.DataFrame(columns)

    @cached_property
    def charts(self) -> dict[str, dict[str, Any]]:
        """Vega-Lite specifications, including data, of the charts that a report has for these rows.

        `plot()` shows the first one by default.
        """
        if self._pictures:
            return {_file_name(picture.title): picture.chart() for picture in self._pictures}
        # A report's overview repeats charts of other views. Keep the later name, from that view.
        names = {text: name for name, text in _core.charts(self._report) if _has_data(text)}
        ordered = sorted(names.items(), key=lambda entry: _place(entry[1]))
        return {name: json.loads(text) for text, name in ordered}

    @cached_property
    def _pictures(self) -> list[Picture]:
        """The rows as images, if they are the rows of matrices."""
        if self.command not in ("matrix", "similarity", "attention"):
            return []
        values = next((name for name in ("weights", "values") if name in self.columns), None)
        if values is None or not len(self):
            return []
        return list(_pictures(self, values))

    def page(self) -> Page:
        """Return a report page that has only these rows."""
        if self.command not in OF_PAGES or self._pictures:
            raise ValueError(f"{self.command}: rows with these keywords have no page")
        created = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        content = np.frombuffer(_core.page(self._report, created), np.uint8)
        return Page(content, self.notes, None)

    def plot(self, name: str | None = None) -> "altair.Chart":
        """Return one of `charts` as an Altair chart.

        `name`: the chart's name or a unique suffix of it (default: the first chart).
        """
        import altair

        if not self.charts:
            raise ValueError(f"{self.command}: rows with these keywords have no chart")
        if name is None:
            name = next(iter(self.charts))
        if name not in self.charts:
            ends = [chart for chart in self.charts if chart.endswith(f"-{name}")]
            if len(ends) != 1:
                raise KeyError(f"{name}; charts: {', '.join(ends or self.charts)}")
            name = ends[0]
        return altair.Chart.from_dict(self.charts[name])

    def __repr__(self) -> str:
        lines = self._report.text("table").splitlines()
        if len(lines) > MOST_LINES:
            skipped = f"... {len(lines) - MOST_LINES} more lines; print(table.to_csv()) shows all"
            lines = [*lines[: MOST_LINES - 10], skipped, *lines[-10:]]
        return "\n".join(lines) or f"<attnscope.Table of {self.command}, {counted(len(self), 'row')}>"

    def _repr_html_(self) -> str:
        return _html.shown(self, self._pictures)


def _has_data(chart: str) -> bool:
    """Return whether a specification has data: more than the header line of its table."""
    data = json.loads(chart).get("data", {}).get("values")
    return not isinstance(data, str) or data.count("\n") > 1


def _place(chart: str) -> int:
    """Return the sort key: charts that compare models first, charts of one head last."""
    return -1 if chart.startswith("models-") else int(chart.endswith(OF_ONE_HEAD))


def _file_name(title: str) -> str:
    return title.replace(",", "").replace(" ", "-")


def _pictures(table: Table, values: str) -> Iterator[Picture]:
    """Yield one picture per matrix. Its rows have the same model, layer, matrix and head."""
    matrices: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table:
        key = tuple(row.get(name) for name in ("model", "layer", "matrix", "head"))
        matrices.setdefault(key, []).append(row)
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
