"""Every message of an error that says what to do, from the sources."""

import html
import json
import re

from errors_source import messages
from markdown import cell, table

KINDS = {"usage": "How it was called", "io": "Files and the network", "format": "Files that are not what they should be",
         "unsupported": "What attnscope cannot do", "numerical": "Numbers"}


def write(path):
    found = messages()
    parts = ["# Errors and ways out\n",
             f"The {len(found)} messages that end a command and say what to do; … stands for names and numbers. "
             "A message is one line: where, what is wrong, and in brackets what to do.\n"]
    for kind, heading in KINDS.items():
        rows = [[cell(problem or "…"), cell(hint)] for of_kind, problem, hint in found if of_kind == kind]
        if rows:
            parts += [f"## {heading}\n", f"Exit codes and kinds: [formats](../formats.md#exit-codes); these are of kind `{kind}`.\n",
                      table(["message", "what to do"], rows)]
    path.write_text("\n".join(parts))


def check_search(site):
    """Every message is found by its words: the index of the search has them."""
    sections = json.loads((site / "search/search_index.json").read_text())["docs"]
    index = letters(" ".join(html.unescape(re.sub("<[^>]*>", "", section["text"])) for section in sections))
    lost = [" ".join(message) for message in messages() if not all(letters(part) in index for part in message[1:])]
    if lost:
        raise SystemExit("search does not find these errors:\n" + "\n".join(lost))


def letters(text):
    return re.sub(r"\s", "", text)
