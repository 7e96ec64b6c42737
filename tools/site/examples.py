"""Runs the examples in every command's help and caches their output."""

import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import urllib.request
from typing import NamedTuple

from example_checkpoint import write_fine_tune
from program_help import ROOT, words_of

SECONDS = 900
DATA = ROOT / "tests/data"
LLAMA = (ROOT / "examples/shakespeare-llama", "the example Llama")


class Run(NamedTuple):
    line: str  # the command line
    output: str
    notes: str  # stderr
    stands_for: str  # what the names in capitals stand for, or why the example was not run
    was_run: bool


def model_of(words):
    """Return the checkpoint that MODEL stands for in an example, and its description."""
    if words[0] == "experts" or "--experts" in words:
        return DATA / "forward/glm4_moe", "an MoE test model with random weights"
    if "--image" in words:
        return DATA / "stacks/vit", "a vision test model with random weights"
    if has_target(words):
        return DATA / "encoder_decoders/t5", "a T5 test model with random weights and no tokenizer, so the example uses token ids"
    return LLAMA


def without_tokenizer(words):
    """Replace the texts of an example by token ids, for a model without a tokenizer."""
    changed = list(words)
    for options, given in ((("--text", "--text-file"), ["--tokens", "3,1,4"]),
                           (("--target", "--target-file"), ["--target-tokens", "2,5"])):
        at = next(at for at, word in enumerate(changed) if word in options)
        changed[at:at + 2] = given
    return changed


def has_target(words):
    return "--target" in words or "--target-file" in words


def lay_out(folder):
    """Create the files that examples name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    book = (ROOT / "docs/site/book.txt").read_text()
    (folder / "book.txt").write_text(book)
    (folder / "texts.txt").write_text("a photo of a cat\na photo of a dog\n")
    (folder / "val.bin").write_bytes(struct.pack("<256i", 20240520, 1, 20000, *[0] * 253) +
                                     b"".join(struct.pack("<H", at * 7 % 47) for at in range(20000)))
    (folder / "cat.jpg").symlink_to(sorted((DATA / "images").glob("*.jpg"))[0])
    for name, target in {"examples": ROOT / "examples", "CLIP": DATA / "stacks/clip", "BASE": LLAMA[0],
                         "OTHER": ROOT / "examples/shakespeare-gpt2", "ADAPTER": folder / "adapter"}.items():
        (folder / name).symlink_to(target)
    write_fine_tune(LLAMA[0], folder / "FINETUNED")


def link_model(folder, target):
    link = folder / "MODEL"
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def served(program, words, folder):
    """Return what a server prints until it answers, and stop the server."""
    process = subprocess.Popen([program.path, *words, "--port", "0"], cwd=folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        line = process.stdout.readline() or process.stderr.readline()
        address = re.search(r"http://\S+", line)
        if not address or urllib.request.urlopen(address[0], timeout=60).status != 200:
            raise SystemExit(f"{shlex.join(words)}: serves no page ({line})")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
    return line


def run_example(program, line, folder):
    words = words_of(line)
    if any(re.fullmatch(r"[\w-]+/[\w.@*-]+", word) and not (folder / word).exists() and word[0] != "."
           for word in words) or "--remote" in words:
        return Run(line, "", "", "Not run when this page was built, because it needs the network", False)
    if "--store" in words:  # examples of export read this store and name this model
        words = [f"examples/{LLAMA[0].name}" if word == "MODEL" else word for word in words]
        line = shlex.join(["attnscope", *words])
    model, about = model_of(words)
    link_model(folder, model)
    stands_for = f"MODEL: {about}" if "MODEL" in words else ""
    if has_target(words) and "no tokenizer" in about:
        words = without_tokenizer(words)
        line = shlex.join(["attnscope", *words])
    if "CLIP" in words and "--text-file" in words:  # the CLIP test model has no tokenizer
        at = words.index("--text-file")
        words = words[:at] + words[at + 2:]
        line, stands_for = shlex.join(["attnscope", *words]), "CLIP: a test model without a tokenizer, so the example has no texts"
    if "FINETUNED" in words or "ADAPTER" in words:
        stands_for = ("BASE: the example Llama; FINETUNED: BASE with a change of rank 4 in every W_Q and W_V; "
                      "ADAPTER: the adapter that `--lora` wrote for FINETUNED")
    if words[0] == "serve" and "--openapi" not in words:
        return Run(line, served(program, [word for word in words if word not in ("--open", "--port", "0")], folder),
                   "", stands_for, True)
    done = subprocess.run([program.path, *words], cwd=folder, capture_output=True, text=True, timeout=SECONDS,
                          env={**os.environ, "COLUMNS": "100", "HF_HUB_OFFLINE": "1"})
    if done.returncode != 0:
        raise SystemExit(f"an example in the help fails: {line}\n{done.stderr}")
    return Run(line, done.stdout, done.stderr, stands_for, True)


def run_examples(program, commands, cache):
    """Return the runs of each command, in the order of its examples. Reuse runs of the same program."""
    sources = [pathlib.Path(__file__), pathlib.Path(__file__).with_name("example_checkpoint.py")]
    key = hashlib.sha256("\n".join([program.digest, *(path.read_text() for path in sources)]).encode()).hexdigest()
    folder, kept = cache / "examples", cache / "examples.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    if found.get("key") != key:
        found = {"key": key, "runs": {}}
        lay_out(folder)
    runs = {}
    for command in commands:
        for line in command.examples:
            if line not in found["runs"]:
                print(line, flush=True)
                found["runs"][line] = run_example(program, line, folder)
                kept.write_text(json.dumps(found))
        runs[command.name] = [Run(*found["runs"][line]) for line in command.examples]
    return runs
