"""Writes a page for each command: its options, and its examples with what they print."""

from markdown import cell, code, fenced, table

MOST_LINES, MOST_COLUMNS = 36, 160


def shortened(text):
    lines = [line if len(line) <= MOST_COLUMNS else line[:MOST_COLUMNS] + " …" for line in text.rstrip().splitlines()]
    left = len(lines) - MOST_LINES
    return "\n".join(lines if left <= 1 else [*lines[:MOST_LINES], f"… {left} more lines"])


def example(run):
    parts = [fenced("$ " + run.line, "console")]
    if run.stands_for:
        parts.append(f"{cell(run.stands_for)}.\n")
    if run.output.strip():
        parts.append(fenced(shortened(run.output)))
    if run.notes.strip():
        parts.append("Notes, on stderr:\n\n" + fenced(shortened(run.notes)))
    if run.was_run and not run.output.strip():
        parts.append("No output: the result is in the file that the command names.\n")
    return "\n".join(parts)


def asked_by(field):
    """Return what selects rows of the field's kind, e.g. "--mla" or "a text"; None for the default rows of its command."""
    return field["asked"] or (field["option"] and f"--{field['option'].replace('_', '-')}")


def rows_of(command, fields):
    """Yield tables of the command's row fields, grouped by the option that selects the rows."""
    kinds = {}
    for field in fields:
        if field["command"] == command.name and field["part"] == "rows":
            kinds.setdefault(asked_by(field), []).append(field)
    for asked, found in kinds.items():
        heading = f"## Rows with {asked}" if asked else "## Rows"
        yield f"{heading}\n"
        yield table(["field", "meaning", "unit"], [[code(field["path"]), cell(field["meaning"]), cell(field["unit"] or "")]
                                              for field in found])


def page(command, runs, fields):
    parts = [f"# attnscope {command.name}\n", f"{cell(command.summary[0].upper() + command.summary[1:])}.\n",
             fenced(command.usage)]
    if command.arguments:
        parts.append(table(["argument", "meaning"], [[code(name), cell(meaning)] for name, meaning in command.arguments]))
    for heading, options in command.options.items():
        parts += [f"## {heading}\n", table(["option", "meaning"], [[code(name), cell(meaning)] for name, meaning in options])]
    if runs:
        parts.append("## Examples\n")
        parts.append("Output of the program, recorded when this page was built. `book.txt` is a part of Romeo and Juliet.\n")
        parts += [example(run) for run in runs]
    return "\n".join([*parts, *rows_of(command, fields)])


def index(commands):
    return "# Commands\n\n" + table(["command", "description"], [[f"[{command.name}]({command.name}.md)", cell(command.summary)]
                                                                for command in commands])


def write(commands, runs, fields, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.md").write_text(index(commands))
    for command in commands:
        (folder / f"{command.name}.md").write_text(page(command, runs[command.name], fields))
