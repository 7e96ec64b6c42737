#!/usr/bin/env python3
"""Compares attnscope with other tools: five tasks on two GPT-2s. Writes docs/comparison.md and the table in README.md.

    python3 -m venv build/others && build/others/bin/pip install --require-hashes -r benchmarks/compare/others_requirements.txt
    build/others/bin/python benchmarks/compare/others.py [--attnscope PROGRAM] [--threads 2] [--repeats 3]

Each run is a separate process, timed from its start to the result. The tools take turns.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

import others_attnscope
from common import RELEASE, ROOT, WORK

HERE = Path(__file__).resolve().parent
TEMPLATE = HERE / "others.md.in"
PAGE, README = ROOT / "docs/comparison.md", ROOT / "README.md"
README_PLACE = re.compile(r"(<!-- times: made by benchmarks/compare/others\.py -->\n\n).*?(\n<!-- end of times -->)", re.DOTALL)
TEXT = ("But, soft! what light through yonder window breaks? It is the east, and Juliet is the sun. Arise, fair sun, and kill "
        "the envious moon, Who is already sick and pale with grief, That thou her maid art far more fair than she.")
TOKENS = 100
JOBS = {
    "ranks": "energy rank of W_Q, W_K, W_V, W_O and the MLP matrices, per layer",
    "symmetry": "symmetry of W_QᵀW_K, per head",
    "ablation": "head ablation: loss with each head removed",
    "maps": "attention entropy, mass on the first token and mean distance, per head",
    "page": "HTML page with all attention maps",
}
TOOLS = {"attnscope": "attnscope", "lens": "TransformerLens", "notebook": "PyTorch",
         "weightwatcher": "WeightWatcher", "bertviz": "BertViz", "circuitsvis": "CircuitsVis"}
PACKAGES = {"lens": "transformer-lens", "notebook": "torch", "weightwatcher": "weightwatcher", "bertviz": "bertviz",
            "circuitsvis": "circuitsvis"}


class Run(NamedTuple):
    seconds: float
    alone: float | None  # seconds of the task without imports and loading; None for attnscope
    mib: float  # peak memory


# ---- Models -------------------------------------------------------------------------------------

def write_tokens(folder, ids):
    (folder / "tokens.json").write_text(json.dumps(ids[:TOKENS]))
    return folder


def example(scratch):
    from tokenizers import Tokenizer
    folder = scratch / "shakespeare-gpt2"
    folder.mkdir()
    for path in (ROOT / "examples/shakespeare-gpt2").iterdir():
        (folder / path.name).symlink_to(path)
    return write_tokens(folder, Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT).ids)


def of_small_shape():
    """Return random weights in the shape of GPT-2 small, with a standard deviation that makes attention clearly non-uniform."""
    folder = WORK / "gpt2-small-random"
    if not (folder / "tokens.json").exists():
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel
        torch.manual_seed(0)
        config = GPT2Config(initializer_range=0.06)
        GPT2LMHeadModel(config).save_pretrained(folder)
        write_tokens(folder, torch.randint(config.vocab_size, (TOKENS,)).tolist())
    return folder


# ---- Runs ---------------------------------------------------------------------------------------

def timed(words, result, threads):
    counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-I", "-S", HERE / "run_once.py", result, *words], capture_output=True, text=True,
                          env={**os.environ, **counts, "OMP_WAIT_POLICY": "passive", "HF_HUB_OFFLINE": "1"})
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stderr[-2000:]}")
    seconds, mib = map(float, result.read_text().split())
    return Run(seconds, float(done.stdout) if done.stdout else None, mib)


def knows(tool, job):
    return tool == "attnscope" or subprocess.run([sys.executable, HERE / "others_jobs.py", tool, job, "--knows"]).returncode == 0


def agreement(ours, theirs):
    """Return the largest difference of the shared results, relative to the largest number."""
    shared = ours.keys() & theirs.keys()
    return max(np.abs(ours[name] - theirs[name]).max() / np.abs(ours[name]).max() for name in shared) if shared else None


def run_job(job, model, program, scratch, asked):
    """Return the median run of each tool, and its agreement with attnscope."""
    answer = {tool: scratch / f"{model.name}-{job}-{tool}" for tool in TOOLS if knows(tool, job)}
    words = {tool: [sys.executable, HERE / "others_jobs.py", tool, job, model, answer[tool]] for tool in answer}
    words["attnscope"] = others_attnscope.command(program, job, model, answer["attnscope"], asked.threads)
    runs = {tool: [] for tool in answer}
    for _ in range(asked.repeats):
        for tool in runs:
            runs[tool].append(timed(words[tool], scratch / "run", asked.threads))
            print(model.name, job, tool, runs[tool][-1], flush=True)
    ours = others_attnscope.answers(job, answer["attnscope"])
    found = {}
    for tool, several in runs.items():
        kept = Path(f"{answer[tool]}.npz")
        found[tool] = (sorted(several, key=lambda run: run.seconds)[len(several) // 2],
                       agreement(ours, np.load(kept)) if kept.exists() else None)
    return found


# ---- Tables -------------------------------------------------------------------------------------

def number(seconds):
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2f}"


def table_cell(run, agrees):
    alone = "" if run.alone is None else f" ({number(run.alone)})"
    agrees = "" if agrees is None else ", exact" if agrees == 0 else f", to {agrees:.0e}"
    return f"{number(run.seconds)} s{alone}, {run.mib:.0f} MiB{agrees}"


def table(found, cell, heads):
    lines = [f"| | {' | '.join(heads[tool] for tool in TOOLS)} |", "|---|" + "---|" * len(TOOLS)]
    lines += [f"| {JOBS[job]} | {' | '.join(cell(*tools[tool]) if tool in tools else '–' for tool in TOOLS)} |"
              for job, tools in found.items()]
    return "\n".join(lines) + "\n"


def version(tool, program):
    if tool == "attnscope":
        return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    return importlib.metadata.version(PACKAGES[tool])


def processor():
    return re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attnscope", type=Path, default=RELEASE / "attnscope")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    program = asked.attnscope.resolve()
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        tables = []
        for model in (example(scratch), of_small_shape()):
            found = {}
            for job in JOBS:
                found[job] = run_job(job, model, program, scratch, asked)
                loads.append(os.getloadavg()[0])
            tables.append(found)
    heads = {tool: f"{TOOLS[tool]} {version(tool, program)}" for tool in TOOLS}
    filled = {"DATE": datetime.date.today().isoformat(), "CPU": processor(), "THREADS": str(asked.threads), "REPEATS": str(asked.repeats),
              "LOAD": f"{statistics.median(loads):.1f}", "TOKENS": str(TOKENS), "TRANSFORMERS": importlib.metadata.version("transformers"),
              "EXAMPLE": table(tables[0], table_cell, heads), "SMALL": table(tables[1], table_cell, heads)}
    PAGE.write_text(re.sub(r"@([A-Z]+)@", lambda place: filled[place[1]], TEMPLATE.read_text()))
    short = table(tables[1], lambda run, _: f"{number(run.seconds)} s, {run.mib:.0f} MiB", TOOLS)
    README.write_text(README_PLACE.sub(lambda place: place[1] + short + place[2], README.read_text()))


if __name__ == "__main__":
    main()
