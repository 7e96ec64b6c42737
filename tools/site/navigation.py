"""The menu of the site: which page stands under which heading."""

GUIDES = {"Every question": "questions.md", "Models": "models.md", "Spectra and circuits": "metrics.md", "Smaller models": "plan.md",
          "Python": "python.md", "Stores": "store.md", "Models of the hub": "hub.md", "Many machines": "cluster.md",
          "The live page": "http.md", "Files and formats": "formats.md", "Programs that embed it": "embedding.md"}
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
