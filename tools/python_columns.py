"""Columns of each command's tables as text, from the descriptions of fields. For make_python_sources.py."""

import textwrap

WIDTH = 100
SCOPE = {
    "names": ["scope"],
    "unit": "",
    "with": "",
    "meaning": "what the row describes: head, matrix or layer. CSV and JSON do not have this column.",
    "items": [],
}
MORE = "…"
KEYWORDS = {"tokens_hash": "text"}  # keywords that lead to a parameter of the report
EXAMPLES = {"by_threshold": "0.9", "by_rank": "512"}  # of keys that a call chooses


def paragraph(text, first, rest):
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=rest)


def keys_of(field):
    """Return the last parts of the column names of a map or list. An ellipsis stands for other keys."""
    if field["form"] in EXAMPLES:
        return [*(field["keys"] or [EXAMPLES[field["form"]]]), MORE]
    return field["keys"]


def columns_of(field, outer="", inherited=""):
    """Return the columns of a field, each with its meaning. A record's fields are columns of their own."""
    name = f"{outer}{field['name']}"
    keyword = KEYWORDS.get(field["with"], field["with"]) or inherited
    column = {"with": keyword, "unit": field["unit"], "meaning": field["meaning"], "items": []}
    keys = keys_of(field)
    if not field["fields"] or field["form"] == "list":
        names = [key if key == MORE else f"{name}_{key}" for key in keys]
        return [column | {"names": names or [name], "items": field["fields"]}]
    columns = [column | {"names": [f"{name}_{MORE}"]}]  # what the following columns have in common
    for inner in field["fields"]:
        for own in columns_of(inner, f"{name}_{keys[0]}_" if keys else f"{name}_", keyword):
            columns.append(own | {"names": own["names"] + keys[-1:]})
    return columns


def line_of(column, indent):
    """Return the entry of one column: names, unit, the keyword that it needs, and meaning."""
    remarks = [column["unit"], f"with {column['with']}" if column["with"] else ""]
    shown = "; ".join(remark for remark in remarks if remark)
    title = ", ".join(column["names"]) + (f" ({shown})" if shown else "")
    lines = [paragraph(f"{title}: {column['meaning']}", f"{indent}- ", f"{indent}  ")]
    for item in column["items"]:
        unit = f" ({item['unit']})" if item["unit"] else ""
        lines.append(paragraph(f"{item['name']}{unit}: {item['meaning']}", f"{indent}  - ", f"{indent}    "))
    return "\n".join(lines)


def columns_of_kind(kind):
    columns = []
    for field in kind["fields"]:
        columns += columns_of(field)
        if field["name"] == "head" and kind["has_scope"]:
            columns.append(SCOPE)
    return columns


def columns_text(command, indent):
    """Return the lines that describe the columns of each kind of rows. Columns described before are only named."""
    lines = []
    known = {}  # the last description of each column
    for kind in command["kinds"]:
        option = f", with {kind['option']}" if kind["option"] else ""
        lines += ["", paragraph(f"Rows{option}: {kind['meaning']}.", indent, indent)]
        columns = [(tuple(column["names"]), line_of(column, indent)) for column in columns_of_kind(kind)]
        again = [names for names, line in columns if known.get(names) == line]
        if again:
            lines.append(paragraph(f"As above: {', '.join(map(', '.join, again))}.", indent, indent))
        lines += [line for names, line in columns if known.get(names) != line]
        known.update(columns)
    return lines
