"""The menu of the site: the pages under each heading."""

GUIDES = {"All questions": "questions.md", "Models": "models.md", "Spectra and circuits": "metrics.md", "Compression": "plan.md",
          "Python": "python.md", "Stores": "store.md", "Hugging Face hub": "hub.md", "Distributed runs": "cluster.md", "GPUs": "gpu.md",
          "Server": "http.md", "Files and formats": "formats.md", "Embedding the library": "embedding.md"}
INTERNALS = {"Architecture": "architecture.md", "Building": "building.md", "Performance internals": "internals.md", "Report page": "the-page.md",
             "Contributing": "contributing.md"}
ABOUT = {"Validation": "trust.md", "Example models": "examples.md", "Changelog": "changelog.md", "Security": "security.md",
         "Code of conduct": "conduct.md"}


def titled(pages, path):
    text = (pages / path).read_text()
    return next(line[2:] for line in text.splitlines() if line.startswith("# "))


def navigation(pages, commands):
    """Return the menu. Pages of docs/ that no list above names are added to the guides under their own titles."""
    listed = [{title: path} for title, path in GUIDES.items()]
    named = {*GUIDES.values(), *INTERNALS.values(), *ABOUT.values(), "index.md", "start.md", "faq.md", "comparison.md",
             "numerics.md", "performance.md"}
    listed += [{titled(pages, path.name): path.name} for path in sorted(pages.glob("*.md")) if path.name not in named]
    questions = ["notebooks/index.md", *(f"notebooks/{path.name}" for path in sorted((pages / "notebooks").glob("*.md"))
                                         if path.name != "index.md")]
    return [
        {"Start": ["index.md", {"Installation and first steps": "start.md"},
                   *[{"Comparison with other tools": "comparison.md"}] * (pages / "comparison.md").exists()]},
        {"Questions": questions},
        {"Gallery": ["gallery/index.md"]},
        {"Guides": listed},
        {"Reference": [{"Commands": ["reference/commands/index.md",
                                     *({command.name: f"reference/commands/{command.name}.md"} for command in commands)]},
                       {"Fields": "reference/fields.md"}, {"Findings": "reference/findings.md"},
                       {"HTTP API": "reference/http.md"}, {"Python API": "reference/python.md"}]},
        {"Numbers": [{"Numerics": "numerics.md"}, {"Performance": "performance.md"},
                     {"Validation": "trust.md"}]},
        {"Help": [{"Questions and answers": "faq.md"}, {"Error messages and fixes": "reference/errors.md"}]},
        {"Internals": [{title: path} for title, path in INTERNALS.items()]},
        {"About": [{title: path} for title, path in ABOUT.items() if path != "trust.md"]},
    ]
