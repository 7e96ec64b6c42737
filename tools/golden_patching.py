#!/usr/bin/env python3
"""Write tests/golden/interventions/patching-<case>.json: expected rows of `ablate --patch-positions`.

    python tools/golden_patching.py [CASE…]

Every activation of the models of tests/data/forward is patched with PyTorch hooks on transformers in float64, one position at a
time. A row has the measure of each prompt after denoising and noising. Needs numpy, torch and transformers.
"""

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from golden_forward import InFloat64
from golden_hooks_places import CASES, Place
from golden_interventions import GOLDEN, ROOT, Hooked

# Cases whose queries, keys and values are outputs of modules; the others have only components.
PROJECTED = ["gpt2", "llama", "gemma2", "gpt_neox", "cohere", "qwen3"]
OTHERS = ["mixtral", "deepseek_v3", "falcon_h1", "qwen3_next", "gemma3n"]
TOKENS, PROMPTS = 6, 4
METRICS = ["logit-difference", "probability", "kl", "loss"]


class Patched:
    """Runs of a model with one activation replaced at some positions."""

    def __init__(self, case: str):
        self.case, self.hooked = case, Hooked(ROOT / "tests/data/forward" / case)
        self.places, self.place = self.hooked.places, CASES.get(case)
        self.heads = self.hooked.model.config.num_attention_heads

    def module(self, kind: str, layer: int):
        """Return the module, whether its input is replaced, and the columns of each head."""
        block = self.places.layers[layer]
        if kind == "resid_pre":
            return block, True
        if kind in ("head", "attention"):
            return self.places.outputs[layer], True
        if kind in ("mixer", "mlp"):
            return {"mixer": self.places.mixers, "mlp": self.places.mlps}[kind][layer], False
        return block.get_submodule(self.place.parts_of(block)[kind]), False

    def columns(self, kind: str, layer: int, head: int | None) -> torch.Tensor:
        if head is None:
            return slice(None)
        module, _ = self.module(kind, layer)
        if kind == "head":
            weight = module.weight
            width = weight.shape[0] if type(module).__name__ == "Conv1D" else weight.shape[1]
            return torch.arange(width).reshape(self.heads, -1)[head]
        place: Place = self.place
        outputs = module.weight.shape[1] if type(module).__name__ == "Conv1D" else module.weight.shape[0]
        every = torch.arange(outputs)[None]
        config = self.hooked.model.config
        split = place.split.get(kind)
        of_heads = split(config, every) if split else every.reshape(1, place.heads(config, kind), -1)
        return of_heads[0, head]

    @torch.no_grad()
    def run(self, ids: list[int], *changes):
        """Run the model. changes: kind, layer, and a function of the activation (T, columns)."""
        hooks = []
        for kind, layer, function in changes:
            module, is_input = self.module(kind, layer)

            def before(_, arguments, keywords, function=function):
                if arguments:
                    return (function(arguments[0]), *arguments[1:]), keywords
                return arguments, keywords | {"hidden_states": function(keywords["hidden_states"])}

            def after(_, arguments, output, function=function):
                return (function(output[0]), *output[1:]) if isinstance(output, tuple) else function(output)

            hooks.append(module.register_forward_pre_hook(before, with_kwargs=True) if is_input else module.register_forward_hook(after))
        with InFloat64() if self.hooked.is_hybrid else nullcontext():
            logits = self.hooked.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
        for hook in hooks:
            hook.remove()
        return logits

    def kept(self, ids: list[int], kind: str, layer: int) -> torch.Tensor:
        found = []
        self.run(ids, (kind, layer, lambda value: (found.append(value.clone()), value)[1]))
        return found[0]

    def patched(self, ids: list[int], source: torch.Tensor, kind: str, layer: int, head: int | None, positions: list[int]):
        columns = self.columns(kind, layer, head)

        def function(value):
            out = value.clone()
            for position in positions:
                row = out[..., position, :] if out.dim() > 2 else out[position]
                other = source[..., position, :] if source.dim() > 2 else source[position]
                row[..., columns] = other[..., columns]
            return out
        return self.run(ids, (kind, layer, function))

    def parts(self, layer: int):
        config = self.hooked.model.config
        if self.case != "gemma3n":  # which has several residual streams
            yield "resid_pre", None
        for kind, head in self.places.components(layer, self.heads):
            if kind != "head":
                yield kind, None
        if self.places.outputs[layer] is None:
            return
        for head in range(self.heads):
            yield "head", head
        for kind in "qkv" if self.case in PROJECTED else "":
            for head in range(self.place.heads(config, kind)):
                yield kind, head


def measures(metric: str, logits: torch.Tensor, clean: torch.Tensor, prompt: dict, rows: list[int]) -> float:
    scores = torch.log_softmax(logits, -1)
    if metric == "logit-difference":
        return (logits[-1, prompt["correct"]] - logits[-1, prompt["incorrect"]]).item()
    if metric == "probability":
        return scores[-1, prompt["correct"]].exp().item()
    if metric == "kl":
        wanted = torch.log_softmax(clean, -1)[rows]
        return (wanted.exp() * (wanted - scores[rows])).sum(-1).mean().item()
    following = [*prompt["clean"][1:], prompt["correct"]]
    return float(np.mean([-scores[row, following[row]].item() for row in rows]))


def rows_of(model: Patched, prompts: list[dict], metric: str, scored: list[int], places: list[list[int]], layers: list[int]) -> dict:
    base = {side: [model.run(prompt[side]) for prompt in prompts] for side in ("clean", "corrupted")}
    value = lambda at, logits: measures(metric, logits, base["clean"][at], prompts[at], scored)  # noqa: E731
    rows = []
    for layer in layers:
        for kind, head in model.parts(layer):
            kept = {side: [model.kept(prompt[side], kind, layer) for prompt in prompts] for side in base}
            for positions in places:
                found = {}
                for name, side, other in (("denoised", "corrupted", "clean"), ("noised", "clean", "corrupted")):
                    found[name] = [value(at, model.patched(prompt[side], kept[other][at], kind, layer, head, positions))
                                   for at, prompt in enumerate(prompts)]
                rows.append({"layer": layer, "component": kind, "head": head, "positions": positions} | found)
    return {side: [value(at, logits) for at, logits in enumerate(base[side])] for side in base} | {"rows": rows}


def jackknife(parts: np.ndarray, wholes: np.ndarray) -> float:
    count = len(parts)
    omitted = np.array([np.delete(parts, at).sum() / np.delete(wholes, at).sum() for at in range(count)])
    return float(np.sqrt((count - 1) / count * ((omitted - omitted.mean()) ** 2).sum()))


def with_shares(found: dict) -> dict:
    """Replace the values per prompt by shares of the gap, changes, and their errors."""
    clean, corrupted = np.array(found["clean"]), np.array(found["corrupted"])
    gap = clean - corrupted
    clear = abs(gap.mean()) > 2 * gap.std(ddof=1) / np.sqrt(len(gap))
    for row in found["rows"]:
        for name, change in (("denoising", np.array(row.pop("denoised")) - corrupted), ("noising", clean - np.array(row.pop("noised")))):
            row[name] = [change.mean(), change.std(ddof=1) / np.sqrt(len(change))]
            row[name] += [change.mean() / gap.mean(), jackknife(change, gap)] if clear else [None, None]
    return {"clean": clean.mean(), "corrupted": corrupted.mean(), "rows": found["rows"]}


def prompts_of(case: str) -> list[dict]:
    """Make prompts that share their first token."""
    vocabulary = json.loads((ROOT / "tests/data/forward" / case / "config.json").read_text())
    size = vocabulary.get("vocab_size") or vocabulary["text_config"]["vocab_size"]
    generator = np.random.default_rng(7)
    first = int(generator.integers(3, min(size, 32)))
    text = lambda: [first, *generator.integers(3, min(size, 32), TOKENS - 1).tolist()]  # noqa: E731
    return [{"clean": text(), "corrupted": text()} for _ in range(PROMPTS)]


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def answered(model: Patched, prompts: list[dict]) -> list[dict]:
    """Add the answers that the clean prompt raises and lowers most, relative to the corrupted prompt."""
    for prompt in prompts:
        change = (model.run(prompt["clean"]) - model.run(prompt["corrupted"]))[-1]
        prompt |= {"correct": int(change.argmax()), "incorrect": int(change.argmin())}
    return prompts


def golden(case: str) -> dict:
    model = Patched(case)
    prompts = answered(model, prompts_of(case))
    each = [[position] for position in range(TOKENS)]
    last = len(model.places.layers) - 1
    runs = [("logit-difference", "last", "each", each, range(last + 1)), ("probability", "last", "2,5", [[2], [5]], [last]),
            ("kl", "last", "all", [list(range(TOKENS))], [last]), ("kl", "3,-2-", "2,5", [[2], [5]], [0]),
            ("loss", "2-", "2,4", [[2], [4]], [0])]
    out = {"model": f"tests/data/forward/{case}", "prompts": prompts, "runs": []}
    for metric, scored, selection, places, layers in runs:
        rows = {"last": [TOKENS - 1], "3,-2-": [2, TOKENS - 2, TOKENS - 1], "2-": list(range(1, TOKENS))}[scored]
        found = with_shares(rows_of(model, prompts, metric, rows, places, list(layers)))
        out["runs"].append({"metric": metric, "score_positions": scored, "patch_positions": selection,
                            "layers": ",".join(map(str, layers))} | found)
    return rounded(out)


def write(path: Path, found: dict) -> None:
    """Write one line per run of prompts, and per row."""
    runs = []
    for run in found["runs"]:
        rows = ",\n".join(json.dumps(row) for row in run["rows"])
        rest = json.dumps({key: value for key, value in run.items() if key != "rows"})
        runs.append(f'{rest[:-1]}, "rows": [\n{rows}]}}')
    rest = json.dumps({key: value for key, value in found.items() if key != "runs"})
    path.write_text(f'{rest[:-1]}, "runs": [\n' + ",\n".join(runs) + "]}\n")


def main() -> None:
    torch.set_num_threads(1)  # the models are small
    for case in sys.argv[1:] or PROJECTED + OTHERS:
        found = golden(case)
        write(GOLDEN / f"patching-{case}.json", found)
        print(case, sum(len(run["rows"]) for run in found["runs"]), "rows")


if __name__ == "__main__":
    main()
