#!/usr/bin/env python3
"""Write tests/golden/hooks/edits.json, edits_labels.json and their .safetensors: logits with edited activations.

The edits are PyTorch hooks on transformers in float32 that change the input or the output of a module;
scores and weights are changed around the softmax. Every record of edits.json has a checkpoint of
tests/data/forward, token ids, and edits in the format of --edits. Those of edits_labels.json are classifiers of texts, with the
logits of their labels, and of images: pixel_values.0 of their images.safetensors. Needs torch, transformers and safetensors.
"""

import json
import pathlib
import sys

import torch
import transformers
from golden_hooks import FORWARD, TOKENS, results
from golden_hooks_places import CASES, Place
from safetensors.torch import load_file, save_file
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/data"
TARGET = ROOT / "tests/golden/hooks/edits"
LABELS = ROOT / "tests/golden/hooks/edits_labels"
CLASSIFIERS = {
    "classifiers/bert": ("BertForSequenceClassification", CASES["bert"]),
    "classifiers/bert-tokens": ("BertForTokenClassification", CASES["bert"]),
    "classifiers/llama": ("LlamaForSequenceClassification", CASES["llama"]),
    "stacks/vit": ("ViTForImageClassification", Place("", "vit.layers", {
        "q": "attention.q_proj", "k": "attention.k_proj", "v": "attention.v_proj", "o": "attention.o_proj",
        "attn_out": "attention", "mlp_out": "mlp", "mlp_pre": "mlp.fc1", "mlp_post": "mlp.fc2"}, "vit.layernorm")),
}
SEED = 5
BEFORE = {"resid_pre", "z", "mlp_post"}  # inputs of a module; the others are outputs


def vector(size: int, seed: int) -> list[float]:
    return [round(float(x), 3) for x in torch.randn(size, generator=torch.Generator().manual_seed(seed))]


def edited(record: dict, rows: torch.Tensor) -> torch.Tensor:
    """Return (T, H, d) or (T, D) with the edit. Scores and weights are (T, H, T)."""
    out = rows.clone()
    positions = record.get("positions", list(range(len(rows))))
    positions = [len(rows) - 1] if positions == "last" else [positions] if isinstance(positions, int) else positions
    for place, position in enumerate(positions):
        part = out[position] if record.get("head") is None else out[position][record["head"]]
        operation = next(key for key in ("set", "add", "scale", "project_out") if key in record)
        value = torch.tensor(record[operation])
        if value.dim() > part.dim():
            value = value[place]
        if operation == "set":
            part.copy_(value.expand_as(part))
        elif operation == "add":
            part += value
        elif operation == "scale":
            part *= value
        else:
            unit = value / value.norm()
            part -= (part @ unit)[..., None] * unit
        if record.get("head") is None:
            out[position] = part
        else:
            out[position][record["head"]] = part
    return out


def hook_of(model: nn.Module, place: Place, record: dict) -> None:
    """Add the hooks of one edit."""
    name = record["name"]
    if name == "resid_mid":  # no module has it as its output: what is added to it is added to the attention's output
        assert "add" in record
        name = "attn_out"
    layer = model.get_submodule(place.layers)[record.get("layer", 0)]
    parts = place.parts_of(layer)
    heads = place.heads(model.config, "z" if name == "result" else name) if name in ("q", "k", "v", "z", "result") else None

    def change(value: torch.Tensor) -> torch.Tensor:
        flat = value.reshape(-1, value.shape[-1])
        rows = flat if heads is None else flat.reshape(len(flat), heads, -1)
        return edited(record, rows).reshape(value.shape)

    def before(_, arguments, keywords):
        if arguments:
            return (change(arguments[0]), *arguments[1:]), keywords
        return arguments, keywords | {"hidden_states": change(keywords["hidden_states"])}

    def after(_, arguments, output):
        return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)

    def after_projection(module, arguments, output):
        """Add the change of one head's result to the output of the projection."""
        weight = module.weight.T if place.transposed else module.weight
        own = results(arguments[0].reshape(TOKENS, heads, -1), weight)
        return output + (edited(record, own) - own).sum(1)

    if name == "result":
        layer.get_submodule(parts["o"]).register_forward_hook(after_projection)
    elif name in BEFORE:
        module = layer if name == "resid_pre" else layer.get_submodule(parts["o" if name == "z" else name])
        module.register_forward_pre_hook(before, with_kwargs=True)
    else:
        module = layer if name == "resid_post" else model.get_submodule(place.final_norm) if name == "final_norm" else \
            layer.get_submodule(parts[name])
        module.register_forward_hook(after)


class Softmax:
    """Changes the scores or the weights of one layer's attention."""

    def __init__(self, model: nn.Module, records: list[dict]) -> None:
        self.records = {record["layer"]: record for record in records}
        self.module = sys.modules[type(model).__module__]
        self.plain, self.layer, self.eager = nn.functional.softmax, None, self.module.eager_attention_forward

    def __enter__(self):
        nn.functional.softmax = self.softmax
        self.module.eager_attention_forward = self.attend

    def __exit__(self, *_):
        nn.functional.softmax, self.module.eager_attention_forward = self.plain, self.eager

    def attend(self, module, *arguments, **keywords):
        self.layer = module.layer_idx
        out = self.eager(module, *arguments, **keywords)
        self.layer = None
        return out

    def softmax(self, scores, *arguments, **keywords):
        record = self.records.get(self.layer)
        change = lambda maps: edited(record, maps[0].transpose(0, 1)).transpose(0, 1)[None]  # noqa: E731
        if record and record["name"] == "attn_scores":
            scores = change(scores)
        weights = self.plain(scores, *arguments, **keywords)
        return change(weights) if record and record["name"] == "pattern" else weights


def logits(case: str, ids: list[int], edits: list[dict]) -> torch.Tensor:
    place = CASES[case]
    model_class = getattr(transformers, place.model)
    eager = {"experts_implementation": "eager"} if model_class._can_set_experts_implementation() else {}
    model = model_class.from_pretrained(FORWARD / case, dtype=torch.float32, attn_implementation="eager", **eager).eval()
    maps = [edit for edit in edits if edit["name"] in ("attn_scores", "pattern")]
    for edit in edits:
        if edit not in maps:
            hook_of(model, place, edit)
    with torch.no_grad(), Softmax(model, maps):
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]


def label_logits(case: str, ids: list[int] | None, edits: list[dict]) -> torch.Tensor:
    """Return the logits of labels, of a text or (without ids) of an image."""
    name, place = CLASSIFIERS[case]
    model = getattr(transformers, name).from_pretrained(DATA / case, dtype=torch.float32, attn_implementation="eager").eval()
    maps = [edit for edit in edits if edit["name"] in ("attn_scores", "pattern")]
    for edit in edits:
        if edit not in maps:
            hook_of(model, place, edit)
    given = {"input_ids": torch.tensor([ids])} if ids else \
        {"pixel_values": load_file(DATA / case / "images.safetensors")["pixel_values.0"][None]}
    for index, layer in enumerate(model.get_submodule(place.layers) if not ids else []):
        layer.attention.layer_idx = index
    with torch.no_grad(), Softmax(model, maps):
        return model(**given).logits[0]


def edits_of(case: str, width: int, head: int, mlp: int) -> list[list[dict]]:
    wide = case in ("gpt2", "llama", "gemma2", "qwen3", "bert")
    gpt2 = case == "gpt2"
    edits = [
        [{"name": "resid_pre", "layer": 1, "positions": "last", "add": vector(width, 1)}],
        [{"name": "resid_post", "layer": 0, "positions": [1, 3], "scale": 0.5}],
        [{"name": "resid_post", "layer": 1, "set": vector(width, 2)}],
        [{"name": "z", "layer": 1, "head": 1, "positions": "last", "set": 0}],
        [{"name": "z", "layer": 1, "head": [0, 1], "add": [vector(head, 3), vector(head, 4)]}],
        [{"name": "result", "layer": 1, "head": 0, "positions": [2, 4], "project_out": vector(width, 5)}],
        [{"name": "attn_out", "layer": 1, "project_out": vector(width, 6)}],
        [{"name": "mlp_out", "layer": 1, "positions": [0, 4], "set": [vector(width, 7), vector(width, 8)]}],
        [{"name": "pattern", "layer": 1, "head": 0, "set": [0.2] * TOKENS}],
        [{"name": "attn_scores", "layer": 1, "head": 1, "positions": [4], "add": [0.5, -0.5, 0, 0, 1]}],
    ]
    if case != "bert":
        edits.append([{"name": "final_norm", "positions": "last", "scale": 2}])
    if wide:
        edits.append([{"name": "resid_mid", "layer": 1, "add": vector(width, 9)}] if case != "bert" else
                     [{"name": "mlp_post", "layer": 1, "scale": 0.25}])
        edits.append([{"name": "mlp_pre", "layer": 0, "positions": [2], "set": vector(mlp, 10)},
                      {"name": "mlp_post", "layer": 0, "scale": 1.5}])
        if not gpt2:  # its projection is fused
            edits.append([{"name": "q", "layer": 1, "head": 1, "add": vector(head, 11)},
                          {"name": "k", "layer": 1, "head": 0, "positions": [0], "set": 0.5},
                          {"name": "v", "layer": 0, "head": 0, "scale": -1}])
    return edits


SIZES = {"gpt2": (24, 8, 40), "llama": (24, 8, 40), "gemma2": (24, 8, 40), "qwen3": (24, 12, 40), "bert": (24, 8, 40),
         "mixtral": (24, 8, 40), "qwen3_next": (16, 16, 40)}


def label_edits(width: int, head: int, image: bool) -> list[list[dict]]:
    edits = [
        [{"name": "resid_post", "layer": 0, "positions": [0, 2], "add": vector(width, 1)}],
        [{"name": "z", "layer": 1, "head": 1, "set": 0}],
        [{"name": "z", "layer": 0, "head": [1, 0], "positions": [3, 1], "set": [[vector(head, 2), vector(head, 3)],
                                                                              [vector(head, 4), vector(head, 5)]]}],
        [{"name": "q", "layer": 1, "head": 0, "add": vector(head, 6)}, {"name": "v", "layer": 0, "scale": -1}],
        [{"name": "attn_out", "layer": 0, "project_out": vector(width, 7)}],
        [{"name": "mlp_out", "layer": 0, "scale": 0.5}],
    ]
    if image:  # the other models change their softmax in other places
        edits.append([{"name": "attn_scores", "layer": 0, "head": 1, "add": [0.5, -0.5, 0, 1, 0.25]}])
        edits.append([{"name": "pattern", "layer": 1, "head": 0, "set": [0.2] * 5}])
    return edits


def write(target: pathlib.Path, cases: list[dict], tensors: dict[str, torch.Tensor]) -> None:
    lines = ",\n".join(json.dumps(case) for case in cases)
    target.with_suffix(".json").write_text(f"[\n{lines}\n]\n")
    save_file(tensors, target.with_suffix(".safetensors"))


def main() -> None:
    cases, tensors = [], {}
    for case, sizes in SIZES.items():
        vocabulary = 32 if case == "qwen3_next" else 48
        ids = torch.randint(3, vocabulary, (TOKENS,), generator=torch.Generator().manual_seed(SEED)).tolist()
        for edits in edits_of(case, *sizes):
            tensors[str(len(cases))] = logits(case, ids, edits)
            cases.append({"model": case, "tokens": ids, "edits": edits})
    write(TARGET, cases, tensors)
    cases, tensors = [], {}
    for case in CLASSIFIERS:
        config = json.loads((DATA / case / "config.json").read_text())
        width = config["hidden_size"]
        image = case.startswith("stacks")
        ids = None if image else torch.randint(3, config["vocab_size"], (TOKENS,), generator=torch.Generator().manual_seed(SEED)).tolist()
        for edits in label_edits(width, width // config["num_attention_heads"], image):
            tensors[str(len(cases))] = label_logits(case, ids, edits)
            cases.append({"model": case, "tokens": ids, "edits": edits})
    write(LABELS, cases, tensors)


if __name__ == "__main__":
    main()
