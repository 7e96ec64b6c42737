#!/usr/bin/env python3
"""Write tests/golden/hooks/expected.safetensors: named activations of small models.

The values come from hooks on transformers in float32 with eager attention, for the checkpoints of
tests/data/forward. Scores and weights are the input and the output of the softmax. A tensor CASE/NAME
has the layers that have the activation, whose numbers are CASE/NAME.layers; CASE/tokens has the ids.
Needs torch, transformers and safetensors. With --check, compare the file with new values instead.
"""

import argparse
import pathlib
import sys

import torch
import transformers
from golden_hooks_places import CASES, Place
from safetensors.torch import load_file, save_file
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORWARD = ROOT / "tests/data/forward"
TARGET = ROOT / "tests/golden/hooks/expected.safetensors"
TOKENS, SEED = 5, 11
TOLERANCE = 1e-6  # relative to the largest value, between builds of torch

Values = dict[str, dict[int, torch.Tensor]]  # by name, then by layer


class Recorder:
    """Records the activations of one run."""

    def __init__(self, model: nn.Module, place: Place) -> None:
        self.values: Values = {}
        self.model, self.place = model, place
        self.layer = 0
        self.handles: list = []
        for index, layer in enumerate(model.get_submodule(place.layers)):
            self.add_layer(index, layer)
        if place.final_norm:
            self.after(model.get_submodule(place.final_norm), "final_norm", 0)

    def put(self, name: str, layer: int, value: torch.Tensor) -> None:
        assert layer not in self.values.get(name, {}), f"{name} of layer {layer} twice"
        self.values.setdefault(name, {})[layer] = value.detach().clone()

    def after(self, module: nn.Module, name: str, layer: int, convert=lambda value: value) -> None:
        def hook(_, arguments, output):
            value = output[0] if isinstance(output, tuple) else output
            self.put(name, layer, convert(value.reshape(-1, value.shape[-1])))

        self.handles.append(module.register_forward_hook(hook))

    def before(self, module: nn.Module, name: str, layer: int, convert=lambda value: value) -> None:
        def hook(_, arguments, keywords):
            value = arguments[0] if arguments else keywords["hidden_states"]
            self.put(name, layer, convert(value.reshape(-1, value.shape[-1])))

        self.handles.append(module.register_forward_pre_hook(hook, with_kwargs=True))

    def after_norm(self, module: nn.Module, name: str, layer: int) -> None:
        """Record queries or keys after a norm of each head, (1, T, H, d) or (1, H, T, d), or of all heads, (1, T, H d)."""
        heads = self.place.heads(self.model.config, name)

        def hook(_, arguments, output):
            if output.dim() == 3:
                return self.put(name, layer, output[0].reshape(TOKENS, heads, -1))
            return self.put(name, layer, output[0] if output.shape[1] == TOKENS else output[0].transpose(0, 1))

        assert heads != TOKENS
        self.handles.append(module.register_forward_hook(hook))

    def add_layer(self, index: int, layer: nn.Module) -> None:
        place, config = self.place, self.model.config
        self.before(layer, "resid_pre", index)
        self.handles.append(layer.register_forward_pre_hook(lambda *_: setattr(self, "layer", index)))
        self.after(layer, "resid_post", index)
        parts = place.parts_of(layer)

        def module(name: str) -> nn.Module | None:
            path = parts.get(name)
            return None if path is None else layer.get_submodule(path)

        def of_heads(name: str):
            return lambda value: value.reshape(len(value), place.heads(config, name), -1)

        for name, path in parts.items():
            if name in place.split:
                self.after(module(name), name, index, lambda value, name=name: place.split[name](config, value))
            elif name in ("q_normed", "k_normed"):
                self.after_norm(module(name), name, index)
            elif name in ("q", "k", "v"):
                self.after(module(name), name, index, of_heads(name))
            elif name in ("attn_out", "mlp_out", "mixer_out"):
                factor = place.factor(config)
                self.after(module(name), name, index, lambda value, factor=factor: value * factor)
            elif name == "fused_mlp":
                self.after(module(name), "mlp_pre", index, lambda value: place.halves(value)[0])
                self.after(module(name), "mlp_pre_linear", index, lambda value: place.halves(value)[1])
            elif name == "o":
                self.before(module(name), "z", index, of_heads("z"))
                weight = module(name).weight.T if place.transposed else module(name).weight
                self.before(module(name), "result", index, lambda value, weight=weight: results(
                    of_heads("z")(value), weight))
            elif name == "resid_mid" or name == "mlp_post":
                self.before(module(name), name, index)
            elif name in ("kv_down", "kv_up"):
                self.after(module(name), f"_{name}", index)
            elif name in ("shared", "shared_gate"):
                self.after(module(name), f"_{name}", index)
            elif name == "experts":
                self.record_experts(module(name), index)
            else:  # mlp_pre, mlp_pre_linear, router_logits, shared_expert_out
                self.after(module(name), name, index)

    def record_experts(self, experts: nn.Module, layer: int) -> None:
        """Record the chosen experts of each row by falling weight, and the output of each: the experts run once per slot."""
        state = {"busy": False}

        def hook(module, arguments, keywords, output):
            if state["busy"]:
                return
            state["busy"] = True
            rows, index, weight = self.place.experts_of(arguments, keywords)
            order = torch.argsort(weight, dim=1, descending=True, stable=True)
            index, weight = index.gather(1, order), weight.gather(1, order)
            self.put("expert_index", layer, index.to(torch.int32))
            self.put("expert_weight", layer, weight)
            outputs = [module(rows, index[:, [slot]], weight[:, [slot]]) for slot in range(index.shape[1])]
            self.put("expert_out", layer, torch.stack(outputs, 1))
            state["busy"] = False

        self.handles.append(experts.register_forward_hook(hook, with_kwargs=True))


def derived(values: Values, config) -> Values:
    """Replace the parts of MLA and of shared experts, whose names begin with _, by the activations they make up."""
    out = {name: layers for name, layers in values.items() if not name.startswith("_")}
    for layer, gate in values.get("_shared_gate", {}).items():
        out.setdefault("shared_expert_out", {})[layer] = torch.sigmoid(gate) * values["_shared"][layer]
    for layer, up in values.get("_kv_up", {}).items():
        content, values_of = up.reshape(len(up), config.num_attention_heads, -1).split(
            [config.qk_nope_head_dim, config.v_head_dim], -1)
        shared = values["_kv_down"][layer][:, None, config.kv_lora_rank:].expand(-1, content.shape[1], -1)
        out.setdefault("k", {})[layer] = torch.cat([content, shared], -1)
        out.setdefault("v", {})[layer] = values_of
    return out


def results(heads: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return z W_O of each head, (rows, H, D)."""
    parts = weight.reshape(len(weight), heads.shape[1], -1)
    return torch.einsum("thd,mhd->thm", heads, parts)


def in_order(heads: torch.Tensor, count: int) -> torch.Tensor:
    """Return heads with the last `count` dimensions in the order of the projection: halves become pairs."""
    if count == 0:
        return heads
    halves = heads[..., -count:].unflatten(-1, (2, count // 2))
    return torch.cat([heads[..., :-count], halves.transpose(-1, -2).flatten(-2)], -1)


class AttentionRecorder:
    """Replaces the softmax and the attention function of the model's module while it runs."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.module = sys.modules[type(recorder.model).__module__]
        self.softmax, self.cat = nn.functional.softmax, torch.cat
        self.inside = False

    def __enter__(self) -> None:
        nn.functional.softmax = self.record_softmax
        torch.cat = self.record_cat
        self.eager = getattr(self.module, "eager_attention_forward", None)
        if self.eager is not None:
            self.module.eager_attention_forward = self.record_attention

    def __exit__(self, *_) -> None:
        nn.functional.softmax, torch.cat = self.softmax, self.cat
        if self.eager is not None:
            self.module.eager_attention_forward = self.eager

    def record_softmax(self, scores, *arguments, **keywords):
        weights = self.softmax(scores, *arguments, **keywords)
        of_maps = scores.dim() == 4 or (scores.dim() == 3 and self.eager is None)
        if of_maps and (self.inside or self.eager is None):
            keys = TOKENS
            if not self.sunk:
                low = torch.finfo(torch.float32).min / 4
                masked = scores.masked_fill(scores < low, -torch.inf)
                self.recorder.put("attn_scores", self.recorder.layer, masked.reshape(-1, *masked.shape[-2:]))
            self.recorder.put("pattern", self.recorder.layer, weights[..., :keys].reshape(-1, *weights.shape[-2:-1], keys))
        return weights

    sunk = False

    def record_cat(self, tensors, *arguments, **keywords):
        """Take the scores before a learned sink is appended."""
        if self.inside and not self.sunk:
            self.sunk = True
            scores = tensors[0]
            masked = scores.masked_fill(scores < torch.finfo(torch.float32).min / 4, -torch.inf)
            self.recorder.put("attn_scores", self.recorder.layer, masked[0])
        return self.cat(tensors, *arguments, **keywords)

    def record_attention(self, module, query, key, value, *arguments, **keywords):
        place, layer = self.recorder.place, self.recorder.layer
        for name, heads in (("q", query), ("k", key)):
            rows = in_order(heads[0].transpose(0, 1), place.interleaved)
            for target in place.attention_names(module, name):
                self.recorder.put(target, layer, rows)
        self.inside, self.sunk = True, False
        out = self.eager(module, query, key, value, *arguments, **keywords)
        self.inside = False
        if place.gated:
            self.recorder.put("z_before_gate", layer, out[0][0])
        return out


def expected(case: str, place: Place) -> dict[str, torch.Tensor]:
    model_class = getattr(transformers, place.model)
    eager = {"experts_implementation": "eager"} if model_class._can_set_experts_implementation() else {}
    model = model_class.from_pretrained(FORWARD / case, dtype=torch.float32, attn_implementation="eager", **eager).eval()
    generator = torch.Generator().manual_seed(SEED)
    ids = torch.randint(3, model.config.vocab_size, (1, TOKENS), generator=generator)
    recorder = Recorder(model, place)
    with torch.no_grad(), AttentionRecorder(recorder):
        logits = model(input_ids=ids, use_cache=False).logits[0]
    out = {"tokens": ids[0].to(torch.int32), "logits": logits}
    for name, layers in derived(recorder.values, model.config).items():
        if name == "final_norm":
            out[name] = layers[0]
            continue
        out[f"{name}.layers"] = torch.tensor(sorted(layers), dtype=torch.int32)
        out[name] = torch.stack([layers[layer] for layer in sorted(layers)])
    return {f"{case}/{name}": value.contiguous() for name, value in out.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", metavar="CASE")
    arguments = parser.parse_args()
    tensors = {}
    for case, place in CASES.items():
        if arguments.only in (None, case):
            tensors |= expected(case, place)
    if arguments.only:
        for name, value in tensors.items():
            print(name, tuple(value.shape))
    elif arguments.check:
        stored = load_file(TARGET)
        assert stored.keys() == tensors.keys()
        for name, value in tensors.items():
            limit = TOLERANCE * value.abs().nan_to_num(posinf=0).max()
            assert torch.allclose(stored[name], value, rtol=0, atol=float(limit)), name
    else:
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, TARGET)


if __name__ == "__main__":
    main()
