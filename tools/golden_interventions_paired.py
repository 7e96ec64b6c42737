#!/usr/bin/env python3
"""Write tests/golden/interventions/paired-<case>.json: expected results of `lens` and `ablate` for encoder-decoders.

    python tools/golden_interventions_paired.py [CASE…]

As in golden_interventions.py, values come from transformers' eager models in float64 with PyTorch hooks, for tests/data/encoder_decoders.
Each pair of a source and a target text is run separately. `pairs` have different lengths and use zero and mean ablation. `even_pairs`
have equal lengths and use resample ablation from the next pair. A second run gives the same bytes. Needs numpy, torch and
transformers, but tests do not.
"""

import json
import sys

import numpy as np
import torch
import transformers
from golden_forward import InFloat64
from golden_interventions import GOLDEN, ROOT, ratio_error, rounded, state_of

LENGTHS = ((9, 6), (4, 8), (6, 5))  # tokens of source and target
EVEN = ((7, 6),) * 3


class Stack:
    """Modules of one stack per layer: output projections and MLPs. Cross-attention has no MLPs."""

    def __init__(self, layers, output, mlp, heads):
        self.outputs = [layer.get_submodule(output) for layer in layers]
        self.mlps = [layer.get_submodule(mlp) for layer in layers] if mlp else []
        self.heads = heads


class Hooked:
    """A model with hooks that record and change its forward pass."""

    def __init__(self, folder):
        self.model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
        config = self.model.config
        if hasattr(self.model, "decoder"):  # T5
            encoder, decoder = self.model.encoder.block, self.model.decoder.block
            self.stacks = {"encoder": Stack(encoder, "layer.0.SelfAttention.o", "layer.1.DenseReluDense", config.num_heads),
                           "decoder": Stack(decoder, "layer.0.SelfAttention.o", "layer.2.DenseReluDense", config.num_heads),
                           "cross": Stack(decoder, "layer.1.EncDecAttention.o", "", config.num_heads)}
            self.norm, self.factor = self.model.decoder.final_layer_norm, config.d_model ** -0.5 if config.scale_decoder_outputs else 1
        else:
            encoder, decoder = self.model.model.encoder.layers, self.model.model.decoder.layers
            own, other = config.encoder_attention_heads, config.decoder_attention_heads
            self.stacks = {"encoder": Stack(encoder, "self_attn.out_proj", "fc2", own),
                           "decoder": Stack(decoder, "self_attn.out_proj", "fc2", other),
                           "cross": Stack(decoder, "encoder_attn.out_proj", "", other)}
            self.norm, self.factor = getattr(self.model.model.decoder, "layer_norm", torch.nn.Identity()), 1
        self.layers = list(decoder)

    def logits(self, stream):
        """Decode any state of the decoder's residual stream: the final norm, then the head."""
        bias = getattr(self.model, "final_logits_bias", 0)
        return self.model.lm_head(self.factor * self.norm(stream)) + bias

    @torch.no_grad()
    def run(self, pair, edit=None):
        """Return the logits after each target token. edit: a stack, "outputs" or "mlps", a layer, and a replacement function."""
        self.streams, self.seen, hooks = [], {}, []

        def watch(stack, kind, layer, module):
            replace = edit[3] if edit and edit[:3] == (stack, kind, layer) else (lambda x: x)

            def before(_, args):
                self.seen[stack, kind, layer] = args[0][0]
                return (replace(args[0][0])[None],)

            def after(_, args, out):
                self.seen[stack, kind, layer] = out[0]
                return replace(out[0])[None]

            hooks.append(module.register_forward_pre_hook(before) if kind == "outputs" else module.register_forward_hook(after))

        for name, stack in self.stacks.items():
            for kind in ("outputs", "mlps"):
                for n, module in enumerate(getattr(stack, kind)):
                    watch(name, kind, n, module)
        for layer in self.layers:
            hooks.append(layer.register_forward_pre_hook(lambda _, args: self.streams.append(args[0][0])))
        if not isinstance(self.norm, torch.nn.Identity):
            hooks.append(self.norm.register_forward_pre_hook(lambda _, args: self.streams.append(args[0][0])))
        else:
            hooks.append(self.layers[-1].register_forward_hook(lambda _, args, out: self.streams.append((out[0] if isinstance(out, tuple) else out)[0])))
        ids = torch.tensor([pair["source"]])
        with InFloat64():
            out = self.model(input_ids=ids, attention_mask=torch.ones_like(ids), decoder_input_ids=torch.tensor([pair["target"][:-1]]), use_cache=False)
        for hook in hooks:
            hook.remove()
        assert len(self.streams) == len(self.layers) + 1
        return out.logits[0]


def losses(logits, pair):
    return -torch.log_softmax(logits, -1).gather(-1, torch.tensor(pair["target"][1:])[:, None])[:, 0]


def divergences(clean, other):
    p, q = torch.log_softmax(clean, -1), torch.log_softmax(other, -1)
    return (p.exp() * (p - q)).sum(-1)


def mean_of(parts):
    return torch.cat(parts).double().mean().item()


@torch.no_grad()
def lens(hooked, pairs):
    clean, states = [], []
    for pair in pairs:
        clean.append(hooked.run(pair))
        states.append([hooked.logits(stream) for stream in hooked.streams])
        assert torch.allclose(states[-1][-1], clean[-1], atol=1e-12)
    rows = []
    for n in range(len(hooked.layers) + 1):
        here = [of_pair[n] for of_pair in states]
        scores = [torch.log_softmax(logits, -1) for logits in here]
        ranks = torch.cat([1 + (logits > logits.gather(-1, torch.tensor(pair["target"][1:])[:, None])).sum(-1)
                           for logits, pair in zip(here, pairs)]).double()
        rows.append({**state_of(n, len(hooked.layers)),
                     "loss": mean_of([losses(logits, pair) for logits, pair in zip(here, pairs)]),
                     "entropy": -mean_of([(each.exp() * each).sum(-1) for each in scores]),
                     "kl": mean_of([divergences(a, b) for a, b in zip(clean, here)]),
                     "mean_reciprocal_rank": (1 / ranks).mean().item(), "median_rank": float(np.median(ranks.numpy())),
                     "top1": (ranks == 1).double().mean().item(),
                     "agreement": mean_of([a.argmax(-1) == b.argmax(-1) for a, b in zip(clean, here)])})
    return rows


@torch.no_grad()
def directly(hooked, stack, kind, layer, columns, kept, streams, pair):
    """Return what a component adds to the mean-centered logits of the target's tokens. None: logits are not a sum of component outputs."""
    if stack == "encoder" or isinstance(hooked.norm, torch.nn.Identity):
        return None
    written = kept[stack, kind, layer]
    if kind == "outputs":
        written = written[:, columns] @ hooked.stacks[stack].outputs[layer].weight[:, columns].T
    centred = isinstance(hooked.norm, torch.nn.LayerNorm)
    centre = lambda x: x - x.mean(-1, keepdim=True) if centred else x  # noqa: E731
    epsilon = hooked.norm.eps if centred else hooked.norm.variance_epsilon
    scale = ((centre(streams[-1]) ** 2).mean(-1, keepdim=True) + epsilon).sqrt()
    unembed = hooked.model.lm_head.weight
    direction = unembed[pair["target"][1:]] - unembed.mean(0)
    return hooked.factor * (centre(written) / scale * hooked.norm.weight * direction).sum(-1)


def ablations(hooked, pairs, how):
    clean, kept, streams = [], [], []
    for pair in pairs:
        clean.append(hooked.run(pair))
        kept.append(hooked.seen)
        streams.append(hooked.streams)
    base = [losses(logits, pair) for logits, pair in zip(clean, pairs)]

    def row(stack, component, layer, head):
        kind = "mlps" if component == "mlp" else "outputs"
        place = stack, kind, layer
        size = kept[0][place].shape[-1] // hooked.stacks[stack].heads
        columns = slice(None) if head is None else slice(head * size, (head + 1) * size)
        mean = torch.cat([each[place] for each in kept]).mean(0)

        def changed(at):
            other = {"mean": mean.expand_as(kept[at][place]), "zero": torch.zeros_like(kept[at][place]),
                     "resample": kept[(at + 1) % len(kept)][place]}[how]

            def edit(given):
                out = given.clone()
                out[:, columns] = other[:, columns]
                return out
            return hooked.run(pairs[at], (*place, edit))

        logits = [changed(at) for at in range(len(pairs))]
        more = [losses(each, pair) - own for each, pair, own in zip(logits, pairs, base)]
        sums, counts = (np.array(each) for each in zip(*((each.double().sum().item(), each.numel()) for each in more)))
        direct = [directly(hooked, *place, columns, own, stream, pair) for own, stream, pair in zip(kept, streams, pairs)]
        return {"stack": stack, "layer": layer, "head": head, "component": component, "loss_increase": mean_of(more),
                "loss_increase_error": ratio_error(sums, counts),
                "kl": mean_of([divergences(a, b) for a, b in zip(clean, logits)]),
                "top_token_changed": mean_of([a.argmax(-1) == b.argmax(-1) for a, b in zip(clean, logits)]) * -1 + 1,
                "direct_effect": None if direct[0] is None else mean_of(direct)}

    rows = []
    for stack, of in hooked.stacks.items():
        for n in range(len(of.outputs)):
            rows.append(row(stack, "attention", n, None))
            if of.mlps:
                rows.append(row(stack, "mlp", n, None))
            rows += [row(stack, "head", n, head) for head in range(of.heads)]
    return rows


def pairs_of(config, lengths):
    """Return source and target pairs. Targets begin with the start token, and some end with the end token."""
    generator, pairs = np.random.default_rng(2), []
    for source, target in lengths:
        ids = [config.decoder_start_token_id, *generator.integers(3, config.vocab_size, target - 1).tolist()]
        if len(pairs) != 1:
            ids[-1] = config.eos_token_id
        pairs.append({"source": generator.integers(3, config.vocab_size, source).tolist(), "target": ids})
    return pairs


def golden(case):
    hooked = Hooked(ROOT / "tests/data/encoder_decoders" / case)
    pairs, even = (pairs_of(hooked.model.config, lengths) for lengths in (LENGTHS, EVEN))
    return rounded({"model": f"tests/data/encoder_decoders/{case}", "pairs": pairs, "even_pairs": even, "lens": lens(hooked, pairs),
                    "ablate": {how: ablations(hooked, even if how == "resample" else pairs, how) for how in ("mean", "zero", "resample")}})


def main() -> None:
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for case in ("t5", "t5-gated", "bart", "mbart"):
        if len(sys.argv) > 1 and case not in sys.argv[1:]:
            continue
        text = json.dumps(golden(case)).replace('{"layer"', '\n{"layer"').replace('{"stack"', '\n{"stack"')
        (GOLDEN / f"paired-{case}.json").write_text(text + "\n")
        print(f"{case}: {len(text)} bytes")


if __name__ == "__main__":
    main()
