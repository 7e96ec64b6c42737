"""Converts the pages of docs/notebooks to Jupyter notebooks, runs them, draws their charts, and caches the results."""

import base64
import hashlib
import pathlib
import shutil
import sys

import jupytext
import nbformat
from nbclient import NotebookClient

from program_help import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import draw_notebook_images as drawing  # noqa: E402

SECONDS = 600  # time limit of one block


def run_notebook(notebook):
    """Run each block from the root of the repository, as a user's Jupyter does. A block that fails ends the build."""
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}})
    with client.setup_kernel():
        for index, block in enumerate(notebook.cells):
            client.execute_cell(block, index)
            if block.cell_type == "code":
                block.metadata.pop("execution", None)  # timestamps


def run_page(source, folder):
    """Write the page's notebook and charts to `folder`."""
    # Shell blocks name a MODEL that the reader replaces, so they stay text.
    notebook = jupytext.reads(source.read_text().replace("```sh\n", "```console\n"), fmt="md")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    run_notebook(notebook)
    nbformat.validate(notebook)
    (folder / f"{source.stem}.ipynb").write_text(nbformat.writes(notebook))
    by_source = {block.source.strip(): block for block in notebook.cells if block.cell_type == "code"}
    chart = None
    for part in drawing.PARTS.finditer(source.read_text()):
        if part["block"]:
            chart = by_source[part["block"].strip()]
        else:
            data = next(output.data["image/png"] for output in chart.outputs if "image/png" in output.get("data", {}))
            target = folder / part["picture"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(base64.b64decode(data))


def write(program, cache, pages):
    for source in sorted(drawing.PAGES.glob("*.md")):
        if source.name == "README.md":
            continue
        parts = [source.read_bytes(), program.digest.encode(), pathlib.Path(__file__).read_bytes()]
        key = hashlib.sha256(b"\n".join(parts)).hexdigest()[:16]
        kept = cache / f"notebook-{source.stem}"
        if not (kept / key).exists():
            print(f"notebook {source.stem}", flush=True)
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir(parents=True)
            run_page(source, kept)
            (kept / key).touch()
        shutil.copytree(kept, pages / "notebooks", dirs_exist_ok=True, ignore=shutil.ignore_patterns(key))
        page = pages / "notebooks" / source.name
        heading, _, rest = page.read_text().partition("\n")
        page.write_text(f"{heading}\n\nExecuted notebook: [{source.stem}.ipynb]({source.stem}.ipynb).\n{rest}")
