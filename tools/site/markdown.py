"""Helpers that format Markdown."""

import html


def cell(text):
    """Escape text for a table cell, so that none of it is markup."""
    return html.escape(" ".join(str(text).split()), quote=False).replace("|", "&#124;").replace("*", "\\*").replace("_", "\\_")


def code(text):
    return f"<code>{html.escape(str(text), quote=False).replace('|', '&#124;').replace('*', '&#42;').replace('_', '&#95;')}</code>"


def table(heads, rows):
    return "\n".join([f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}",
                      *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def fenced(text, language="text"):
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"
