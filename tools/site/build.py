#!/usr/bin/env python3
"""Builds the documentation site: build.py PROGRAM FOLDER [--models DIR].

FOLDER gets `html`, the site, and `cache`, what a second build need not run again. Needs docs/site/requirements.txt and the
package of Python as built (./dev docs sees to both). --models: a folder of more trained models for the gallery, each with its
licence. Ends with 1 at a dead link, a dead anchor, or an example that fails.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import yaml

import commands_pages
import errors_page
import examples
import gallery
import links
import notebook_pages
import reference_pages
import trust_page
from program import ROOT, Program

GUIDES = {"Every question": "questions.md", "Models": "models.md", "Spectra and circuits": "metrics.md", "Smaller models": "plan.md", "Python": "python.md", "Stores": "store.md",
          "Models of the hub": "hub.md", "Many machines": "cluster.md", "The live page": "http.md", "Files and formats": "formats.md",
          "Programs that embed it": "embedding.md"}
INTERNALS = {"Architecture": "architecture.md", "Building": "building.md", "Performance internals": "internals.md", "The page": "the-page.md",
             "Contributing": "contributing.md"}
ABOUT = {"Why to trust a number": "trust.md", "The examples": "examples.md", "Changes": "changelog.md", "Security": "security.md",
         "Conduct": "conduct.md"}


def titled(pages, path):
    text = (pages / path).read_text()
    return next(line[2:] for line in text.splitlines() if line.startswith("# "))


def navigation(pages, commands):
    """What the menu shows. Pages of docs/ that no list above names go to the guides under their own titles."""
    listed = [{title: path} for title, path in GUIDES.items()]
    named = {*GUIDES.values(), *INTERNALS.values(), *ABOUT.values(), "index.md", "start.md", "faq.md", "comparison.md",
             "numerics.md", "performance.md"}
    listed += [{titled(pages, path.name): path.name} for path in sorted(pages.glob("*.md")) if path.name not in named]
    questions = ["notebooks/index.md", *(f"notebooks/{path.name}" for path in sorted((pages / "notebooks").glob("*.md"))
                                         if path.name != "index.md")]
    return [
        {"Start": ["index.md", {"Install and first steps": "start.md"},
                   *[{"Beside other tools": "comparison.md"}] * (pages / "comparison.md").exists()]},
        {"Questions": questions},
        {"Gallery": ["gallery/index.md"]},
        {"Guides": listed},
        {"Reference": [{"Commands": ["reference/commands/index.md",
                                     *({command.name: f"reference/commands/{command.name}.md"} for command in commands)]},
                       {"Fields": "reference/fields.md"}, {"Findings": "reference/findings.md"},
                       {"HTTP API": "reference/http.md"}, {"Python API": "reference/python.md"}]},
        {"Numbers": [{"How singular values are found": "numerics.md"}, {"Performance": "performance.md"},
                     {"Why to trust a number": "trust.md"}]},
        {"Help": [{"Questions and trouble": "faq.md"}, {"Errors and ways out": "reference/errors.md"}]},
        {"Internals": [{title: path} for title, path in INTERNALS.items()]},
        {"About": [{title: path} for title, path in ABOUT.items() if path != "trust.md"]},
    ]


def configuration(folder, nav):
    base = yaml.safe_load((ROOT / "docs/site/mkdocs.yml").read_text())
    slugs = {"slugify": "SLUGS"}
    base["markdown_extensions"].append({"toc": {"permalink": True, **slugs}})
    text = yaml.safe_dump({**base, "docs_dir": "pages", "site_dir": "html", "nav": nav}, sort_keys=False, allow_unicode=True)
    # Anchors as they are where the repository is read.
    text = text.replace("slugify: SLUGS", "slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}")
    path = folder / "mkdocs.yml"
    path.write_text(text)
    return path


def language_models_index(program, commands, html):
    """llms.txt: what is where, for programs that read; and the pages of commands as plain Markdown."""
    lines = ["# attnscope", "", f"> {program.text('--help').splitlines()[0]}", "", "## Commands", ""]
    for command in commands:
        lines.append(f"- [{command.name}](reference/commands/{command.name}.md): {command.summary}")
    lines += ["", "## Reference", "", "- [Fields](reference/fields.md): what every field of every report means",
              "- [HTTP API](openapi.json): the API of `attnscope serve`, as OpenAPI",
              "- [Schema](schema/attnscope-1.schema.json): the JSON Schema of every report",
              "- [Errors](reference/errors.md): messages, and what to do", "", "## Guides", ""]
    lines += [f"- [{title}]({path})" for title, path in {**GUIDES, **INTERNALS}.items()]
    (html / "llms.txt").write_text("\n".join(lines) + "\n")
    pages = html.parent / "pages"
    for page in pages.rglob("*.md"):
        target = html / page.relative_to(pages)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path)
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    pages, cache = folder / "pages", folder / "cache"
    shutil.rmtree(pages, ignore_errors=True)
    reference = pages / "reference"
    reference.mkdir(parents=True)
    cache.mkdir(parents=True, exist_ok=True)

    program = Program(asked.program)
    commands = program.commands()
    fields = json.loads(program.text("explain", "--format", "json"))["fields"]
    links.copied_pages(pages)
    shutil.copytree(ROOT / "docs/site/pages", pages, dirs_exist_ok=True)
    commands_pages.write(commands, examples.run_examples(program, commands, cache), fields, reference / "commands")
    (reference / "fields.md").write_text(reference_pages.fields_page(fields))
    (reference / "findings.md").write_text(reference_pages.findings_page())
    (reference / "http.md").write_text(reference_pages.http_page(json.loads((ROOT / "docs/openapi.json").read_text())))
    (reference / "python.md").write_text(reference_pages.python_page())
    errors_page.write(reference / "errors.md")
    trust_page.write(pages / "trust.md")
    gallery.write(program, asked.models, cache, pages)
    notebook_pages.write(program, cache, pages)

    config = configuration(folder, navigation(pages, commands))
    # Not with --quiet: what it does not say it does not count.
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", config], text=True,
                          capture_output=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if done.returncode != 0:
        sys.exit("\n".join(line for line in done.stderr.splitlines() if not line.startswith("INFO")))
    errors_page.check_search(folder / "html")
    language_models_index(program, commands, folder / "html")
    (folder / "html/program.txt").write_text(f"attnscope {program.version()} {program.digest}\n")
    print(f"{sum(1 for _ in (folder / 'html').rglob('*.html'))} pages in {folder / 'html'}")


if __name__ == "__main__":
    main()
