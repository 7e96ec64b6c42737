#!/usr/bin/env python3
"""Builds the documentation site: build.py PROGRAM FOLDER [--models DIR].

Writes the site to FOLDER/html, and results that a second build can reuse to FOLDER/cache. Needs the packages of
docs/site/requirements.txt and the built Python package; ./dev docs installs both. --models: a folder of more trained models for
the gallery, each with its license. Exits with 1 if a link or anchor is dead or an example fails.
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
import fields_findings_api_pages
import gallery
import links
import notebook_pages
import trust_page
from navigation import GUIDES, INTERNALS, navigation
from program_help import ROOT, Program


def configuration(folder, nav):
    base = yaml.safe_load((ROOT / "docs/site/mkdocs.yml").read_text())
    slugs = {"slugify": "SLUGS"}
    base["markdown_extensions"].append({"toc": {"permalink": True, **slugs}})
    text = yaml.safe_dump({**base, "docs_dir": "pages", "site_dir": "html", "nav": nav}, sort_keys=False, allow_unicode=True)
    # The same anchors as on the repository's web pages.
    text = text.replace("slugify: SLUGS", "slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}")
    path = folder / "mkdocs.yml"
    path.write_text(text)
    return path


def language_models_index(program, commands, html):
    """Write llms.txt, an index for language models, and every page as plain Markdown."""
    lines = ["# attnscope", "", f"> {program.text('--help').splitlines()[0]}", "", "## Commands", ""]
    for command in commands:
        lines.append(f"- [{command.name}](reference/commands/{command.name}.md): {command.summary}")
    lines += ["", "## Reference", "", "- [Fields](reference/fields.md): the meaning of every field of every report",
              "- [HTTP API](openapi.json): the API of `attnscope serve`, as OpenAPI",
              "- [Schema](schema/attnscope-2.schema.json): the JSON Schema of every report",
              "- [Errors](reference/errors.md): error messages and their fixes", "", "## Guides", ""]
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
    (reference / "fields.md").write_text(fields_findings_api_pages.fields_page(fields))
    (reference / "findings.md").write_text(fields_findings_api_pages.findings_page())
    (reference / "http.md").write_text(fields_findings_api_pages.http_page(json.loads((ROOT / "docs/openapi.json").read_text())))
    (reference / "python.md").write_text(fields_findings_api_pages.python_page())
    errors_page.write(reference / "errors.md")
    trust_page.write(pages / "trust.md")
    gallery.write(program, asked.models, cache, pages)
    notebook_pages.write(program, cache, pages)

    config = configuration(folder, navigation(pages, commands))
    # Without --quiet: MkDocs counts only the warnings that it prints.
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
