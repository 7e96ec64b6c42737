#!/usr/bin/env python3
"""Compare `ablate --sender --receiver` with direct path patching of TransformerLens 4.3.

    python tools/check_transformer_lens.py PROGRAM [MODEL]

Every path from a head of layer 0 or 1 to the queries, keys and values of every later head of examples/shakespeare-gpt2, on
examples/prompts.jsonl, denoising, in float32. Needs numpy, torch, transformers and transformer-lens 4.3.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from transformer_lens.model_bridge import TransformerBridge
from transformer_lens.patching import get_act_patch_direct_path

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 1e-4  # of float32 logits of about 10


def report(program: str, *words: str) -> dict:
    found = subprocess.run([program, *words, "--quiet", "--format", "json"], check=True, capture_output=True, text=True)
    return json.loads(found.stdout)


def main() -> None:
    program = sys.argv[1]
    model = sys.argv[2] if len(sys.argv) > 2 else str(ROOT / "examples/shakespeare-gpt2")
    torch.set_grad_enabled(False)
    bridge = TransformerBridge.boot_transformers(model, dtype=torch.float32)
    bridge.eval()
    prompts = [json.loads(line) for line in (ROOT / "examples/prompts.jsonl").read_text().splitlines()]
    ids = lambda text: bridge.tokenizer(text, add_special_tokens=False)["input_ids"]  # noqa: E731
    sides = [[ids(prompt[key]) for key in ("clean", "corrupted", "correct", "incorrect")] for prompt in prompts]
    length = len(sides[0][0])
    chosen = [at for at, side in enumerate(sides) if len(side[0]) == length]
    clean, corrupted, right, wrong = ([sides[at][part] for at in chosen] for part in range(4))
    folder = tempfile.TemporaryDirectory()
    file = Path(folder.name, "prompts.jsonl")
    file.write_text("".join(json.dumps(prompts[at]) + "\n" for at in chosen))

    def difference(logits: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(len(chosen))
        last = logits[:, -1]
        return (last[rows, torch.tensor(right)[:, 0]] - last[rows, torch.tensor(wrong)[:, 0]]).mean()

    tokens = torch.tensor(corrupted)
    _, clean_cache = bridge.run_with_cache(torch.tensor(clean))
    logits, corrupted_cache = bridge.run_with_cache(tokens)
    base, worst, count = difference(logits).item(), 0.0, 0
    layers, heads = bridge.cfg.n_layers, bridge.cfg.n_heads
    for sender in [(0, 0), (0, heads - 1), (1, 2)]:
        for component in ("q", "k", "v"):
            theirs = get_act_patch_direct_path(bridge, tokens, clean_cache, corrupted_cache, difference, *sender,
                                               component=component, verbose=False)
            for layer in range(sender[0] + 1, layers):
                for head in range(heads):
                    rows = report(program, "ablate", model, "--prompts", str(file), "--patching", "denoising", "--sender",
                                  f"L{sender[0]}H{sender[1]}", "--receiver", f"L{layer}H{head}.{component}")["rows"]
                    ours = rows[0]["denoising_change"]
                    worst = max(worst, abs(ours - (theirs[layer, head].item() - base)))
                    count += 1
    folder.cleanup()
    if worst > TOLERANCE:
        sys.exit(f"a path differs by {worst:.1e} logits")
    print(f"{count} paths on {len(chosen)} prompts agree, largest difference {worst:.1e} logits")


if __name__ == "__main__":
    main()
