#!/usr/bin/env python3
"""Write tests/golden/interventions/<case>.json: expected results of `lens`, `ablate`, `predict --attribution` and attended_token_effect.

    python tools/golden_interventions.py [CASE…]

Everything is computed with transformers' eager models in float64 and PyTorch hooks. One kind of hook replaces the input of an output
projection, or the output of a mixer or an MLP. Another records the residual stream between layers. Texts are those of the existing
golden files. Hybrid models have only results of `ablate`. <case>-prompts.json has the expected results of `--prompts` for
examples/prompts.jsonl, and for repeated or random tokens. A second run gives the same bytes. Needs numpy, torch and transformers, but
tests do not.
"""

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
import transformers
from golden_forward import InFloat64
from intervention_places import HYBRIDS, Places

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden/interventions"
REPLACED = {"mean": lambda x: x.mean((0, 1), keepdim=True).expand_as(x), "zero": torch.zeros_like,
            "resample": lambda x: torch.roll(x, -1, 0)}
RECORDED = {"mixer": "mixers", "mlp": "mlps"}  # by component; others: heads


class Hooked:
    """A model with hooks that record and change its forward pass."""

    def __init__(self, folder):
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, attn_implementation="eager", experts_implementation="eager", dtype=torch.float64).eval()
        self.places = Places(self.model)
        self.is_hybrid = self.model.config.model_type.removesuffix("_text") in HYBRIDS

    @torch.no_grad()
    def run(self, ids, **edits):
        """Run the model. edits: for heads, mixers and mlps, per layer a function that replaces the recorded values."""
        places, hooks = self.places, []
        self.streams = []
        self.heads, self.mixers, self.mlps = ([None] * len(places.layers) for _ in range(3))

        def replaced(name, n, values):
            getattr(self, name)[n] = values
            return edits.get(name, {}).get(n, lambda same: same)(values)

        def add(name, n, module):
            def hook(_, args, out):
                if isinstance(out, tuple):
                    return (replaced(name, n, out[0]), *out[1:])
                return replaced(name, n, out)
            if module is not None:
                hooks.append(module.register_forward_hook(hook))

        for n, (layer, output) in enumerate(zip(places.layers, places.outputs)):
            hooks.append(layer.register_forward_pre_hook(lambda _, args: self.streams.append(args[0])))
            if output is not None:
                hooks.append(output.register_forward_pre_hook(lambda _, args, n=n: (replaced("heads", n, args[0]),)))
            add("mixers", n, places.mixers[n])
            add("mlps", n, places.mlps[n])
        hooks.append(places.norm.register_forward_pre_hook(lambda _, args: self.streams.append(args[0])))
        with InFloat64() if self.is_hybrid else nullcontext():
            out = self.model(input_ids=ids, output_attentions=True, use_cache=False)
        for hook in hooks:
            hook.remove()
        self.maps = out.attentions
        return out.logits


def losses(logits, ids):
    scores = torch.log_softmax(logits[:, :-1], -1)
    return -scores.gather(-1, ids[:, 1:, None])[..., 0]


def divergence(clean, other):
    p, q = torch.log_softmax(clean, -1), torch.log_softmax(other, -1)
    return (p.exp() * (p - q)).sum(-1).mean().item()


def state_of(n, layers):
    """State n of the residual stream: the input of layer n, or the output of the last layer."""
    return {"layer": n, "state": "resid_pre"} if n < layers else {"layer": n - 1, "state": "resid_post"}


def lens(hooked, ids, logits):
    layers = len(hooked.streams) - 1
    return [lens_row(hooked, ids, logits, state_of(n, layers), stream) for n, stream in enumerate(hooked.streams)]


@torch.no_grad()
def component_lens(hooked, ids, logits):
    """Decode what each attention and MLP adds to the residual stream."""
    names = {"gpt2": ("attn", "mlp"), "llama": ("self_attn", "mlp"), "gemma2": ("post_attention_layernorm", "post_feedforward_layernorm")}
    written, hooks, rows = {}, [], []
    for n, layer in enumerate(hooked.places.layers):
        for name, state in zip(names[hooked.model.config.model_type], ("attn_out", "mlp_out")):
            def keep(_, args, out, key=(n, state)):
                written[key] = out[0] if isinstance(out, tuple) else out
            hooks.append(getattr(layer, name).register_forward_hook(keep))
    hooked.run(ids)
    for hook in hooks:
        hook.remove()
    for (n, state), output in sorted(written.items()):
        rows.append(lens_row(hooked, ids, logits, {"layer": n, "state": state}, output))
    return rows


@torch.no_grad()
def tuned_lens(hooked, ids, logits, folder):
    """Write random translators in the format of tuned-lens 0.2.0, and decode with them."""
    width, layers = hooked.model.config.hidden_size, len(hooked.streams) - 1
    generator = torch.Generator().manual_seed(4)
    translators = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(layers))
    for weight in translators.parameters():
        weight.copy_(torch.randn(weight.shape, generator=generator) / width ** 0.5)
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(translators.state_dict(), folder / "params.pt")
    config = {"base_model_name_or_path": "tiny", "d_model": width, "num_hidden_layers": layers, "bias": True,
              "base_model_revision": None, "unembed_hash": None, "lens_type": "linear_tuned_lens"}
    (folder / "config.json").write_text(json.dumps(config))
    states = [stream + one.double()(stream) for stream, one in zip(hooked.streams, translators)] + [hooked.streams[-1]]
    return [lens_row(hooked, ids, logits, state_of(n, layers), state) for n, state in enumerate(states)]


@torch.no_grad()
def lens_row(hooked, ids, logits, place, state):
    here = hooked.places.head(hooked.places.norm(state))
    if cap := getattr(hooked.model.config, "final_logit_softcapping", None):
        here = cap * torch.tanh(here / cap)
    scores = torch.log_softmax(here, -1)
    of_next = here[:, :-1].gather(-1, ids[:, 1:, None])
    ranks = (1 + (here[:, :-1] > of_next).sum(-1)).double()
    return {**place, "loss": losses(here, ids).mean().item(), "entropy": -(scores.exp() * scores).sum(-1).mean().item(),
            "kl": divergence(logits, here), "mean_reciprocal_rank": (1 / ranks).mean().item(),
            "median_rank": float(np.median(ranks.numpy())), "top1": (ranks == 1).double().mean().item(),
            "agreement": (here.argmax(-1) == logits.argmax(-1)).double().mean().item()}


def ablations(hooked, ids, layers, how):
    clean = hooked.run(ids)
    kept, base = {"heads": hooked.heads, "mixers": hooked.mixers, "mlps": hooked.mlps}, losses(clean, ids)
    count = hooked.model.config.num_attention_heads
    replaced = REPLACED[how]

    def row(component, layer, head, logits):
        more = losses(logits, ids) - base
        windows = more.mean(1).numpy()
        return {"layer": layer, "head": head, "component": component, "loss_increase": more.mean().item(),
                "loss_increase_error": float(windows.std(ddof=1) / np.sqrt(len(windows))), "kl": divergence(clean, logits),
                "top_token_changed": (logits.argmax(-1) != clean.argmax(-1)).double().mean().item()}

    rows = []
    for n in layers:
        for component, head in hooked.places.components(n, count):
            whole = kept[RECORDED.get(component, "heads")][n]

            def edit(_, head=head, whole=whole):
                if head is None:
                    return replaced(whole)
                size = whole.shape[-1] // count
                part, out = slice(head * size, (head + 1) * size), whole.clone()
                out[..., part] = replaced(whole)[..., part]
                return out

            rows.append(row(component, n, head, hooked.run(ids, **{RECORDED.get(component, "heads"): {n: edit}})))
    return rows


def head_sets(hooked, ids, layers, how):
    """Ablate three heads of two layers together, and each alone."""
    clean = hooked.run(ids)
    kept, base, count = hooked.heads, losses(clean, ids), hooked.model.config.num_attention_heads
    replaced = REPLACED[how]

    def row(heads):
        def edit(layer):
            def change(now):
                whole, size = kept[layer], kept[layer].shape[-1] // count
                out = now.clone()
                for n, head in heads:
                    part = slice(head * size, (head + 1) * size)
                    if n == layer:
                        out[..., part] = replaced(whole)[..., part]
                return out
            return change

        logits = hooked.run(ids, heads={layer: edit(layer) for layer, _ in heads})
        more = losses(logits, ids) - base
        windows = more.mean(1).numpy()
        return {"heads": ",".join(f"L{layer}H{head}" for layer, head in heads), "count": len(heads), "loss_increase": more.mean().item(),
                "loss_increase_error": float(windows.std(ddof=1) / np.sqrt(len(windows))), "kl": divergence(clean, logits),
                "top_token_changed": (logits.argmax(-1) != clean.argmax(-1)).double().mean().item()}

    some = [(layers[0], 0), (layers[0], 1), (layers[1], 1)]
    return [row(some), row(some[:1]), row(some[1:2]), row(some[2:])]


def frozen(hooked, written):
    """Apply the final norm to an output, without its scale and bias."""
    centred = written - written.mean(-1, keepdim=True) if isinstance(hooked.places.norm, torch.nn.LayerNorm) else written
    return centred * hooked.places.norm.weight


def scales(hooked):
    stream, norm = hooked.streams[-1], hooked.places.norm
    centred = stream - stream.mean(-1, keepdim=True) if isinstance(norm, torch.nn.LayerNorm) else stream
    epsilon = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
    return ((centred ** 2).mean(-1, keepdim=True) + epsilon).sqrt()


def head_writes(hooked, layer, z):
    """Return the output of each head without the bias: (batch, T, H, D)."""
    output, count = hooked.places.outputs[layer], hooked.model.config.num_attention_heads
    weight = output.weight if type(output).__name__ == "Conv1D" else output.weight.T  # (H d_v, D)
    size = weight.shape[0] // count
    return torch.einsum("bthd,hdw->bthw", z.reshape(*z.shape[:2], count, size), weight.reshape(count, size, -1))


@torch.no_grad()
def attribution(hooked, ids):
    """Return what heads and MLPs add to the mean-centered logits of the first text's own tokens, and the mean of these logits."""
    text = ids[:1]
    logits = hooked.run(text)
    unembed = hooked.places.head.weight
    direction = unembed[text[0, 1:]] - unembed.mean(0)
    scale = scales(hooked)[0, :-1]
    of = lambda written: ((frozen(hooked, written)[0, :-1] / scale) * direction).sum(-1).mean().item()  # noqa: E731
    rows = []
    for n in range(len(hooked.places.layers)):
        writes = head_writes(hooked, n, hooked.heads[n])
        rows += [{"component": "head", "layer": n, "head": h, "direct_effect": of(writes[:, :, h])} for h in range(writes.shape[2])]
        rows.append({"component": "mlp", "layer": n, "head": None, "direct_effect": of(hooked.mlps[n])})
    centred = logits[0, :-1] - logits[0, :-1].mean(-1, keepdim=True)
    return rows, centred.gather(-1, text[0, 1:, None]).mean().item()


@torch.no_grad()
def raises(hooked, ids):
    values, hooks = [], []
    for layer in hooked.places.layers:
        inside = layer.attn.c_attn if hasattr(layer, "attn") else layer.self_attn.v_proj
        hooks.append(inside.register_forward_hook(lambda _, args, out: values.append(out)))
    hooked.run(ids)
    for hook in hooks:
        hook.remove()
    config, unembed = hooked.model.config, hooked.places.head.weight
    heads = config.num_attention_heads
    groups = getattr(config, "num_key_value_heads", None) or heads
    own = unembed[ids] - unembed[ids.flatten()].mean(0)
    scale, rows = scales(hooked)[..., 0], []
    for n, value in enumerate(values):
        if hasattr(hooked.places.layers[n], "attn"):
            value = value.chunk(3, -1)[2]
        value = value.reshape(*value.shape[:2], groups, -1).repeat_interleave(heads // groups, 2).flatten(2)
        read = (frozen(hooked, head_writes(hooked, n, value)) * own[:, :, None]).sum(-1)  # (batch, T, H)
        found = torch.einsum("bhqk,bkh->bqh", hooked.maps[n], read) / scale[..., None]
        rows += [{"layer": n, "head": h, "attended_token_effect": found[..., h].mean().item()} for h in range(heads)]
    return rows


def ratio_error(parts, wholes):
    """Return the standard error of mean(parts) / mean(wholes) by the delta method (gradient of the ratio, covariance of both)."""
    gradient = np.array([1, -parts.mean() / wholes.mean()]) / wholes.mean()
    variance = gradient @ np.cov(parts, wholes, ddof=1) @ gradient / len(parts)
    return float(np.sqrt(max(variance, 0)))


class Prompts:
    """Prompts of different lengths with answers, each run separately."""

    def __init__(self, hooked, prompts):
        self.hooked, self.prompts = hooked, prompts
        self.kept = {side: [self.keep(prompt[side]) for prompt in prompts] for side in ("clean", "corrupted")}
        self.base = {side: self.differences(side) for side in self.kept}
        self.lead = self.base["clean"] - self.base["corrupted"]

    def keep(self, ids):
        self.hooked.run(torch.tensor([ids]))
        return {name: getattr(self.hooked, name) for name in ("heads", "mixers", "mlps", "streams")} | {"scales": scales(self.hooked)}

    def difference(self, logits, prompt):
        return (logits[0, -1, prompt["correct"]] - logits[0, -1, prompt["incorrect"]]).item()

    def differences(self, side, edits=None):
        """Return the logit differences. edits: per prompt, the arguments of Hooked.run()."""
        edits = edits or [{}] * len(self.prompts)
        return np.array([self.difference(self.hooked.run(torch.tensor([prompt[side]]), **edit), prompt)
                         for prompt, edit in zip(self.prompts, edits)])

    @staticmethod
    def share(name, moved, wholes):
        return {name: float(moved.mean() / wholes.mean()), f"{name}_error": ratio_error(moved, wholes)}

    def edits(self, part, layer, columns, other):
        """Return edits that replace a component, in each prompt, by its output in `other`."""
        def edit(number):
            def replaced(x):
                out = x.clone()
                out[..., columns] = other(number)[..., columns]
                return out
            return {part: {layer: replaced}}
        return [edit(number) for number in range(len(self.prompts))]

    def row(self, component, layer, head, how):
        part = RECORDED.get(component, "heads")
        kept = {side: [one[part][layer] for one in self.kept[side]] for side in self.kept}
        size = kept["clean"][0].shape[-1] // self.hooked.model.config.num_attention_heads
        columns = slice(None) if head is None else slice(head * size, (head + 1) * size)
        row = {"layer": layer, "head": head, "component": component, "logit_difference": float(self.base["clean"].mean())}
        if how == "corrupted":
            restored = self.differences("corrupted", self.edits(part, layer, columns, lambda at: kept["clean"][at]))
            row |= self.share("denoising_effect", restored - self.base["corrupted"], self.lead)
            other = lambda at: kept["corrupted"][at]  # noqa: E731
        else:
            mean = torch.cat([one[0] for one in kept["clean"]]).mean(0)
            other = lambda at: (mean if how == "mean" else 0 * mean).expand_as(kept["clean"][at])  # noqa: E731
        destroyed = self.differences("clean", self.edits(part, layer, columns, other))
        whole = self.lead if how == "corrupted" else self.base["clean"]
        return row | self.share("noising_effect", self.base["clean"] - destroyed, whole)

    def ablations(self, layers, how):
        heads = self.hooked.model.config.num_attention_heads
        return [self.row(component, n, head, how) for n in layers for component, head in self.hooked.places.components(n, heads)]

    @torch.no_grad()
    def lens(self):
        places, rows = self.hooked.places, []
        for n in range(len(places.layers) + 1):
            found = {side: np.array([self.difference(places.head(places.norm(one["streams"][n])), prompt)
                                     for one, prompt in zip(self.kept[side], self.prompts)]) for side in self.kept}
            rows.append({**state_of(n, len(places.layers)), "logit_difference": float(found["clean"].mean()),
                         "preference_accuracy": float((found["clean"] > 0).mean()),
                         "corrupted_logit_difference": float(found["corrupted"].mean()),
                         **self.share("share", found["clean"] - found["corrupted"], self.lead)})
        return rows

    def directly(self, side, written):
        """Return what an output, (T, D) per prompt, adds to the prompt's logit difference."""
        unembed = self.hooked.places.head.weight
        return np.array([(frozen(self.hooked, one[None])[0, -1] / kept["scales"][0, -1] *
                          (unembed[prompt["correct"]] - unembed[prompt["incorrect"]])).sum().item()
                         for one, kept, prompt in zip(written, self.kept[side], self.prompts)])

    @torch.no_grad()
    def attribution(self):
        rows = []
        for n in range(len(self.hooked.places.layers)):
            writes = {side: [head_writes(self.hooked, n, one["heads"][n])[0] for one in self.kept[side]] for side in self.kept}
            parts = [("head", h, {side: [one[:, h] for one in writes[side]] for side in writes}) for h in range(writes["clean"][0].shape[1])]
            parts.append(("mlp", None, {side: [one["mlps"][n][0] for one in self.kept[side]] for side in self.kept}))
            for component, head, written in parts:
                direct = {side: self.directly(side, written[side]) for side in written}
                rows.append({"component": component, "layer": n, "head": head, "direct_effect": float(direct["clean"].mean()),
                             "corrupted_direct_effect": float(direct["corrupted"].mean()),
                             **self.share("share", direct["clean"] - direct["corrupted"], self.lead)})
        return rows


def shakespeare_prompts():
    tokenizer = transformers.AutoTokenizer.from_pretrained(ROOT / "examples/shakespeare-gpt2")
    lines = [json.loads(line) for line in (ROOT / "examples/prompts.jsonl").read_text().splitlines()]
    ids = lambda text: tokenizer(text)["input_ids"]  # noqa: E731
    return [{"clean": ids(line["clean"]), "corrupted": ids(line["corrupted"]), "correct": ids(line["correct"])[0],
             "incorrect": ids(line["incorrect"])[0]} for line in lines]


def repeated_prompts():
    """Make prompts of a random block and its repeated beginning. Corrupted prompts swap the two answers in the block."""
    generator, prompts = np.random.default_rng(0), []
    for length in (9, 12, 12, 15):
        block = generator.permutation(64)[:length].tolist()
        right, wrong = length // 2, length // 2 - 3
        swapped = list(block)
        swapped[right], swapped[wrong] = block[wrong], block[right]
        again = [token for at, token in enumerate(block[:right]) if at != wrong]
        prompts.append({"clean": block + again, "corrupted": swapped + again, "correct": block[right], "incorrect": block[wrong]})
    return prompts


def random_prompts():
    """Make prompts of random tokens and, as corrupted prompts, the same tokens in reverse order."""
    generator = np.random.default_rng(0)
    texts = [generator.integers(3, 32, size).tolist() for size in (5, 9, 9)]
    return [{"clean": text, "corrupted": text[::-1], "correct": 20, "incorrect": 5} for text in texts]


def prompts_golden(folder, prompts, layers, only_ablate=False):
    found = Prompts(Hooked(ROOT / folder), prompts)
    out = {"model": folder, "prompts": prompts, "layers": ",".join(map(str, layers)),
           "ablate": {how: found.ablations(layers, how) for how in ("corrupted", "mean", "zero")}}
    return rounded(out if only_ablate else out | {"lens": found.lens(), "attribution": found.attribution()})


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def golden(folder, tokens, layers):
    hooked = Hooked(ROOT / folder)
    kind = hooked.model.config.model_type
    ids = torch.tensor(tokens)
    logits = hooked.run(ids)
    out = {"model": folder, "tokens": tokens, "layers": ",".join(map(str, layers)), "loss": losses(logits, ids).mean().item()}
    if not hooked.is_hybrid:
        out["lens"] = lens(hooked, ids, logits)
    if kind in ("gpt2", "llama", "gemma2"):
        out["component_lens"] = component_lens(hooked, ids, logits)
    if folder.endswith("forward/llama"):
        out["tuned_lens"] = tuned_lens(hooked, ids, logits, ROOT / "tests/data/tuned_lens/llama")
    out["ablate"] = {how: ablations(hooked, ids, layers, how) for how in ("mean", "zero", "resample")}
    if not hooked.is_hybrid:
        out["head_sets"] = {how: head_sets(hooked, ids, layers, how) for how in REPLACED}
    if kind in ("gpt2", "llama"):
        out["attended_token_effect"] = raises(hooked, ids)
        rows, logit = attribution(hooked, ids)
        out["attribution"] = {"rows": rows, "logit": logit}
    return rounded(out)


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    texts = json.loads((GOLDEN / "texts.json").read_text())
    cases = {"shakespeare-gpt2": ("examples/shakespeare-gpt2", texts["shakespeare-gpt2"], [0, 3, 5]),
             "shakespeare-llama": ("examples/shakespeare-llama", texts["shakespeare-llama"], [1, 5])}
    for name in ("llama", "gpt_neox", "gemma2", "mixtral", *HYBRIDS):
        folder = ROOT / "tests/data/forward" / name
        config = json.loads((folder / "config.json").read_text())
        tokens = np.random.default_rng(1).integers(0, config["vocab_size"], (3, 12)).tolist()
        layers = len(config["layers_block_type"]) if name == "nemotron_h" else config["num_hidden_layers"]
        cases[name] = (f"tests/data/forward/{name}", tokens, list(range(layers)) if name in HYBRIDS else [0, 1])
    made = {name: lambda case=case: golden(*case) for name, case in cases.items()}
    made["shakespeare-gpt2-prompts"] = lambda: prompts_golden("examples/shakespeare-gpt2", shakespeare_prompts(), [0, 3])
    made["induction-gpt2-prompts"] = lambda: prompts_golden("examples/induction-gpt2", repeated_prompts(), [0, 1])
    made["falcon_h1-prompts"] = lambda: prompts_golden("tests/data/forward/falcon_h1", random_prompts(), [0, 1], only_ablate=True)
    for name, make in made.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        text = json.dumps(make()).replace('{"layer"', '\n{"layer"').replace('{"component"', '\n{"component"').replace('{"heads"', '\n{"heads"')
        (GOLDEN / f"{name}.json").write_text(text + "\n")
        print(f"{name}: {len(text)} bytes")


if __name__ == "__main__":
    main()
