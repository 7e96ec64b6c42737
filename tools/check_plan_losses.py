#!/usr/bin/env python3
"""Check the loss increase of compressed example models against that of the prototypes of the methods.

    tools/check_plan_losses.py BINARY [TEXT]

TEXT: Tiny Shakespeare, the training text of the examples (default: ../shared/models/text/tinyshakespeare.txt). The
methods are calibrated on 64 windows of 256 tokens from the first nine tenths, and evaluated on 40 windows of the rest.
Prints the table of docs/plan.md. Exits with 77 (skipped) and prints a line if the text does not exist.
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HELD_OUT_BYTES = 23_000
# The request, the loss increase in nats of a prototype in NumPy and transformers, and the allowed maximum.
LLAMA = [
    (("--method", "low-rank", "--keep", "0.8"), 0.009, 0.015),
    (("--method", "mla", "--kv-bytes", "780"), 0.016, 0.03),
    (("--set", "hidden-size=144"), 0.020, 0.03),
    (("--set", "mlp=384"), 0.024, 0.03),
    (("--set", "heads=4"), 0.031, 0.05),
    (("--method", "hidden-size,mlp", "--keep", "0.7"), 0.044, 0.044),
    (("--set", "head-dim=16"), 0.046, 0.07),
    (("--set", "remove-layers=2"), 0.081, 0.11),
    (("--set", "kv-heads=1"), 0.090, 0.11),
    (("--method", "mla", "--kv-bytes", "0.26"), 0.181, 0.22),
    (("--set", "mla=64+64"), 0.000, 0.002),
]
GPT2 = [
    (("--method", "low-rank", "--keep", "0.8"), 0.029, 0.04),
    (("--set", "mlp=576"), 0.026, 0.04),
    (("--set", "remove-layers=3"), 0.048, 0.07),
]


def planned(binary, model, words, text, held_out):
    ran = subprocess.run([binary, "plan", ROOT / "examples" / model, "--calibration-file", text, "--eval-file", held_out,
                          "--sequences", "64", "--threads", "1", *words, "--format", "json", "--quiet"],
                         capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{model} {' '.join(words)}: {ran.stderr.strip()}")
    return json.loads(ran.stdout)["models"][0]["plan"]


def main():
    path = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "../shared/models/text/tinyshakespeare.txt"
    if not path.exists():
        print(f"{path} does not exist: nothing was measured")
        return 77
    whole, faults = path.read_bytes(), []
    fitted = len(whole) * 9 // 10
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        text, held_out = pathlib.Path(name) / "train.txt", pathlib.Path(name) / "held_out.txt"
        text.write_bytes(whole[:fitted])
        held_out.write_bytes(whole[fitted:fitted + HELD_OUT_BYTES])
        cases = [(model, *case) for model, own in (("shakespeare-llama", LLAMA), ("shakespeare-gpt2", GPT2)) for case in own]
        plans = pool.map(lambda case: planned(sys.argv[1], case[0], case[1], text, held_out), cases)
        for (model, words, expected, most), plan in zip(cases, plans):
            loss = plan["mean_nll_after"] - plan["mean_nll_before"]
            print(f"| {model} | `{plan['method']}` | {plan['description']} | {plan['parameters_after']:,} "
                  f"| {plan['kv_cache_bytes_per_token_after']:,} | {loss:.3f} | {expected:.3f} "
                  f"| {plan['perplexity_before']:.2f} → {plan['perplexity_after']:.2f} |", flush=True)
            if not loss <= most:
                faults.append(f"{model} {' '.join(words)}: loss increase of {loss:.4f} nats, more than {most}")
    for fault in faults:
        print("fault:", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
