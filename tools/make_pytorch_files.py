#!/usr/bin/env python3
"""Write tests/data/pytorch/: one tiny Llama in each current and former format of torch.save.

    python tools/make_pytorch_files.py

    reference/config.json, reference/model.safetensors   the weights, float32, with the head tied to the embedding
    CASE.pt, sharded/                                     the same weights; every command must print the same
    dtypes.pt, dtypes.safetensors                         a tensor of each dtype

A second run gives the same tensors. Each file is loaded with torch.load and compared. Needs numpy, torch and safetensors.
"""

import argparse
import collections
import datetime
import enum
import functools
import io
import json
import pathlib
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "pytorch"
SEED = 23
VOCABULARY, WIDTH, HEADS, KV_HEADS, HEAD_DIM, MLP_WIDTH, LAYERS = 24, 16, 4, 2, 4, 24, 2
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": VOCABULARY, "hidden_size": WIDTH,
          "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM,
          "intermediate_size": MLP_WIDTH, "num_hidden_layers": LAYERS, "max_position_embeddings": 32,
          "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True}
HEAD = "lm_head.weight"
EMBEDDING = "model.embed_tokens.weight"

Weights = dict[str, torch.Tensor]


# ---- Weights ------------------------------------------------------------------------------------------------------

def shapes() -> Iterator[tuple[str, tuple[int, ...]]]:
    yield EMBEDDING, (VOCABULARY, WIDTH)
    for layer in range(LAYERS):
        start = f"model.layers.{layer}."
        yield start + "self_attn.q_proj.weight", (HEADS * HEAD_DIM, WIDTH)
        yield start + "self_attn.k_proj.weight", (KV_HEADS * HEAD_DIM, WIDTH)
        yield start + "self_attn.v_proj.weight", (KV_HEADS * HEAD_DIM, WIDTH)
        yield start + "self_attn.o_proj.weight", (WIDTH, HEADS * HEAD_DIM)
        yield start + "mlp.gate_proj.weight", (MLP_WIDTH, WIDTH)
        yield start + "mlp.up_proj.weight", (MLP_WIDTH, WIDTH)
        yield start + "mlp.down_proj.weight", (WIDTH, MLP_WIDTH)
        yield start + "input_layernorm.weight", (WIDTH,)
        yield start + "post_attention_layernorm.weight", (WIDTH,)
    yield "model.norm.weight", (WIDTH,)


def make_weights() -> Weights:
    generator = np.random.default_rng(SEED)
    return {name: torch.from_numpy((generator.standard_normal(size) / WIDTH**0.5).astype(np.float32))
            for name, size in shapes()}


def tied(weights: Weights) -> Weights:
    """Return a state_dict in which the head is the embedding itself."""
    return collections.OrderedDict(weights) | {HEAD: weights[EMBEDDING]}


# ---- Layouts of one state dict ------------------------------------------------------------------------------------

def as_views(weights: Weights) -> Weights:
    """Store all tensors one after the other in one storage, with every second matrix transposed."""
    flat = torch.cat([(weight.t() if turned else weight).reshape(-1) for weight, turned in with_turns(weights)])
    views, first = {}, 0
    for (name, weight), (_, turned) in zip(weights.items(), with_turns(weights), strict=True):
        part = flat[first:first + weight.numel()]
        views[name] = part.view(*reversed(weight.shape)).t() if turned else part.view(weight.shape)
        first += weight.numel()
    return views


def with_turns(weights: Weights) -> list[tuple[torch.Tensor, bool]]:
    return [(weight, weight.dim() == 2 and index % 2 == 0) for index, weight in enumerate(weights.values())]


def as_columns(weights: Weights) -> Weights:
    """Store every matrix as columns of a wider one, and every vector as a column."""
    beside = {name: torch.zeros(len(weight), 3) for name, weight in weights.items()}
    return {name: torch.cat([beside[name], weight, beside[name]], dim=1)[:, 3:-3] if weight.dim() == 2
            else torch.stack([weight, -weight], dim=1)[:, 0] for name, weight in weights.items()}


def as_module(weights: Weights) -> torch.nn.Module:
    """Return a module with these weights, for torch.save(model)."""
    root = torch.nn.Module()
    for name, weight in weights.items():
        *path, last = name.split(".")
        module = root
        for part in path:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            module = module._modules[part]
        module.register_parameter(last, torch.nn.Parameter(weight))
    return root


class Precision(enum.Enum):
    mixed = "mixed"


def warm_up(step: int) -> float:
    return min(1.0, step / 100)


def as_training(weights: Weights) -> dict:
    """Return a training checkpoint: the weights, and optimizer, arguments, random states and Python objects."""
    parameters = [torch.nn.Parameter(weight.clone()) for weight in weights.values() if weight.dim() == 1]
    optimizer = torch.optim.AdamW(parameters)
    sum(parameter.square().sum() for parameter in parameters).backward()
    optimizer.step()
    endless: list = [1]
    endless.append(endless)
    return {
        "args": argparse.Namespace(lr=3e-4, layers=[1, 2], out=pathlib.PurePosixPath("runs/1"), precision=Precision.mixed),
        "best_loss": np.float64(1.25), "history": np.arange(6, dtype=np.float32).reshape(2, 3),
        "counts": collections.Counter("aab"), "by_name": collections.defaultdict(list, a=[1]),
        "started": datetime.datetime(2024, 5, 6, 7, 8, 9), "schedule": functools.partial(warm_up, step=3), "class": Precision,
        "endless": endless, "device": torch.device("cpu"), "dtype": torch.bfloat16, "large": 1 << 80,
        "rng_state": torch.get_rng_state()[:16], "python_rng": random.Random(1).getstate()[1][:4],
        "model": {"_orig_mod." + name: weight for name, weight in tied(weights).items()},
        "optimizer": optimizer.state_dict(),
    }


def as_lightning(weights: Weights) -> dict:
    return {"epoch": 3, "global_step": 100, "pytorch-lightning_version": "2.2.0",
            "state_dict": collections.OrderedDict(weights),
            "optimizer_states": [{"state": {0: {"exp_avg": torch.ones(3)}}}], "hyper_parameters": {"lr": 1e-3}}


def as_parallel(weights: Weights) -> dict:
    return {"model": {"module": {"module." + name: weight for name, weight in weights.items()}}}


# ---- Files --------------------------------------------------------------------------------------------------------

def saved(content: object, **options: object) -> bytes:
    stream = io.BytesIO()
    torch.save(content, stream, **options)
    return stream.getvalue()


def rewritten(archive: bytes, change: Callable[[str, bytes], bytes], method: int = zipfile.ZIP_STORED,
              top: str | None = None) -> bytes:
    """Rewrite the archive with changed entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w", method) as new:
        for name in old.namelist():
            record = zipfile.ZipInfo(name if top is None else top + name[name.index("/"):])
            new.writestr(record, change(name, old.read(name)), method)
    return out.getvalue()


def big_endian(name: str, content: bytes) -> bytes:
    """Return the names of float32 storages."""
    if name.endswith("/byteorder"):
        return b"big"
    return np.frombuffer(content, "<f4").byteswap().tobytes() if "/data/" in name else content


def cases(weights: Weights) -> Iterator[tuple[str, bytes]]:
    full = tied(weights)
    yield "zip", saved(full)
    yield "legacy", saved(full, _use_new_zipfile_serialization=False)
    yield "views", saved(as_views(weights))
    yield "columns-legacy", saved(as_columns(weights), _use_new_zipfile_serialization=False, pickle_protocol=4)
    yield "module", saved(as_module(weights))
    for protocol in (2, 4, 5):
        yield f"training-{protocol}", saved(as_training(weights), pickle_protocol=protocol)
    yield "training-legacy", saved(as_training(weights), _use_new_zipfile_serialization=False)
    yield "lightning", saved(as_lightning(weights))
    yield "parallel", saved(as_parallel(weights))
    yield "deflated", rewritten(saved(full), lambda name, content: content, zipfile.ZIP_DEFLATED, "my model v1.0")
    yield "big-endian", rewritten(saved(full), big_endian)


def found_weights(content: object) -> Weights:
    if isinstance(content, torch.nn.Module):
        content = content.state_dict()
    while not isinstance(next(iter(content.values())), torch.Tensor):
        content = next(content[key] for key in ("model", "state_dict", "module") if key in content)
    return {name.removeprefix("_orig_mod.").removeprefix("module."): tensor for name, tensor in content.items()}


def check(data: bytes, weights: Weights) -> None:
    found = found_weights(torch.load(io.BytesIO(data), weights_only=False))
    found.pop(HEAD, None)
    assert found.keys() == weights.keys()
    assert all(torch.equal(found[name], weight) for name, weight in weights.items())


def write_sharded(weights: Weights, folder: Path) -> None:
    folder.mkdir()
    names = list(weights)
    shards = {"pytorch_model-00001-of-00002.bin": names[:9], "pytorch_model-00002-of-00002.bin": names[9:]}
    for shard, held in shards.items():
        (folder / shard).write_bytes(saved({name: weights[name] for name in held}))
    index = {"metadata": {"total_size": sum(weight.nbytes for weight in weights.values())},
             "weight_map": {name: shard for shard, held in shards.items() for name in held}}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=1) + "\n")


# ---- Every dtype --------------------------------------------------------------------------------------------------

REAL = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
OTHER = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool", "float8_e4m3fnuz",
         "float8_e5m2fnuz", "float8_e8m0fnu", "complex64")


def every_dtype() -> Weights:
    values = torch.from_numpy(np.random.default_rng(SEED).standard_normal((6, 4)))
    tensors = {name: values.to(getattr(torch, name)) for name in REAL}
    for name in OTHER:
        tensors[name] = (8 * values).abs().float().to(getattr(torch, name))
    tensors |= {"scalar": torch.tensor(3.5), "empty": torch.zeros(0, 3), "parameter": torch.nn.Parameter(values.float() + 1).detach()}
    return tensors


def write_dtypes() -> None:
    tensors = every_dtype()
    save_file(tensors, FOLDER / "dtypes.safetensors")
    views = {name: tensor.t().contiguous().t() if tensor.dim() == 2 else tensor for name, tensor in tensors.items()}
    views["parameter"] = torch.nn.Parameter(tensors["parameter"])
    unreadable = {"complex128": torch.zeros(2, dtype=torch.complex128), "sparse": torch.eye(3).to_sparse(),
                  "meta": torch.zeros(3, device="meta"), "negated": torch.ones(2, dtype=torch.complex64).conj().imag}
    assert unreadable["negated"].is_neg()
    (FOLDER / "dtypes.pt").write_bytes(saved(views | unreadable))


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "reference").mkdir(parents=True)
    weights = make_weights()
    (FOLDER / "reference" / "config.json").write_text(json.dumps(CONFIG, indent=1, sort_keys=True) + "\n")
    save_file(weights, FOLDER / "reference" / "model.safetensors")
    for name, data in cases(weights):
        check(data, weights)
        (FOLDER / f"{name}.pt").write_bytes(data)
    write_sharded(weights, FOLDER / "sharded")
    write_dtypes()
    total = sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file())
    print(f"{FOLDER}: {total} bytes")


if __name__ == "__main__":
    main()
