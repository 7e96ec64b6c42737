"""What a command found, as a table."""

import html
import json
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from attnscope import _core, _describe
from attnscope._columns import array_of, valid_of, values_of

if TYPE_CHECKING:
    import altair
    import pandas
    import polars
    import pyarrow

MOST_LINES = 60  # of a table that is shown without being asked for


class Table:
    """Rows of one command, with the same names and numbers as the command line's CSV and JSON.

    `table["stable_rank"]` is a column as an array, `table[0]` a row as a dict; a Table is iterated
    by rows. Arrays are views of the table's own memory where they can be, and cannot be written to.
    """

    def __init__(self, report: _core.Report, arrays: dict[str, NDArray[Any]]) -> None:
        self._report = report
        self.arrays = arrays
        """Arrays that were asked for beside the rows: attentions, hidden_states, logits, ..."""

    @property
    def command(self) -> str:
        return self._report.command

    @cached_property
    def models(self) -> list[dict[str, Any]]:
        """Facts of each model."""
        return self._report.models

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """What was asked for, as far as it decides the rows."""
        return self._report.parameters

    @cached_property
    def skipped(self) -> list[dict[str, Any]]:
        """Matrices and heads that could not be analysed, and why."""
        return self._report.skipped

    @property
    def notes(self) -> list[str]:
        """What a reader should know though nothing is missing."""
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
    def __getitem__(self, key: str | int) -> NDArray[Any] | dict[str, Any]:
        if isinstance(key, str):
            return array_of(self._column(key))
        index = key + len(self) if key < 0 else key
        if not 0 <= index < len(self):
            raise IndexError(f"the table has {len(self)} rows")
        return self._report.row(index)

    def _column(self, name: str) -> dict[str, Any]:
        if name not in self.columns:
            raise KeyError(f"{name}; columns: {', '.join(self.columns)}")
        return self._report.column(self.columns.index(name))

    def to_json(self) -> str:
        """The same bytes as the command line's --format json."""
        return self._report.text("json")

    def to_csv(self) -> str:
        """The same bytes as the command line's --format csv."""
        return self._report.text("csv")

    def __arrow_c_schema__(self) -> object:
        return self._report.arrow_schema()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._report.arrow_stream()

    def to_arrow(self) -> "pyarrow.Table":
        """A pyarrow.Table over the table's own memory."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> "polars.DataFrame":
        """A polars.DataFrame over the table's own memory."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> "pandas.DataFrame":
        """A pandas.DataFrame; whole numbers and truths that may be null have pandas' own types."""
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
        """Vega-Lite specifications, with their data, of what a report draws from these rows."""
        return {name: json.loads(text) for name, text in _core.charts(self._report)}

    def plot(self, name: str | None = None) -> "altair.Chart":
        """One of `charts` as an Altair chart; the first where none is named."""
        import altair

        if not self.charts:
            raise ValueError(f"rows of {self.command} with these keywords have no chart")
        if name is None:
            name = next(iter(self.charts))
        if name not in self.charts:
            raise KeyError(f"{name}; charts: {', '.join(self.charts)}")
        return altair.Chart.from_dict(self.charts[name])

    def __repr__(self) -> str:
        lines = self._report.text("table").splitlines()
        if len(lines) > MOST_LINES:
            left_out = f"... {len(lines) - MOST_LINES} more lines; print(table.to_csv()) has all"
            lines = [*lines[: MOST_LINES - 10], left_out, *lines[-10:]]
        return "\n".join(lines) or f"<attnscope.Table of {self.command}, {len(self)} rows>"

    def _shown(self) -> list[tuple[str, str, str]]:
        """Columns of single values that a table shows: name, heading, meaning."""
        meanings = _describe.meanings(self.command)
        shown = []
        for name in self.columns:
            field = max((own for own in meanings if name.startswith(own)), key=len, default=None)
            if field is None or self._column(name)["type"] in ("list", "record", "null"):
                continue
            heading = meanings[field]["heading"] or name
            of = name.removeprefix(field).removeprefix("_")
            shown.append((name, f"{heading} {of}".strip(), meanings[field]["meaning"]))
        return shown

    def _repr_html_(self) -> str:
        shown = self._shown()
        head = "".join(
            f'<th title="{html.escape(meaning)}">{html.escape(heading)}</th>'
            for _, heading, meaning in shown
        )
        half = MOST_LINES // 2
        rows = list(range(len(self)))
        parts = [rows] if len(rows) <= MOST_LINES else [rows[:half], rows[-half:]]
        columns = [values_and_valid(self._column(name)) for name, _, _ in shown]
        gap = f'<tr><td colspan="{len(shown)}">...</td></tr>'
        body = gap.join(
            "".join(
                "<tr>" + "".join(cell(values, valid, row) for values, valid in columns) + "</tr>"
                for row in part
            )
            for part in parts
        )
        size = f"{self.command}: {len(self)} rows, {len(self.columns)} columns"
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<small>{html.escape(size)}{skipped}</small>"
        )


def values_and_valid(column: dict[str, Any]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    return values_of(column), valid_of(column)


def cell(values: NDArray[Any], valid: NDArray[np.bool_] | None, row: int) -> str:
    """Numbers stand to the right, with four digits."""
    value = values[row]
    if value is None or (valid is not None and not valid[row]):
        return "<td></td>"
    if isinstance(value, np.floating):
        return f'<td style="text-align: right">{value:.4g}</td>'
    if isinstance(value, np.integer):
        return f'<td style="text-align: right">{value}</td>'
    return f'<td style="text-align: left">{html.escape(str(value))}</td>'
