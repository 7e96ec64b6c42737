#!/usr/bin/env python3
"""Train the example model with induction heads: a two-layer GPT-2 on repeated random tokens.

    python tools/train_induction.py --out examples/induction-gpt2

A block of 8 to 31 random tokens is repeated to 64 tokens. Only predictable tokens, those after the first block, are scored.
The model learns a previous-token head in the first layer. From it, an induction head in the second layer finds the successor of the
previous occurrence of a token. Takes about two minutes on one core, with a fixed seed and one thread. The last line is JSON.
"""

import argparse
import json
import time
from pathlib import Path

import torch
import transformers

TOKENS, CONTEXT = 64, 64
CONFIG = transformers.GPT2Config(vocab_size=TOKENS, n_positions=CONTEXT, n_embd=64, n_layer=2, n_head=4, n_inner=128, bos_token_id=None,
                                 eos_token_id=None, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, tie_word_embeddings=True)
BATCH, RATE, WARM_UP, ENOUGH = 32, 3e-3, 100, 0.02


def loss_of(model, block, generator):
    once = torch.randint(0, TOKENS, (BATCH, block), generator=generator)
    ids = once.repeat(1, CONTEXT // block + 1)[:, :CONTEXT]
    logits = model(ids).logits[:, block:-1]
    return torch.nn.functional.cross_entropy(logits.reshape(-1, TOKENS), ids[:, block + 1:].reshape(-1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    parser.add_argument("--steps", type=int, default=8000, help="maximum number of steps")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    model = transformers.GPT2LMHeadModel(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    generator = torch.Generator().manual_seed(arguments.seed + 1)
    start, recent = time.time(), None
    for step in range(arguments.steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, step / WARM_UP)
        loss = loss_of(model, int(torch.randint(8, 32, (1,), generator=generator)), generator)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent = loss.item() if recent is None else 0.95 * recent + 0.05 * loss.item()
        if step % 250 == 0:
            print(f"step {step}, loss {recent:.3f}, {time.time() - start:.0f} s", flush=True)
        if recent < ENOUGH:
            break
    model.to(torch.bfloat16).save_pretrained(arguments.out)
    print(json.dumps({"steps": step + 1, "loss": recent, "seconds": round(time.time() - start)}))


if __name__ == "__main__":
    main()
