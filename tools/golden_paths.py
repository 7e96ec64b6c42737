#!/usr/bin/env python3
"""Write tests/golden/interventions/paths-<case>.json: expected rows of `ablate --sender`.

    python tools/golden_paths.py [CASE…]

Path patching as three runs with PyTorch hooks on transformers in float64. The first one is the base run. In the second one, the senders
have their output of the other prompt, and all other heads and MLPs that of the base run. This gives the inputs of the receivers, which
the third run uses. Needs numpy, torch and transformers.
"""

import sys

import torch
from golden_interventions import GOLDEN
from golden_patching import Patched, answered, measures, prompts_of, rounded, with_shares, write

CASES = ["gpt2", "llama", "gemma2", "gpt_neox", "qwen3", "cohere"]
NORMS = {"gpt2": "ln_1"}  # the others: input_layernorm
SENDERS = [[(0, 0)], [(0, 1), (0, 2)]]
RECEIVERS = [[(1, 1, "q")], [(1, 0, "k")], [(1, 0, "v")], [(1, 0, "q"), (1, 1, "q")], []]
OPTIONS = [{}, {"through_mlps": True}, {"freeze_norms": True}]


class Paths(Patched):
    def keep_all(self, ids: list[int]) -> dict:
        """Return the activations of every layer, and the inputs of its norms."""
        kept, changes = {}, []
        for layer in range(len(self.places.layers)):
            for kind in ("resid_pre", "head", "mlp"):
                changes.append((kind, layer, lambda value, at=(kind, layer): kept.setdefault(at, value.clone())))
        hook = self.places.norm.register_forward_pre_hook(lambda _, arguments: kept.setdefault("last", arguments[0].clone()))
        self.run(ids, *changes)
        hook.remove()
        return kept

    def freeze(self, norm: torch.nn.Module, base: torch.Tensor):
        """Fix the scale of a norm at its value for `base`."""
        centers = "LayerNorm" in type(norm).__name__ or "CohereLayerNorm" == type(norm).__name__
        epsilon = next(getattr(norm, name) for name in ("eps", "variance_epsilon") if hasattr(norm, name))
        weight = 1 + norm.weight if "Gemma" in type(norm).__name__ else norm.weight
        middle = lambda x: x - x.mean(-1, keepdim=True) if centers else x  # noqa: E731
        scale = (middle(base).pow(2).mean(-1, keepdim=True) + epsilon).rsqrt()

        def hook(_, arguments, output):
            out = middle(arguments[0]) * scale * weight
            return out if getattr(norm, "bias", None) is None else out + norm.bias
        return norm.register_forward_hook(hook)

    def patched_path(self, ids, base: dict, other: dict, senders, receivers, through_mlps=False, freeze_norms=False) -> torch.Tensor:
        changes, inputs, hooks = [], {}, []
        for layer in range(len(self.places.layers)):
            def heads(value, layer=layer):
                out = base["head", layer].clone()
                for at, head in senders:
                    if at == layer:
                        columns = self.columns("head", layer, head)
                        out[..., columns] = other["head", layer][..., columns]
                return out
            changes.append(("head", layer, heads))
            if not through_mlps:
                changes.append(("mlp", layer, lambda _, layer=layer: base["mlp", layer]))
        for layer, _, kind in receivers:
            def record(value, at=(kind, layer)):
                inputs.setdefault(at, value.clone())
                return value
            changes.append((kind, layer, record))
        if freeze_norms:
            for layer, block in enumerate(self.places.layers):
                if any(layer == at for at, _, _ in receivers):
                    hooks.append(self.freeze(block.get_submodule(NORMS.get(self.case, "input_layernorm")), base["resid_pre", layer]))
            hooks.append(self.freeze(self.places.norm, base["last"]))
        logits = self.run(ids, *changes)
        for hook in hooks:
            hook.remove()
        if not receivers:
            return logits

        changes = []
        for layer, head, kind in receivers:
            def receive(value, at=(kind, layer), head=head):
                out, columns = value.clone(), self.columns(*at, head)
                out[..., columns] = inputs[at][..., columns]
                return out
            changes.append((kind, layer, receive))
        return self.run(ids, *changes)


def golden(case: str) -> dict:
    model = Paths(case)
    prompts = answered(model, prompts_of(case))
    kept = {side: [model.keep_all(prompt[side]) for prompt in prompts] for side in ("clean", "corrupted")}
    value = lambda prompt, logits: measures("logit-difference", logits, logits, prompt, [-1])  # noqa: E731
    base = {side: [value(prompt, model.run(prompt[side])) for prompt in prompts] for side in kept}
    runs = []
    for options in OPTIONS:
        rows = []
        for senders in SENDERS:
            for receivers in RECEIVERS:
                row = {"sender": ",".join(f"L{layer}H{head}" for layer, head in senders),
                       "receiver": ",".join(f"L{layer}H{head}.{kind}" for layer, head, kind in receivers) or "logits"}
                for name, side, other in (("denoised", "corrupted", "clean"), ("noised", "clean", "corrupted")):
                    row[name] = [value(prompt, model.patched_path(prompt[side], kept[side][at], kept[other][at], senders, receivers,
                                                                  **options)) for at, prompt in enumerate(prompts)]
                rows.append(row)
        runs.append({"options": sorted(options)} | with_shares(base | {"rows": rows}))
    return rounded({"model": f"tests/data/forward/{case}", "prompts": prompts, "runs": runs})


def main() -> None:
    torch.set_num_threads(1)  # the models are small
    for case in sys.argv[1:] or CASES:
        write(GOLDEN / f"paths-{case}.json", golden(case))
        print(case)


if __name__ == "__main__":
    main()
