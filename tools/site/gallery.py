"""Writes reports of trained models and screenshots of them, with the program as built."""

import html
import os
import pathlib
import shutil
import subprocess

from markdown import cell
from program_help import ROOT

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
TEXT = "\n".join(["ROMEO:", "But, soft! what light through yonder window breaks?", "It is the east, and Juliet is the sun.",
                  "Arise, fair sun, and kill the envious moon,", "Who is already sick and pale with grief,",
                  "That thou her maid art far more fair than she."])
STORY = "Once upon a time, there was a little girl named Lily. She loved to play outside in the park."


def models(folder):
    """Yield path, text and description of each model to show: the examples, and models under the MIT license in `folder`."""
    yield ROOT / "examples/shakespeare-gpt2", TEXT, "GPT-2 with 6 layers, trained on Tiny Shakespeare. Included in the repository."
    yield ROOT / "examples/shakespeare-llama", TEXT, "Llama with 6 layers and grouped-query attention, trained on the same text. Included in the repository."
    for path in sorted(pathlib.Path(folder).iterdir()) if folder else []:
        licenses = sorted(path.glob("LICENSE*"))
        if licenses and "MIT" in licenses[0].read_text() and (path / "config.json").exists():
            has_words = (path / "tokenizer.json").exists()
            yield path, STORY if has_words else None, "A trained model under the MIT license." + ("" if has_words else " It has no tokenizer, so no text was run.")


def shot(page, fragment, target, size=(1280, 960)):
    subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=8000",
                    f"--window-size={size[0]},{size[1]}", f"--screenshot={target}", f"file://{page}{fragment}"],
                   check=True, capture_output=True, timeout=180)


def reports(program, folder, cache):
    """Yield report and description of each model. Reuse reports of the same program."""
    kept = cache / f"reports-{program.digest[:16]}"
    for old in cache.glob("reports-*"):
        if old != kept:
            shutil.rmtree(old)
    kept.mkdir(parents=True, exist_ok=True)
    for path, text, about in models(folder):
        target = kept / f"{path.name}.html"
        if not target.exists():
            print(f"report of {path.name}", flush=True)
            words = ["--text", text] if text else []
            done = subprocess.run([program.path, "report", path, *words, "--quiet", "--out", target], capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"no report of {path.name}: {done.stderr}")
        yield target, about


def write(program, folder, cache, pages):
    (pages / "gallery").mkdir(parents=True, exist_ok=True)
    parts = ["# Gallery\n", "Live reports: `attnscope report` wrote each of these HTML files when this site was built. "
             "Open a report, select a head, and hover over an attention map. A report loads nothing from the network.\n"]
    for report, about in reports(program, folder, cache):
        name = report.stem
        shutil.copy(report, pages / "gallery" / report.name)
        parts += [f"## {name}\n", f"{cell(about)} [Full page]({name}.html).\n",
                  f'<iframe src="{html.escape(name)}.html" title="Report of {html.escape(name)}" loading="lazy" class="report"></iframe>\n']
    (pages / "gallery/index.md").write_text("\n".join(parts))
    first = next(iter(reports(program, None, cache)))[0]
    for fragment, picture in (("", "overview.png"), ("#attention", "attention.png")):
        kept = first.with_name(picture)
        if not kept.exists():
            shot(first, fragment, kept)
        shutil.copy(kept, pages / "images" / picture)
