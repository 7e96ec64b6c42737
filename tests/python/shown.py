"""Possible keywords of every command, from the descriptions, and checks of every display of a table."""

import itertools
import json
import pathlib
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import attnscope as asc
from attnscope import _core, _describe

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXT = "To be, or not to be, that is the question"
Keywords = dict[str, Any]

REFUSED = {
    ("attention", "energy"): "expected a single energy threshold",
    ("experts", "text"): "experts",  # no model here has both experts and a tokenizer
    ("experts", "text_file"): "experts",
    ("experts", "lines"): "experts",
    # Keywords that need experts, MLA or several stacks in addition to another keyword. Tests of the command line cover them.
    ("spectrum", "text"): "not an MLA model",
    ("spectrum", "text_file"): "not an MLA model",
    ("circuits", "text"): "not an MLA model",
    ("circuits", "text_file"): "not an MLA model",
    **dict.fromkeys(itertools.product(("spectrum", "circuits"), ("text_pair", "token_types")), "not an MLA model"),
    ("experts", "text_pair"): "experts",
    ("experts", "token_types"): "experts",
    ("similarity", "experts"): "none of these matrices belongs to an expert",
    ("matrix", "expert"): "has no experts for",
    ("info", "suggest_layout"): "is a supported architecture",
    ("experts", "stack"): "has no stack",
    ("attention", "stack"): "has no stack",
    ("predict", "stack"): "has no stack",
    ("lens", "stack"): "has no stack",
    ("ablate", "stack"): "has no stack",
    ("directions", "stack"): "has no stack",
    ("lens", "tuned_lens"): "is for 2 layers of width 24",
    ("lens", "length"): "text: missing input text",  # a single token has no next token to predict
    ("ablate", "length"): "text: missing input text",
    # No model here has a chat template: see test_chats.py.
    **dict.fromkeys(itertools.product(("attention", "lens", "ablate", "predict", "directions"), ("chat",)), "has no chat template"),
    ("experts", "chat"): "experts",
    ("spectrum", "chat"): "not an MLA model",
    ("circuits", "chat"): "not an MLA model",
    **dict.fromkeys(
        itertools.product(
            ("attention", "lens", "ablate", "predict", "directions", "experts", "spectrum", "circuits"),
            ("chat_template", "chat_date", "no_generation_prompt"),
        ),
        "requires chat",
    ),
    **dict.fromkeys(  # no encoder-decoder here has a tokenizer
        [("attention", "target"), ("attention", "target_file"), ("predict", "target"), ("predict", "target_file"), ("lens", "target"),
         ("lens", "target_file"), ("ablate", "target"), ("ablate", "target_file")],
        "encoder-decoder",
    ),
}
"""Keywords that are refused for all models here, with a part of the error message."""

BY_TYPE: dict[str, list[Any]] = {
    "flag": [True],
    "integer": [1, 3],
    "bytes": ["1G", 1 << 28],
    "layers": [0, slice(0, 2), [range(2), -1], "0-"],
    "head": [(0, 1), "1,0", "L1H0"],
    "heads": [(0, 1), [(0, 1), "L1H0"], "L0H1,L1H0"],
    "receiver": [(1, 0), "L1H0", "L1H0.k"],
    "shares": [0.5, [0.5, 0.9, 0.99]],
    "ranks": [4, [1, "0.1D"]],
    "bins": [7, "fd"],
    "range": [(-0.5, 0.5)],
}
"""Values of parameters by type. Parameters of other types need names or existing files."""


def layout_of_llama(folder: pathlib.Path) -> str:
    """Write a layout file equivalent to the config.json of the example Llama."""
    layout = json.loads((ROOT / "tests/data/layouts/llama.json").read_text())
    sizes = {"layers": 6, "heads": 6, "kv_heads": 2, "head_dim": 32, "hidden_size": 192}
    sizes |= {"intermediate_size": 512, "vocab_size": 1024, "context_length": 256}
    layout |= sizes | {"tied": True, "rope": {"theta": 10000}}
    del layout["lm_head"]
    file = folder / "layout.json"
    file.write_text(json.dumps(layout))
    return str(file)


def tokens_file(folder: pathlib.Path) -> str:
    """Write a token-id shard: a header of 256 numbers, of which the first three count, and then the ids."""
    ids = (np.arange(400) % 30 + 1).astype("<u2")
    head = np.zeros(256, dtype="<i4")
    head[:3] = 20240520, 1, len(ids)
    file = folder / "tokens.bin"
    file.write_bytes(head.tobytes() + ids.tobytes())
    return str(file)


def by_name(folder: pathlib.Path, llama: str) -> dict[str, list[Any]]:
    """Return values of parameters that only their names distinguish."""
    text_file = folder / "text.txt"
    text_file.write_text((TEXT + "\n") * 30)
    chat = folder / "chat.json"
    chat.write_text(json.dumps([{"role": "user", "content": TEXT}]))
    mask = folder / "mask.txt"
    mask.write_text("01011\n")  # for the token ids below
    store = str(folder / "rows.sqlite")
    asc.spectrum(llama, matrix="q", store=store)
    asc.weights(llama, matrix="q", layers=0, store=store)
    return {
        "tensor": ["model.layers.0.mlp.up_proj.weight"],
        "text": [TEXT, [TEXT, TEXT]],
        "text_pair": [TEXT],
        "token_types": [[0, 0, 1, 1, 1]],  # for the token ids below
        "label": ["positive"],
        "tuned_lens": [str(ROOT / "tests/data/tuned_lens/llama")],
        "text_file": [str(text_file)],
        "chat": [str(chat)],
        "chat_template": ["default"],
        "chat_date": ["2026-07-06"],
        "tokens": [[1, 2, 3, 4, 5]],
        "token_file": [tokens_file(folder)],
        "score_positions": ["last", slice(1, None), [1, -1], mask],
        "maps": [True, str(folder / "maps.safetensors")],
        "save": [True, str(folder / "run.safetensors")],
        "positions": ["last", [0, 1], slice(1, None)],
        "edits": [asc.Edit("mlp_out", layer=0, scale=0.5)],
        "store": [str(folder / "new.sqlite")],
        "layout": [layout_of_llama(folder), str(ROOT / "tests/data/layouts/phimoe.json")],
        "suggest_layout": [str(folder / "suggested.json")],
        "experts": ["0", "0,2", "all"],
        "image": [str(ROOT / "tests/data/images/odd.png")],
        "pixel_values": [np.random.default_rng(5).standard_normal((3, 16, 16))],
        "audio": [str(ROOT / "tests/data/audio/steps.wav")],
        "features": [str(ROOT / "tests/data/audio/samples.npy")],
        "activations": [str(text_file)],
        "token": [" be"],
        "against": [" the"],
        "pairs": [2, 3],
        "sender": ["L0H1", "each-layer"],
        "patch_positions": ["last", [1, -1]],
        "prompts": [str(ROOT / "examples/prompts.jsonl")],
        "target": [TEXT],
        "target_tokens": [[2, 5]],
        "target_file": [str(text_file)],
        "file": [store],
        "command": ["spectrum", "weights"],
        "set": [1, 2],
        "model": ["shakespeare-llama"],
    }


def models_of_each_kind(llama: str) -> list[list[asc.Model]]:
    """Return models that together have every matrix (dense, MoE, shared experts, MLA, gated heads) and every input."""
    tiny = ROOT / "tests/data/forward"
    others = ["phimoe", "granitemoeshared", "deepseek_v3", "qwen3_next-kernel", "../stacks/vit", "../stacks/wav2vec2"]
    others += ["../encoder_decoders/t5", "../stacks/clip", "../classifiers/bert", "../classifiers/llama"]
    return [[asc.open(path)] for path in (llama, *(tiny / name for name in others))]


def options(command: dict[str, Any], named: dict[str, list[Any]]) -> Iterator[Keywords]:
    """Yield every keyword of a command with every kind of value, one at a time."""
    for name, parameter in _describe.parameters(command["name"]).items():
        if parameter["type"] == "models" or name == "remote":  # only for hub models
            continue
        values = [True] if parameter["implied_text"] else []
        if parameter["choices"]:
            choices = parameter["choices"]
            values += choices if len(choices) <= 20 else choices[::9]  # test_activations.py has every name
            values += [parameter["choices"][:2]] if parameter["type"] in ("roles", "several") else []
        else:
            values += named[name] if name in named else BY_TYPE[parameter["type"]]
        yield from ({name: value} for value in values)
    if command["has_items"]:
        yield {"executor": ThreadPoolExecutor(2)}
        yield {"progress": True}


def contexts(command: dict[str, Any], named: dict[str, list[Any]]) -> list[Keywords]:
    """Return combinations of other keywords that a keyword may need."""
    parameters = _describe.parameters(command["name"])
    needed = {"layer": 0, "matrix": "q", "file": named["file"][0]}
    base = {name: needed[name] for name in needed if name in parameters and parameters[name]["needed"]}
    inputs: list[Keywords] = [{}]
    for name in ("text", "text_file", "token_file", "prompts", "tokens"):
        inputs += [{name: named[name][0]}] if name in parameters else []
    inputs += [{"tokens": named["tokens"][0], "label": named["label"][0]}] if "label" in parameters else []
    flags: list[Keywords] = [{name: True} for name, parameter in parameters.items() if parameter["type"] == "flag"]
    flags += [{"head_matrix": (0, 1)}] if "head_matrix" in parameters else []
    flags += [{"maps": True}, {"heatmap": (0, 1)}] if "heatmap" in parameters else []
    flags += [{"save": True}, {"save": True, "activations": "z"}] if "save" in parameters else []
    if "pairs" in parameters:
        flags += [{"pairs": 2, "layers": 0, "head": 0} if "head" in parameters else {"pairs": 2}]
    flags += [{"heads": "L0H1,L1H0"}] if parameters.get("heads", {}).get("type") == "heads" else []
    flags += [{"patch_positions": "last", "layers": 0}, {"sender": "L0H1"}] if "sender" in parameters else []
    flags += [{"set": number} for number in (1, 2)] if "set" in parameters else []
    return [base | given | flag for flag, given in itertools.product([{}, *flags], inputs)]


def described_fields(command: str) -> set[str]:
    return {field["name"] for kind in _describe.command(command)["kinds"] for field in kind["fields"]}


_plotted: set[tuple[str, ...]] = set()  # charts that were already checked, because Altair's checks are slow


def show(table: asc.Table) -> None:
    """Check every display and conversion of a table."""
    assert repr(table) == str(table) and repr(table).strip()
    assert "<div>" in table._repr_html_()
    rows = list(table)
    assert len(rows) == len(table) == len(table[:]) == len(table[::-1])
    assert len(table[: len(rows) // 2]) == len(rows) // 2 and table[3:3] == []
    if rows:
        assert list(table[0]) == list(rows[0]) and list(table[-1]) == list(rows[-1])
        assert all(list(row) == list(rows[0]) for row in rows)
    assert pickle.loads(pickle.dumps(table)) == table
    described = described_fields(table.command) | {"scope"}
    for name in table.columns:
        assert any(name == field or name.startswith(f"{field}_") for field in described)
        assert len(table[name]) == len(rows)
    assert len(json.loads(table.to_json())["rows"]) == len(rows)
    assert table.to_csv().strip() or not rows
    assert isinstance(table.skipped, list) and isinstance(table.notes, list)
    assert isinstance(table.parameters, dict) and isinstance(table.models, list)
    for array in table.arrays.values():
        assert array.size > 0
    assert table.to_arrow().num_rows == len(rows)
    assert len(table.to_polars()) == len(table.to_pandas()) == len(rows)
    kind = (table.command, *table.columns)
    if kind not in _plotted:  # drawing takes longer than the run
        _plotted.add(kind)
        for name in table.charts:
            assert table.plot(name).to_dict()
        if table.charts:
            table.plot()


def with_rows() -> list[dict[str, Any]]:
    return [command for command in _core.commands() if command["gives_rows"]]
