#!/usr/bin/env python3
"""Draw the images of docs/notebooks: run each page's Python blocks, and write the chart that precedes each image.

    pip install pillow
    python tools/draw_notebook_images.py [PAGE...]

Needs the built package. Check what has changed, because the pages describe their images in words.
"""

import ast
import io
import os
import pathlib
import re
import sys

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs/notebooks"
PARTS = re.compile(r"^```python\n(?P<block>.*?)^```$|^!\[[^]]*\]\((?P<picture>[^)]*)\)$", re.DOTALL | re.MULTILINE)
MOST_PIXELS = 1100  # of the width of an image
COLOURS = 256


def last_value(block, names):
    """Run a block. Return the value of its last line, as a notebook displays it."""
    body = ast.parse(block).body
    exec(compile(ast.Module(body[:-1], []), "block", "exec"), names)
    if isinstance(body[-1], ast.Expr):
        return eval(compile(ast.Expression(body[-1].value), "block", "eval"), names)
    exec(compile(ast.Module(body[-1:], []), "block", "exec"), names)
    return None


def write(chart, path):
    """Write a chart as PNG with a palette."""
    image = Image.open(io.BytesIO(chart.png())).convert("RGB")
    if image.width > MOST_PIXELS:
        image = image.resize((MOST_PIXELS, round(image.height * MOST_PIXELS / image.width)), Image.Resampling.LANCZOS)
    # The default, median cut, would give thin lines the colors of other lines.
    image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, format="PNG", optimize=True)


def main():
    os.chdir(ROOT)  # pages name the examples relative to the root
    pages = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or sorted(PAGES.glob("*.md"))
    for page in pages:
        names, chart = {}, None
        for part in PARTS.finditer(page.read_text()):
            if part["block"]:
                chart = last_value(part["block"], names)
            else:
                write(chart, page.parent / part["picture"])
                print(part["picture"])


if __name__ == "__main__":
    main()
