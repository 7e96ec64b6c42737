"""The five questions as notebooks: each page's blocks are run, its pictures drawn, and what they gave kept as .ipynb."""

import base64
import contextlib
import hashlib
import io
import os
import shutil
import sys

import jupytext
import nbformat

from program import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import draw_notebook_pictures as drawing  # noqa: E402


def outputs_of(value, printed):
    outputs = [nbformat.v4.new_output("stream", text=printed)] if printed else []
    data = {"text/plain": repr(value)}
    if type(value).__module__.startswith("altair."):
        picture = io.BytesIO()
        drawing.write(value, picture)
        data = {"text/plain": "a chart", "image/png": base64.b64encode(picture.getvalue()).decode()}
    elif hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_()
    if value is not None:
        outputs.append(nbformat.v4.new_output("execute_result", data=data, execution_count=1))
    return outputs


def run_page(source, folder):
    """Writes the page's notebook and pictures into `folder`."""
    # Lines of shell name a MODEL of the reader's: they stay words.
    notebook = jupytext.reads(source.read_text().replace("```sh\n", "```console\n"), fmt="md")
    names = {}
    for count, block in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = drawing.last_value(block.source, names)
        block.execution_count = count
        block.outputs = outputs_of(value, printed.getvalue())
        for output in block.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
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
    os.chdir(ROOT)  # pages name the examples from there
    for source in sorted(drawing.PAGES.glob("*.md")):
        if source.name == "README.md":
            continue
        key = hashlib.sha256(source.read_bytes() + program.digest.encode()).hexdigest()[:16]
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
        page.write_text(f"{heading}\n\nAs a notebook, run when this site was built: [{source.stem}.ipynb]({source.stem}.ipynb).\n{rest}")
