"""Writes the page of all error messages that have a fix, from the sources."""

import html
import json
import re

from errors_source import messages
from markdown import cell, table

KINDS = {"usage": "Command line", "io": "Files and the network", "format": "Invalid files",
         "unsupported": "Unsupported models and options", "numerical": "Numerical errors"}


def write(path):
    found = messages()
    parts = ["# Error messages and fixes\n",
             f"The {len(found)} error messages that have a fix. … stands for names and numbers. "
             "A message is one line: where, what is wrong, and the fix in parentheses.\n"]
    for kind, heading in KINDS.items():
        rows = [[cell(problem or "…"), cell(hint)] for of_kind, problem, hint in found if of_kind == kind]
        if rows:
            parts += [f"## {heading}\n", f"Errors of kind `{kind}` ([exit codes and kinds](../formats.md#exit-codes)).\n",
                      table(["message", "fix"], rows)]
    path.write_text("\n".join(parts))


def check_search(site):
    """Check that the search index contains the words of every message."""
    sections = json.loads((site / "search/search_index.json").read_text())["docs"]
    index = letters(" ".join(html.unescape(re.sub("<[^>]*>", "", section["text"])) for section in sections))
    lost = [" ".join(message) for message in messages() if not all(letters(part) in index for part in message[1:])]
    if lost:
        raise SystemExit("the search does not find these errors:\n" + "\n".join(lost))


def letters(text):
    return re.sub(r"\s", "", text)
