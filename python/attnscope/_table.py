"""The result of a command as a table."""

import copy
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from attnscope import _core, _html
from attnscope._columns import Buffers, array_of, pandas_array
from attnscope._drawn import Drawn
from attnscope._errors import UsageError, UsageIndexError, UsageTypeError
from attnscope._files import write
from attnscope._grid import grid, scalars
from attnscope._guidance import Hinted, Named, guided, no_attribute
from attnscope._head_view import Maps
from attnscope._hints import OF_TABLES
from attnscope._matrix_pictures import matrix_of
from attnscope._parquet import parquet_of
from attnscope._plural import counted
from attnscope._rows import SHAPE, Row, equal, flat, names_of, of_shape, unknown
from attnscope._selection import Mask, Predicate, csv_of, is_mask, json_of, lines_of, rows_of_mask, test_of
from attnscope._values import Path

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

MOST_LINES = 60  # shown of a table in a terminal
_NUMPY = ("dtype", "ndim")
"""Names of columns that are not attributes, because libraries would take the table for an array."""


@guided
class Table(Drawn, Hinted):
    """Rows of one command, with the same names and numbers as the command line's CSV.

    `table["stable_rank"]` is a column as an array, `table[0]` a row as a dict, `table[:3]` a list of
    rows, and `table[["layer", "stable_rank"]]` a table with these columns. A mask selects rows:
    `table[table["layer"] == 3]`. Iteration yields rows. Arrays are read-only, and views of the
    table's memory if possible.

    A column has the same type in every table: nulls do not change it. The column `scope` states
    what a row describes: a head, a matrix or a layer. Only Python's tables have it.

    `table.entropy` is also a column, unless a method or property has this name.
    """

    _hints = OF_TABLES

    def __init__(self, report: _core.Report, arrays: dict[str, NDArray[Any]]) -> None:
        self._report = report
        self.arrays: dict[str, NDArray[Any]] = Named(arrays)
        """Requested arrays, in addition to the rows: attentions, hidden_states, logits, ..."""
        self.tokens: list[str] | None = None
        """Texts of the tokens of `arrays`, for labels. None: no tokenizer, or no arrays."""
        self._origin: Literal["run", "filter", "pickle"] = "run"
        self._maps_of: Callable[[int | None], Maps] | None = None

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

    @cached_property
    def _names(self) -> list[str]:
        """The keys of a row."""
        return names_of(self.columns)

    @cached_property
    def _whole(self) -> "Table":
        """The table with all its columns."""
        if self._report.only is None:
            return self
        return self._like(self._report.with_columns(None))

    def _whole_rows(self) -> Iterator[Row]:
        return iter(self._whole)

    def _row(self, index: int) -> Row:
        return flat(self._report.row(index), self._names)

    def __len__(self) -> int:
        return len(self._report)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self), len(self.columns)

    def __iter__(self) -> Iterator[Row]:
        return map(self._row, range(len(self)))

    def __contains__(self, name: object) -> bool:
        """Return whether the table has the column."""
        return name in self.columns or name in self._names

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...
    @overload
    def __getitem__(self, key: list[str] | tuple[str, ...] | list[bool] | Mask) -> "Table": ...
    def __getitem__(
        self,
        key: str | int | np.integer[Any] | slice | list[str] | tuple[str, ...] | list[bool] | Mask,
    ) -> "NDArray[Any] | Row | list[Row] | Table":
        if isinstance(key, str):
            return self._array(key)
        if is_mask(key):
            return self._with_rows(rows_of_mask(key, len(self)))
        if isinstance(key, (list, tuple)):
            return self._restricted([str(name) for name in key])
        if isinstance(key, slice):
            return [self._row(index) for index in range(*key.indices(len(self)))]
        try:
            number = operator.index(key)
        except TypeError:
            kind = type(key).__name__
            raise UsageTypeError(
                f"expected a column name, a row number, a slice, a list of names or a mask, not {kind}"
            ) from None
        index = number + len(self) if number < 0 else number
        if not 0 <= index < len(self):
            raise UsageIndexError(f"the table has {counted(len(self), 'row')}")
        return self._row(index)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise no_attribute("Table", name, (), {})
            if name in _NUMPY or name not in (*self.columns, *self._names):
                public = [one for one in dir(type(self)) if not one.startswith("_")]
                raise no_attribute("Table", name, [*public, *self.columns], OF_TABLES)
            return self[name]

    def __dir__(self) -> list[str]:
        names = [name for name in self._names if name.isidentifier()]
        return sorted({*super().__dir__(), *names} - set(_NUMPY))

    def _array(self, name: str) -> NDArray[Any]:
        if name == SHAPE and SHAPE not in self.columns and SHAPE in self._names:
            parts = [self._array(column) for column in self.columns if of_shape(column)]
            stack = np.ma.stack if any(map(np.ma.isMaskedArray, parts)) else np.stack
            shapes: NDArray[Any] = stack(parts, axis=1)
            return shapes
        return array_of(self._column(name))

    def _column(self, name: str) -> Buffers:
        """Return the buffers of a column."""
        if name not in self.columns:
            raise unknown(name, self.columns)
        return self._report.column(self.columns.index(name))

    def _restricted(self, names: list[str]) -> "Table":
        columns: list[str] = []
        for name in names:
            own = [name] if name in self.columns else []
            if name == SHAPE and not own:
                own = [column for column in self.columns if of_shape(column)]
            if not own:
                raise unknown(name, self.columns)
            columns += own
        return self._like(self._report.with_columns(list(dict.fromkeys(columns))))

    def filter(self, predicate: Predicate | Mask | None = None, /, **where: Any) -> "Table":
        """Return a table of the rows whose columns have the given values.

        `table.filter(layer=3, matrix=["q", "k"], head=None)`: a list, set or range stands for any
        of its values, and None for null. `predicate`: a function of a row, or a mask.
        """
        if isinstance(predicate, np.ndarray):
            return self[predicate].filter(**where)
        matches = test_of(predicate, where, self._whole._names)
        return self._with_rows([at for at, row in enumerate(self._whole_rows()) if matches(row)])

    def head(self, count: int = 5) -> "Table":
        """Return a table of the first rows. If `count` is negative: without the last rows."""
        return self._with_rows(range(len(self))[: _whole_number(count)])

    def tail(self, count: int = 5) -> "Table":
        """Return a table of the last rows. If `count` is negative: without the first rows."""
        return self._with_rows(range(len(self))[-count:] if _whole_number(count) else [])

    def _with_rows(self, rows: Sequence[int]) -> "Table":
        if len(rows) == len(self):
            return self
        table = self._like(self._report.with_rows(list(rows)))
        table._origin = "filter" if self._origin == "run" else self._origin
        return table

    def _like(self, report: _core.Report, arrays: dict[str, NDArray[Any]] | None = None) -> "Table":
        table = Table(report, self.arrays if arrays is None else arrays)
        table.tokens, table._origin, table._maps_of = self.tokens, self._origin, self._maps_of
        return table

    def __eq__(self, other: object) -> bool:
        """Return whether both tables have the same command, parameters, columns and values."""
        if not isinstance(other, Table):
            return NotImplemented
        if self._report is other._report and self.arrays is other.arrays:
            return True
        return (
            (self.command, self.columns, len(self)) == (other.command, other.columns, len(other))
            and equal(self.parameters, other.parameters)
            and all(map(equal, self, other))
            and equal(self.arrays, other.arrays)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._report.state(), self.arrays, self.tokens)

    def __copy__(self) -> "Table":
        return self._like(self._report, dict(self.arrays))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Table":
        return self._like(self._report, copy.deepcopy(self.arrays, memo))

    def _ipython_key_completions_(self) -> list[str]:
        return list(dict.fromkeys([*self.columns, *self._names]))

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: Path) -> None: ...
    def to_json(self, path: Path | None = None) -> str | None:
        """Return the rows as JSON, or write them to a file.

        They are the same bytes as the command line's --format json. If columns are selected, rows
        are flat and have only these columns.
        """
        text = self._report.text("json")
        return _given(path, text if self._is_whole else json_of(text, self._names))

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: Path) -> None: ...
    def to_csv(self, path: Path | None = None) -> str | None:
        """Return the rows as CSV, or write them to a file.

        They are the same bytes as the command line's --format csv. If columns are selected, the
        text has only these columns.
        """
        text = self._report.text("csv")
        return _given(path, text if self._is_whole else csv_of(text, self.columns, len(self)))

    def to_parquet(self, path: Path) -> None:
        """Write the rows to a Parquet file. Needs pyarrow or polars."""
        write(path, parquet_of(self))

    @property
    def _is_whole(self) -> bool:
        """Whether no columns were selected."""
        return self._report.only is None

    @property
    def _is_complete(self) -> bool:
        """Whether the rows are all those of a run, which the command line's table requires."""
        return self._is_whole and self._origin == "run"

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
        """Return a pandas.DataFrame.

        Texts and booleans have pandas' types `string` and `boolean`, and integers with nulls have
        `Int64`. Only lists are objects.
        """
        import pandas

        return pandas.DataFrame(
            {name: pandas.Series(pandas_array(self._column(name))) for name in self.columns}
        )

    def to_numpy(self, name: str | None = None) -> NDArray[np.float64]:
        """Return a column of numbers as an array (layers, heads); NaN where the table has no row.

        Without a name, for the rows of one matrix: the matrix. For activation patching of one
        component: (layers, heads, positions), or (layers, positions) if it has no heads.

        Rows of whole matrices and layers are not used. If several rows have the same layer and
        head, for example of several matrices, select one of them with `filter` first.
        """
        if name is None and hasattr(self, "__array__"):
            return np.asarray(self, dtype=np.float64)
        if name is None:
            raise UsageTypeError("to_numpy: missing column, as in table.to_numpy('entropy')")
        if name not in self.columns:
            raise unknown(name, self.columns)
        return grid(self, name)

    def to_scalars(self) -> dict[str, float]:
        """Return all numbers as a flat dict, for TensorBoard, Weights & Biases or MLflow.

        Names are such as "attention/entropy/layer_0/head_3".
        """
        return scalars(self)

    @property
    def __array__(self) -> Callable[..., NDArray[Any]]:
        """Only for the rows of one matrix: its values, for `numpy.asarray(table)`."""
        values = self._picture_values
        if values is None or len({matrix_of(row) for row in self._whole_rows()}) != 1:
            raise AttributeError("__array__: only the rows of one matrix are an array")
        rows = [row[values] for row in self._whole_rows()]

        def array(dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
            if copy is False:
                raise UsageError("the array cannot be made without a copy")
            return np.array(rows, dtype=dtype)

        return array

    @cached_property
    def _picture_values(self) -> str | None:
        """The column with the rows of matrices. None: the rows are not those of matrices."""
        if self.command not in ("matrix", "similarity", "attention") or not len(self):
            return None
        columns = self._whole.columns
        return next((name for name in ("weights", "values") if name in columns), None)

    def __repr__(self) -> str:
        if self._is_complete:
            lines = self._report.text("table").splitlines()
        else:
            columns = _html.important(self) if self._is_whole else self.columns
            lines = lines_of(iter(self), names_of(columns))
        if len(lines) > MOST_LINES:
            skipped = f"... {len(lines) - MOST_LINES} more lines; print(table.to_csv()) shows all"
            lines = [*lines[: MOST_LINES - 10], skipped, *lines[-10:]]
        return "\n".join(lines) or f"<attnscope.Table of {self.command}, {counted(len(self), 'row')}>"

    def _repr_html_(self) -> str:
        return _html.shown(self, self._pictures)


def _restored(
    state: dict[str, Any], arrays: dict[str, NDArray[Any]], tokens: list[str] | None
) -> Table:
    table = Table(_core.Report.from_state(state), arrays)
    table.tokens, table._origin = tokens, "pickle"
    return table


def _whole_number(count: Any) -> int:
    try:
        return operator.index(count)
    except TypeError:
        raise UsageTypeError(f"count: expected a whole number, not {count!r}") from None


def _given(path: Path | None, text: str) -> str | None:
    """Write the text to a file, or return it."""
    if path is None:
        return text
    write(path, np.frombuffer(text.encode(), np.uint8))
    return None
