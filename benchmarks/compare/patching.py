#!/usr/bin/env python3
"""Time patching every head at every position against TransformerLens, on the same threads.

    python benchmarks/compare/patching.py [--attnscope PROGRAM] [--threads 2] [--patches 96]

GPT-2 small's shape with random weights, 16 prompts of 15 tokens, denoising, logit difference at the last position. `different`: clean
and corrupted prompts differ in all tokens, the worst case. `one token`: they differ in token 4, as in most tasks. TransformerLens runs
a sample of the patches with hooks, several of them as one batch, and unembeds only the last position. Its best batch size counts, and
its time is scaled to all patches. Startup, imports and loading count only for attnscope. Times are wall-clock and CPU seconds: on a
busy machine, compare the latter. Needs numpy, torch, transformers and transformer-lens 4.3.
"""

import argparse
import json
import resource
import subprocess
import time
from pathlib import Path

import numpy as np

from attention import gpt2_small
from common import RELEASE, WORK

LAYERS, HEADS, PROMPTS, TOKENS, VOCABULARY = 12, 12, 16, 15, 50257
BATCHES = (1, 4, 8)  # patches that run together
CHANGED = 4


def with_tokenizer(folder: Path) -> Path:
    """Return the model with a tokenizer, which TransformerLens requires."""
    import tokenizers
    import transformers

    out = WORK / "gpt2-small-words"
    out.mkdir(exist_ok=True)
    for file in folder.iterdir():
        (out / file.name).unlink(missing_ok=True)
        (out / file.name).symlink_to(file)
    words = tokenizers.models.WordLevel({str(token): token for token in range(VOCABULARY)}, unk_token="0")
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(words), bos_token="1", eos_token="1",
                                         pad_token="1").save_pretrained(out)
    return out


def prompts_of(case: str) -> list[dict]:
    generator = np.random.default_rng(3)
    prompts = []
    for _ in range(PROMPTS):
        clean, corrupted = (generator.integers(0, VOCABULARY, TOKENS).tolist() for _ in range(2))
        if case == "one token":
            corrupted = [*clean[:CHANGED], corrupted[CHANGED], *clean[CHANGED + 1:]]
        prompts.append({"clean": clean, "corrupted": corrupted, "correct": int(generator.integers(0, 25000)),
                        "incorrect": int(generator.integers(25000, VOCABULARY))})
    return prompts


def ours(program: Path, folder: Path, case: str, threads: int) -> tuple[np.ndarray, float, float]:
    """Return the changes (layers, heads, positions), wall-clock and CPU seconds."""
    file = WORK / "patched.jsonl"
    file.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts_of(case)))
    command = [str(program), "ablate", str(folder), "--prompts", str(file), "--patch-positions", "each", "--components", "heads",
               "--patching", "denoising", "--threads", str(threads), "--quiet", "--format", "json"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["rows"]
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return np.array([row["denoising_change"] for row in rows]).reshape(LAYERS, HEADS, TOKENS), wall, cpu


class TransformerLens:
    def __init__(self, folder: Path, threads: int):
        import torch
        import transformer_lens.model_bridge as bridges

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch = torch
        self.bridge = bridges.TransformerBridge.boot_transformers(str(with_tokenizer(folder)))

    def prepare(self, prompts: list[dict]) -> None:
        torch = self.torch
        sides = {side: torch.tensor([prompt[side] for prompt in prompts]) for side in ("clean", "corrupted")}
        self.corrupted = sides["corrupted"]
        self.answers = torch.tensor([[prompt["correct"], prompt["incorrect"]] for prompt in prompts])
        self.kept = {}
        hooks = [(f"blocks.{layer}.attn.hook_z", lambda z, hook, layer=layer: self.kept.__setitem__(layer, z.clone()))
                 for layer in range(LAYERS)]
        self.run(sides["clean"], hooks)
        self.base = self.run(self.corrupted, [])

    def run(self, tokens, hooks):
        """Return the logit difference of each text."""
        last = ("unembed.hook_in", lambda states, hook: states[:, -1:])
        logits = self.bridge.run_with_hooks(tokens, fwd_hooks=[*hooks, last], prepend_bos=False)[:, -1]
        answers = self.answers.repeat(len(tokens) // len(self.answers), 1)
        return logits.gather(-1, answers) @ self.torch.tensor([1.0, -1.0])

    def patched(self, layer: int, patches: list[tuple[int, int]]) -> list[float]:
        """Return the change of each patch (head, position) of a layer. All run as one batch."""
        count = len(self.corrupted)

        def patch(z, hook):
            for at, (head, position) in enumerate(patches):
                z[at * count:(at + 1) * count, position, head] = self.kept[layer][:, position, head]
            return z

        found = self.run(self.corrupted.repeat(len(patches), 1), [(f"blocks.{layer}.attn.hook_z", patch)])
        return (found.reshape(len(patches), count) - self.base).mean(1).tolist()


def theirs(lens: TransformerLens, patches: int, batch: int) -> tuple[dict, float, float]:
    """Run a sample of patches. Return their changes, and seconds for all patches."""
    generator, found = np.random.default_rng(4), {}
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    for run in range(patches // batch):
        layer = run % LAYERS
        chosen = [(int(generator.integers(HEADS)), int(generator.integers(TOKENS))) for _ in range(batch)]
        for place, change in zip(chosen, lens.patched(layer, chosen), strict=True):
            found[layer, *place] = change
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    scale = LAYERS * HEADS * TOKENS / (patches // batch * batch)
    return found, wall * scale, cpu * scale


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--attnscope", type=Path, default=RELEASE / "attnscope")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--patches", type=int, default=96)
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    folder = gpt2_small(1024)
    lens = TransformerLens(folder, options.threads)
    for case in ("different", "one token"):
        lens.prepare(prompts_of(case))
        changes, wall, cpu = ours(options.attnscope, folder, case, options.threads)
        best = min((theirs(lens, options.patches, batch) for batch in BATCHES), key=lambda run: run[1])
        error = max(abs(changes[place] - change) for place, change in best[0].items())
        assert error <= 1e-4, f"a change differs by {error:.1e}"  # float32 logits of about 1
        print(f"{case}: attnscope {wall:.1f} s (CPU {cpu:.1f} s), TransformerLens {best[1]:.0f} s (CPU {best[2]:.0f} s): "
              f"{best[1] / wall:.1f} x faster (CPU {best[2] / cpu:.1f} x); largest difference {error:.1e} logits", flush=True)


if __name__ == "__main__":
    main()
