#!/usr/bin/env python3
"""Load every chart that reports write for notebooks (`report --charts`) in Altair.

    tools/check_altair.py BINARY

Altair validates each specification against Vega-Lite's schema when it loads it. Reports are made for both example models with
a text. Needs Altair (`pip install altair`). Exits with 1 and prints a line for each chart that does not load.
"""

import pathlib
import subprocess
import sys
import tempfile

import altair

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ["shakespeare-gpt2", "shakespeare-llama"]


def charts_of(binary, model, folder):
    subprocess.run(
        [binary, "report", ROOT / "examples" / model, "--text-file", ROOT / "README.md", "--length", "48", "--quiet",
         "--out", folder / f"{model}.html", "--charts", folder / model], check=True)
    return sorted((folder / model).glob("*.vl.json"))


def why_not(path):
    """Return Altair's error for a chart in one line, or None."""
    try:
        altair.Chart.from_json(path.read_text())
    except Exception as error:  # Altair's exceptions and those of jsonschema
        return " ".join(str(error).split())[:300]
    return ""


def main():
    with tempfile.TemporaryDirectory() as folder:
        charts = [chart for model in MODELS for chart in charts_of(sys.argv[1], model, pathlib.Path(folder))]
        faults = [f"{chart.parent.name}, {chart.name}: {said}" for chart in charts if (said := why_not(chart))]
    # Charts of attention must be included. Otherwise the text was not run.
    if not any(chart.name.startswith("attention-") for chart in charts):
        faults.append("no charts of attention were written")
    print(*faults, f"{len(charts)} charts, Altair {altair.__version__}", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
