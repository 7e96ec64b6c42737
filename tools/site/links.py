"""Copies the repository's Markdown pages to the site, and rewrites their links to the site's paths."""

import os
import pathlib
import re

from program_help import ROOT

LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ {0,3}```.*?^ {0,3}```$", re.DOTALL | re.MULTILINE)
# Paths on the site of pages with another path in the repository.
OTHERS = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md",
          "CODE_OF_CONDUCT.md": "conduct.md", "examples/README.md": "examples.md", "web/README.md": "the-page.md",
          "README.md": "index.md", "docs/notebooks/README.md": "notebooks/index.md"}
FILES = {"docs/openapi.json": "openapi.json", "docs/schema/attnscope-2.schema.json": "schema/attnscope-2.schema.json"}


def site_path(path):
    """Return the path on the site of a file of the repository, or None."""
    if path in OTHERS:
        return OTHERS[path]
    if path in FILES:
        return FILES[path]
    folder, _, rest = path.partition("/")
    inside = folder == "docs" and not rest.startswith("site/")
    return rest if inside and (ROOT / path).is_file() and path.endswith((".md", ".png", ".svg")) else None


def led(text, source):
    """Rewrite the links of the Markdown file `source` for the site. A link to a source file becomes its link text."""
    here = os.path.dirname(site_path(source))

    def link(found):
        mark, words, target = found.groups()
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return found[0]
        known = site_path(os.path.normpath(os.path.join(os.path.dirname(source), path)))
        if not known:
            if not (ROOT / os.path.dirname(source) / path).exists():
                raise SystemExit(f"{source}: {target} does not exist")
            return words
        return f"{mark}[{words}]({os.path.relpath(known, here or '.')}{'#' + anchor if anchor else ''})"

    pieces, at = [], 0
    for fence in FENCE.finditer(text):
        pieces += [LINK.sub(link, text[at:fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*pieces, LINK.sub(link, text[at:])])


def copied_pages(pages):
    """Copy every page of docs/ and of OTHERS to the folder of the site's sources."""
    names = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))
             if "docs/site/" not in str(path)]
    for name in [*names, *(name for name in OTHERS if name not in names and name != "README.md")]:
        target = pages / site_path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(led((ROOT / name).read_text(), name))
    for name, target in FILES.items():
        (pages / target).parent.mkdir(parents=True, exist_ok=True)
        (pages / target).write_bytes((ROOT / name).read_bytes())
    for picture in [path for path in (ROOT / "docs").rglob("*") if path.suffix in (".png", ".svg")]:
        target = pages / picture.relative_to(ROOT / "docs")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(pathlib.Path(picture).read_bytes())
