#!/usr/bin/env python3
"""Writes docs/comparison.md: attnscope beside other tools on an example, five jobs each, in one run.

    python benchmarks/compare/others.py [--attnscope PROGRAM]

Needs torch, transformers, transformer-lens, weightwatcher, bertviz and circuitsvis (see others_jobs.py); a tool that is not
installed, or that fails, has a dash. Each job is a process of its own: from nothing to its answer, on two threads.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from common import RELEASE, ROOT
from others_jobs import TEXT

MODEL = ROOT / "examples/shakespeare-gpt2"
HERE = Path(__file__).resolve().parent
TARGET = ROOT / "docs/comparison.md"

JOBS = {
    "ranks": "singular values of W_Q, W_K, W_V and W_O of each layer",
    "circuits": "singular values of every head's W_QᵀW_K",
    "composition": "Q-composition scores of all pairs of heads",
    "maps": "attention maps of a text, as arrays",
    "page": "a page to look at the maps of all heads",
}
COMMANDS = {
    "ranks": ["spectrum", MODEL, "--matrix", "q,k,v,o", "--values", "--out", "{answer}.json"],
    "circuits": ["circuits", MODEL, "--circuit", "qk", "--all-eigenvalues", "--out", "{answer}.json"],
    "composition": ["circuits", MODEL, "--composition", "--out", "{answer}.json"],
    "maps": ["attention", MODEL, "--text", TEXT, "--maps", "{answer}.safetensors", "--out", "{answer}.json"],
    "page": ["report", MODEL, "--text", TEXT, "--out", "{answer}.html"],
}
TOOLS = {"attnscope": "attnscope", "notebook": "torch", "lens": "transformer-lens", "weightwatcher": "weightwatcher",
         "bertviz": "bertviz", "circuitsvis": "circuitsvis"}
NAMES = {"attnscope": "attnscope", "notebook": "PyTorch, as in a notebook", "lens": "TransformerLens",
         "weightwatcher": "WeightWatcher", "bertviz": "BertViz", "circuitsvis": "CircuitsVis"}


def timed(words, repeats=3):
    """The quickest of some runs: seconds and MiB. None where it fails."""
    best = None
    for _ in range(repeats):
        start = time.monotonic()
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env={**os.environ, "OMP_NUM_THREADS": "2", "HF_HUB_OFFLINE": "1"})
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            print(f"{words[1:]}: {error.decode()[-400:]}", file=sys.stderr)
            return None
        run = time.monotonic() - start, usage.ru_maxrss / 1024
        best = min(best or run, run)
    return best


def answer_of_attnscope(job, answer):
    """The numbers, in the order in which others_jobs.py has them; None where the job has none."""
    if job == "maps":
        from safetensors.numpy import load_file
        return load_file(f"{answer}.safetensors")["attentions"].astype(np.float64).ravel()
    if job == "page":
        return None
    report = json.loads(Path(f"{answer}.json").read_text())
    rows = report["rows"]
    if job == "ranks":
        return np.array([value for row in rows if row.get("head") is None for value in row["singular_values"]])
    if job == "circuits":
        return np.array([row["spectral_norm"] for row in rows if row.get("head") is not None])
    layers, heads = report["models"][0]["layers"], report["models"][0]["heads"]
    scores = np.zeros((layers, heads, layers, heads))  # of layers that follow each other; 0 elsewhere
    for row in rows:
        if row["kind"] == "q":
            scores[row["layer"], row["head"], row["to_layer"], row["to_head"]] = row["score"]
    return scores


def agreement(ours, theirs):
    if ours is None or theirs is None or ours.shape != theirs.shape:
        return ""
    return f"; agrees to {np.abs(ours - theirs).max() / np.abs(ours).max():.0e}"


def run_job(job, program, scratch):
    found, ours = {}, None
    for tool in TOOLS:
        answer = scratch / f"{job}-{tool}"
        if tool == "attnscope":
            words = [program, *(str(word).format(answer=answer) for word in COMMANDS[job])]
        else:
            words = [sys.executable, HERE / "others_jobs.py", tool, job, MODEL, answer]
            if subprocess.run([str(word) for word in words[:4]] + ["--knows"]).returncode != 0:
                continue
        best = timed(words)
        if best is None:
            continue
        kept = answer.with_suffix(".npy")
        theirs = np.load(kept) if kept.exists() else None
        if tool == "attnscope":
            ours = answer_of_attnscope(job, answer)
        found[tool] = f"{best[0]:.1f} s, {best[1]:.0f} MiB{agreement(ours, theirs) if tool != 'attnscope' else ''}"
        print(job, tool, found[tool], flush=True)
    return found


def version(tool, program):
    if tool == "attnscope":
        return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    try:
        return importlib.metadata.version(TOOLS[tool])
    except importlib.metadata.PackageNotFoundError:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attnscope", type=Path, default=RELEASE / "attnscope")
    program = parser.parse_args().attnscope
    with tempfile.TemporaryDirectory() as name:
        table = {job: run_job(job, program, Path(name)) for job in JOBS}
    versions = {tool: version(tool, program) for tool in TOOLS}
    shown = [tool for tool in TOOLS if versions[tool]]
    lines = [f"| | {' | '.join(f'{NAMES[tool]} {versions[tool]}' for tool in shown)} |", "|---|" + "---|" * len(shown)]
    lines += [f"| {JOBS[job]} | {' | '.join(table[job].get(tool, '–') for tool in shown)} |" for job in JOBS]
    system = dict(line.split(None, 1) for line in subprocess.run(
        [program, "info", "--system", "--format", "table"], capture_output=True, text=True, check=True).stdout.splitlines())
    text = (HERE / "comparison.md.in").read_text()
    TARGET.write_text(text.replace("@TABLE@", "\n".join(lines)).replace("@DATE@", datetime.date.today().isoformat())
                      .replace("@MACHINE@", f"{system['cores']} cores, {system['kernels']}"))


if __name__ == "__main__":
    main()
