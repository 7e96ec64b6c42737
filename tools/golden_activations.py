#!/usr/bin/env python3
"""Write tests/golden/activations/small.json: activations and head outputs of small models.

The values come from hooks on transformers in float64. They are the residual stream before and after
each layer, the input of its attention, and the output of each head after the output projection.
Needs torch and transformers. With --check, compare the file with the new values instead of writing it.
"""

import argparse
import json
import pathlib

import torch
from transformers import AutoModel

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "tests/golden/activations/small.json"

# Paths of the layers, and of the input and output projections of their attention, per kind of model.
# Also the norm, if any, between the output projection and the residual stream.
GPT2 = {"layers": "h", "input": "ln_1", "output": "attn.c_proj"}
LLAMA = {"layers": "layers", "input": "input_layernorm", "output": "self_attn.o_proj"}
GEMMA2 = LLAMA | {"norm": "post_attention_layernorm"}
BERT = {"layers": "encoder.layer", "input": None, "output": "attention.output.dense"}
CASES = {
    "examples/shakespeare-gpt2": GPT2,
    "examples/shakespeare-llama": LLAMA,
    "tests/data/forward/gemma2": GEMMA2,
    "tests/data/forward/granite": LLAMA,
    "tests/data/forward/bert": BERT,
}
SEQUENCES, LENGTH = 3, 16
MAGNITUDE, SHARE = 6.0, 0.06


def head_outputs(model, place, layer, read):
    """Return the output that each head adds to the residual stream: (heads, rows, width)."""
    heads = model.config.num_attention_heads
    size = read.shape[-1] // heads
    projection = layer.get_submodule(place["output"])
    weight = projection.weight if place is not GPT2 else projection.weight.T
    factor = getattr(model.config, "residual_multiplier", 1.0)
    outputs = torch.stack(
        [
            read[:, head * size : (head + 1) * size] @ weight[:, head * size : (head + 1) * size].T
            for head in range(heads)
        ]
    )
    if "norm" in place:  # RMSNorm with gain 1 + weight, scaled by the RMS of the whole attention output
        norm = layer.get_submodule(place["norm"])
        scale = (outputs.sum(0) ** 2).mean(-1, keepdim=True).add(norm.eps).sqrt()
        outputs = outputs * (1 + norm.weight) / scale
    return factor * outputs


def rows_of(folder, place):
    model = AutoModel.from_pretrained(ROOT / folder, dtype=torch.float64).eval()
    generator = torch.Generator().manual_seed(7)
    tokens = torch.randint(
        5, min(model.config.vocab_size, 1000), (SEQUENCES, LENGTH), generator=generator
    )
    layers = model.get_submodule(place["layers"])
    seen = [{} for _ in layers]

    def see(at, name, of_input):
        def hook(_, inputs, output=None):
            value = inputs[0] if of_input else output
            seen[at][name] = (value[0] if isinstance(value, tuple) else value).detach()

        return hook

    for at, layer in enumerate(layers):
        layer.register_forward_pre_hook(see(at, "before", True))
        layer.register_forward_hook(see(at, "after", False))
        output = layer.get_submodule(place["output"])
        output.register_forward_pre_hook(see(at, "read", True))
        if place["input"] is not None:
            layer.get_submodule(place["input"]).register_forward_hook(see(at, "input", False))
    with torch.no_grad():
        model(input_ids=tokens)

    rows = []
    for at, layer in enumerate(layers):
        now = {name: value.reshape(SEQUENCES, LENGTH, -1) for name, value in seen[at].items()}
        with torch.no_grad():
            outputs = head_outputs(
                model, place, layer, now["read"].reshape(SEQUENCES * LENGTH, -1)
            )
        norms = outputs.norm(dim=-1).reshape(-1, SEQUENCES, LENGTH)
        ratios = (norms / now["before"].norm(dim=-1)).mean(-1)  # (heads, sequences)
        magnitudes = now["after"].abs()
        sequence = int(magnitudes.flatten(1).amax(1).argmax())
        own = magnitudes[sequence]
        position, dimension = divmod(int(own.argmax()), own.shape[-1])
        median = float(own.flatten().sort().values[[own.numel() // 2 - 1, own.numel() // 2]].mean())
        read = now.get("input", now["before"]).abs().flatten(0, 1)
        counts = (read >= MAGNITUDE).sum(0)
        outliers = [d for d in range(len(counts)) if counts[d] >= max(1, SHARE * len(read))]
        outliers.sort(key=lambda d: (-int(counts[d]), d))
        rows.append(
            {
                "output_ratio": ratios.mean(-1).tolist(),
                "output_ratio_error": (ratios.std(-1) / SEQUENCES**0.5).tolist(),
                "max_activation": float(own.max()),
                "activation_ratio": float(own.max()) / median,
                "activation_dimension": dimension,
                "activation_position": position,
                "outlier_count": len(outliers),
                "outlier_dimensions": outliers[:16],
            }
        )
    return {"tokens": tokens.tolist(), "layers": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    made = {folder: rows_of(folder, place) for folder, place in CASES.items()}
    text = json.dumps(made, separators=(",", ":")) + "\n"
    if not parser.parse_args().check:
        TARGET.write_text(text)
    elif TARGET.read_text() != text:
        raise SystemExit(f"{TARGET} is outdated")


if __name__ == "__main__":
    main()
