"""HTML display of tables in notebooks."""

import html
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnscope import _describe
from attnscope._columns import valid_of, values_of
from attnscope._picture import Picture
from attnscope._plural import counted

if TYPE_CHECKING:
    from attnscope._table import Table

MOST_ROWS = 60  # of a table that is shown completely
FIRST_ROWS, LAST_ROWS = 20, 10  # shown of a longer table
MOST_ITEMS = 4  # shown of a list in a cell
MOST_NOTES = 5  # of each kind, shown below a table
MISSING = "–"
FIRST = ("tokens", "text")
"""Columns that are shown before other results."""

# Text inherits the notebook's colors, so that it also fits a dark theme.
_BOX = "max-width: 100%; overflow-x: auto"
_HEAD = "vertical-align: bottom; white-space: normal; font-weight: bold; text-align: "
_NUMBER = "text-align: right; white-space: nowrap"
_TEXT = "text-align: left; white-space: nowrap"
_FAINT = "text-align: right; opacity: 0.5"
_PICTURE = "display: inline-block; margin: 4px 12px 4px 0"
LETTERS = 10  # screen pixels that one line of names needs
_PRINTED = "overflow-x: auto; margin: 4px 0; line-height: 1.25"
_SIDE = 320  # width in screen pixels of a picture with few values


def _escaped(text: str) -> str:
    """Escape for HTML. Also escape $, which would start a formula in a notebook."""
    return html.escape(text).replace("$", "&#36;")


def _wrapped(name: str) -> str:
    """Allow line breaks after each underscore of a long name."""
    return _escaped(name).replace("_", "_<wbr>")


def _number(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else f"{value}"


def _token(token: dict[str, Any]) -> str:
    text = token["text"]
    return f"<{token.get('token_id', token.get('id'))}>" if text is None else str(text).replace(" ", "␣")


def _list(value: Any) -> str:
    if len(value) and all(isinstance(item, dict) and "text" in item for item in value):
        return " ".join(_token(item) for item in value)
    array = np.asarray(value)
    if array.ndim > 1:
        return " × ".join(map(str, array.shape)) + " values"
    items = [MISSING if item is None else _number(item) for item in array[:MOST_ITEMS]]
    if len(array) > MOST_ITEMS:
        return f"{len(array)} values: {', '.join(items[:3])}, …"
    return f"[{', '.join(items)}]"


def _cell(name: str, value: Any) -> str:
    """Render one cell: numbers are right-aligned, with four digits."""
    if value is None or value is np.ma.masked:
        return f'<td style="{_FAINT}">{MISSING}</td>'
    if isinstance(value, str):
        # Spaces are part of a token.
        shown = value.replace(" ", "␣") if name == "text" else value
        return f'<td style="{_TEXT}">{_escaped(shown)}</td>'
    if isinstance(value, (list, np.ndarray)):
        return f'<td style="{_TEXT}">{_escaped(_list(value))}</td>'
    if isinstance(value, dict):
        return f'<td style="{_TEXT}">{_escaped(", ".join(value))}</td>'
    return f'<td style="{_NUMBER}">{_number(value)}</td>'


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div style="{_BOX}"><table><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _field_of(name: str, fields: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the field of a column: energy_rank_0.9 is of energy_rank."""
    own = max((field for field in fields if name.startswith(field)), key=len, default=None)
    return {} if own is None else fields[own]


def _importance(name: str, fields: Mapping[str, dict[str, Any]]) -> int:
    """Return the sort key of a column: first what the row is of, then what `print` shows."""
    field = _field_of(name, fields)
    if name == "scope" or field.get("is_place"):
        return 0
    return 1 if name in FIRST else 2 if field.get("heading") else 3


def important(table: "Table") -> list[str]:
    """Return the columns that `print` shows of a part of a table."""
    fields = _describe.meanings(table.command)
    ranked = {name: _importance(name, fields) for name in table.columns}
    shown = [name for name, rank in ranked.items() if rank < 3]
    return shown if 2 in ranked.values() else table.columns


def _rows(table: "Table") -> str:
    """Render the columns that are not all null, under the names that `table[name]` takes."""
    fields = _describe.meanings(table.command)
    names = table.columns
    if table._is_whole:
        names = sorted(names, key=lambda name: _importance(name, fields))
    heads, columns = [], []
    for name in names:
        column = table._column(name)
        values, valid = values_of(column), valid_of(column)
        if column["type"] == "null" or (valid is not None and not valid.any()):
            continue
        meaning = html.escape(_field_of(name, fields).get("meaning", ""))
        side = "right" if column["type"] in ("number", "boolean") else "left"
        heads.append(f'<th style="{_HEAD}{side}" title="{meaning}">{_wrapped(name)}</th>')
        columns.append((name, values, valid))

    def row(index: int) -> str:
        return "".join(
            _cell(name, values[index] if valid is None or valid[index] else None)
            for name, values, valid in columns
        )

    count = len(table)
    if count <= MOST_ROWS:
        return _table(heads, map(row, range(count)))
    skipped = f"… {count - FIRST_ROWS - LAST_ROWS} rows"
    gap = f'<td colspan="{len(columns)}" style="text-align: left; opacity: 0.5">{skipped}</td>'
    first, last = range(FIRST_ROWS), range(count - LAST_ROWS, count)
    return _table(heads, [*map(row, first), gap, *map(row, last)])


def _titled(table: "Table") -> Iterable[tuple[dict[str, Any], str]]:
    """Return each model with its title. The models of a pickle may lack what a title states."""
    is_known = table._origin != "pickle"
    titles = table._report.model_titles if is_known else [""] * len(table.models)
    return zip(table.models, titles, strict=True)


def _printed(table: "Table") -> str:
    """Render the table that `print` shows, above all rows and columns, which can be opened."""
    rows = _rows(table)
    if table.command == "info" or not table._is_complete or not len(table):
        return rows
    size = f"{counted(len(table), 'row')}, {counted(len(table.columns), 'column')}"
    titles = [f"{model.get('name')}  {title}" for model, title in _titled(table)]
    lines = [line for line in repr(table).splitlines() if line not in titles]
    printed = _escaped("\n".join(lines).strip("\n"))
    return (
        f'<pre style="{_PRINTED}">{printed}</pre>'
        f"<details><summary><small>all values: {size}</small></summary>{rows}</details>"
    )


def _fact(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if value is None:
        return MISSING
    return _escaped(value) if isinstance(value, str) else _number(value)


def facts(models: Sequence[dict[str, Any]]) -> str:
    """Render model metadata: one row per entry, one column per model."""
    names = [name for name in dict.fromkeys(key for model in models for key in model)]
    single = [
        name
        for name in names
        if name != "name" and not any(isinstance(m.get(name), (list, dict)) for m in models)
    ]
    called = [_escaped(str(model.get("name"))) for model in models]
    heads = [f'<th style="{_HEAD}right">{name}</th>' for name in ["", *called]]

    def row(name: str) -> str:
        values = [model.get(name) for model in models]
        cells = "".join(f'<td style="{_NUMBER}">{_fact(value)}</td>' for value in values)
        return f'<td style="{_TEXT}">{_escaped(name)}</td>{cells}'

    return _table(heads, map(row, single))


def _line(text: str) -> str:
    return f"<div><small>{_escaped(text)}</small></div>"


def _about(model: dict[str, Any], title: str) -> str:
    """Render the line that introduces a model, as in the command line's tables."""
    return f"<div><b>{_escaped(str(model.get('name')))}</b> <small>{_escaped(title)}</small></div>"


def _spelt(tokens: list[dict[str, Any]]) -> str:
    """Join token texts. A token without text is shown as its id, as in the command line's tables."""
    return "".join(f"<{token['id']}>" if token["text"] is None else token["text"] for token in tokens)


def _written(model: dict[str, Any]) -> str:
    """Render the prompt of a model and the text generated after it."""
    after = model.get("generated")
    if after is None:
        return ""
    text = _spelt(after["tokens"]) if after["text"] is None else after["text"]
    shown = f"{_escaped(_spelt(model.get('tokens') or []))}<b>{_escaped(text)}</b>"
    return f'<pre style="white-space: pre-wrap; margin: 4px 0">{shown}</pre>'


def _skipped(entry: dict[str, Any]) -> str:
    parts = ("model", "layer", "matrix", "head")
    what = [f"{part} {entry[part]}" for part in parts if entry.get(part) not in (None, "")]
    return f"skipped: {', '.join(what)} ({entry['reason']})"


def _notes(table: "Table") -> str:
    lines = []
    for notes in ([*map(_skipped, table.skipped)], table.notes):
        lines += notes[:MOST_NOTES]
        if len(notes) > MOST_NOTES:
            lines.append(f"… {len(notes) - MOST_NOTES} more")
    return "".join(map(_line, lines))


def _picture(picture: Picture) -> str:
    """Render an image, with the names of its rows and columns if it has any."""
    height, width = picture.values.shape
    scale = max(1, min(24, _SIDE // max(height, width)))
    names = picture.labels if picture.labels and scale >= LETTERS else []
    edge = 8 * min(12, max(map(len, names), default=0))
    written = "".join(
        f'<text x="{edge - 4}" y="{edge + (at + 0.7) * scale}" text-anchor="end">{name}</text>'
        f'<text transform="translate({edge + (at + 0.7) * scale} {edge - 4}) rotate(-90)">{name}'
        "</text>"
        for at, name in enumerate(_escaped(name[:12]) for name in names)
    )
    source = b64encode(picture.png()).decode()
    box = f'width="{width * scale}" height="{height * scale}"'
    return (
        f'<figure style="{_PICTURE}"><svg width="{edge + width * scale + 1}" '
        f'height="{edge + height * scale + 1}" font-size="11" font-family="sans-serif" '
        f'fill="currentColor"><image x="{edge}" y="{edge}" {box} preserveAspectRatio="none" '
        f'style="image-rendering: pixelated" href="data:image/png;base64,{source}"/>'
        f'<rect x="{edge + 0.5}" y="{edge + 0.5}" {box} fill="none" stroke="gray"/>{written}</svg>'
        f"<figcaption><small>{_escaped(picture.title)}, {height} × {width}, "
        f"{_number(picture.low)} to {_number(picture.high)}</small></figcaption></figure>"
    )


def shown(table: "Table", pictures: Sequence[Picture]) -> str:
    """Render a table: its pictures if there are any, else its rows."""
    if table.command == "info":
        about = facts(table.models)
    else:
        about = "".join(_about(model, title) for model, title in _titled(table))
    content = "".join(map(_picture, pictures)) if pictures else _printed(table)
    skipped = f", {len(table.skipped)} skipped" if table.skipped else ""
    size = f"{table.command}: {counted(len(table), 'row')}, {counted(len(table.columns), 'column')}{skipped}"
    written = "".join(map(_written, table.models))
    return f"<div>{about}{written}{content}{_line(size)}{_notes(table)}</div>"
