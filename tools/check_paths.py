#!/usr/bin/env python3
"""Train a small model on indirect objects, and check that path patching finds its circuit.

    python tools/check_paths.py [--attnscope PROGRAM] [--model FOLDER]

The texts are like "A and B went to the store. A gave the bag to" (Wang et al. 2022), with random tokens: names A B in random order,
fillers, then one name again, a filler and the last token. The model must answer with the name that does not occur again. It is a GPT-2
of three layers. FOLDER is trained if it does not exist, which takes some minutes on one core.

The check finds the head after layer 0 whose direct path to the logits restores most (a name mover). It compares the effects of all paths into the
queries, keys and values of this head with three runs with PyTorch hooks. Then it states by which input earlier heads reach the name
mover: its queries, because they say which name occurs twice. Needs torch and transformers. Exits with 1 if a check fails.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import transformers

ROOT = Path(__file__).resolve().parent.parent
NAMES, FILLERS, END = range(0, 24), range(24, 40), 40
LENGTH, LAYERS, HEADS, WIDTH = 15, 3, 4, 64
BATCH, RATE, WARM_UP, ENOUGH, MOST_STEPS = 64, 2e-3, 100, 0.02, 6000
PROMPTS = 16


def texts(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return tokens, the name that occurs once, and the name that occurs twice."""
    tokens = torch.randint(FILLERS.start, FILLERS.stop, (count, LENGTH), generator=generator)
    both = torch.stack([torch.randperm(len(NAMES), generator=generator)[:2] for _ in range(count)])
    first = torch.randint(0, 2, (count,), generator=generator)
    places = torch.stack([torch.randperm(6, generator=generator)[:2].sort().values for _ in range(count)])
    rows = torch.arange(count)
    once, twice = both[:, 0], both[:, 1]
    tokens[rows, places[:, 0]] = torch.where(first == 0, once, twice)
    tokens[rows, places[:, 1]] = torch.where(first == 0, twice, once)
    tokens[rows, 8 + torch.randint(0, 4, (count,), generator=generator)] = twice
    tokens[:, -1] = END
    return tokens, once, twice


def train(folder: Path) -> None:
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=END + 1, n_positions=LENGTH, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_inner=2 * WIDTH,
                                     bos_token_id=None, eos_token_id=None, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    model, generator = transformers.GPT2LMHeadModel(config), torch.Generator().manual_seed(1)
    optimizer, recent, start = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01), None, time.time()
    for step in range(MOST_STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, step / WARM_UP)
        tokens, once, _ = texts(BATCH, generator)
        loss = torch.nn.functional.cross_entropy(model(tokens).logits[:, -1], once)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent = loss.item() if recent is None else 0.95 * recent + 0.05 * loss.item()
        if step % 250 == 0:
            print(f"step {step}, loss {recent:.3f}, {time.time() - start:.0f} s", flush=True)
        if recent < ENOUGH:
            break
    model.save_pretrained(folder)


def prompts_of() -> list[dict]:
    """Corrupted prompts repeat the other name, so that the answer is the other one."""
    tokens, once, twice = texts(PROMPTS, torch.Generator().manual_seed(2))
    out = []
    for row, right, wrong in zip(tokens.tolist(), once.tolist(), twice.tolist(), strict=True):
        again = LENGTH - 1 - row[::-1].index(wrong)
        out.append({"clean": row, "corrupted": [*row[:again], right, *row[again + 1:]], "correct": right, "incorrect": wrong})
    return out


class Hooked:
    """Three runs with hooks."""

    def __init__(self, folder: Path, prompts: list[dict]):
        self.model = transformers.GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
        self.sides = {side: torch.tensor([prompt[side] for prompt in prompts]) for side in ("clean", "corrupted")}
        self.answers = torch.tensor([[prompt["correct"], prompt["incorrect"]] for prompt in prompts])
        self.kept = {}
        for side in self.sides:
            self.kept[side] = kept = {}
            self.run(side, {("z", layer): lambda value, at=("z", layer), kept=kept: kept.setdefault(at, value.clone()) for layer in range(LAYERS)}
                     | {("mlp", layer): lambda value, at=("mlp", layer), kept=kept: kept.setdefault(at, value.clone()) for layer in range(LAYERS)})
        self.base = {side: self.run(side, {}) for side in self.sides}

    @torch.no_grad()
    def run(self, side: str, changes: dict) -> torch.Tensor:
        """Return the logit differences. changes: (z, mlp or qkv, layer) -> function of the value."""
        hooks = []
        for (kind, layer), function in changes.items():
            block = self.model.transformer.h[layer]
            if kind == "z":
                hooks.append(block.attn.c_proj.register_forward_pre_hook(lambda _, given, f=function: (f(given[0]),)))
            else:
                module = block.mlp if kind == "mlp" else block.attn.c_attn
                hooks.append(module.register_forward_hook(lambda _, given, out, f=function: f(out)))
        logits = self.model(self.sides[side]).logits[:, -1]
        for hook in hooks:
            hook.remove()
        answers = logits.gather(-1, self.answers)
        return answers[:, 0] - answers[:, 1]

    def path(self, sender: tuple[int, int], receiver: tuple[int, int, str]) -> float:
        """Return the denoising share of one path into a head."""
        size, (layer, head, kind) = WIDTH // HEADS, receiver
        base, other, found = self.kept["corrupted"], self.kept["clean"], {}

        def frozen(value, at):
            out = base["z", at].clone()
            if at == sender[0]:
                part = slice(sender[1] * size, (sender[1] + 1) * size)
                out[..., part] = other["z", at][..., part]
            return out
        changes = {("z", at): lambda value, at=at: frozen(value, at) for at in range(LAYERS)}
        changes |= {("mlp", at): lambda value, at=at: base["mlp", at] for at in range(LAYERS)}
        changes["qkv", layer] = lambda value: found.setdefault("qkv", value.clone())
        self.run("corrupted", changes)
        first = "qkv".index(kind) * WIDTH + head * size

        def receive(value):
            out = value.clone()
            out[..., first:first + size] = found["qkv"][..., first:first + size]
            return out
        change = self.run("corrupted", {("qkv", layer): receive}) - self.base["corrupted"]
        return (change.mean() / (self.base["clean"] - self.base["corrupted"]).mean()).item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=ROOT / "build/release/attnscope")
    parser.add_argument("--model", type=Path, help="folder of the trained model")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        folder = options.model or Path(work) / "model"
        if not folder.exists():
            train(folder)
        prompts = prompts_of()
        file = Path(work) / "prompts.jsonl"
        file.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))

        def rows(*words: str) -> list[dict]:
            command = [str(options.attnscope), "ablate", str(folder), "--prompts", str(file), *words, "--quiet", "--format", "json"]
            return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["rows"]

        hooked = Hooked(folder, prompts)
        gap = (hooked.base["clean"] - hooked.base["corrupted"]).mean().item()
        direct = rows("--sender", "each-head", "--receiver", "logits")
        later = [row for row in direct if not row["sender"].startswith("L0")]
        mover = max(later, key=lambda row: row["denoising_effect"])
        print(f"logit difference: gap {gap:.2f}. Name mover {mover['sender']}: direct path restores {mover['denoising_effect']:.0%}")
        layer, head = (int(part) for part in mover["sender"][1:].split("H"))
        effects, worst = {}, 0.0
        for earlier in range(layer):
            for sender in range(HEADS):
                for row in rows("--sender", f"L{earlier}H{sender}", "--receiver", mover["sender"]):
                    kind = row["receiver"][-1]
                    wanted = hooked.path((earlier, sender), (layer, head, kind))
                    worst = max(worst, abs(row["denoising_effect"] - wanted))
                    effects[row["sender"], kind] = row["denoising_effect"], row["composition"]
        print(f"largest difference from three runs with hooks: {worst:.1e} of the gap")
        strongest = max(effects, key=lambda path: effects[path][0])
        best = {kind: max(value for (_, at), (value, _) in effects.items() if at == kind) for kind in "qkv"}
        by_weights = sorted((path for path in effects if path[1] == strongest[1]), key=lambda path: -(effects[path][1] or 0))
        print(f"strongest path: {strongest[0]} -> {mover['sender']}.{strongest[1]} ({effects[strongest][0]:.0%}), composition by weights "
              f"{effects[strongest][1]:.3f}, rank {by_weights.index(strongest) + 1} of {len(by_weights)}")
        print("largest effect by input: " + ", ".join(f"{kind} {value:.0%}" for kind, value in best.items()))
        if worst > 1e-4 or best["q"] < 0.05 or best["q"] < 5 * max(best["k"], best["v"]):
            sys.exit("the circuit was not found")


if __name__ == "__main__":
    main()
