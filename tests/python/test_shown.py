"""Tables of every command with every keyword, for files, arrays and models, are displayed in every way."""

import itertools
import json
import pathlib
from typing import Any

import numpy as np
import pytest

import attnscope as asc
import shown
from attnscope import _core
from shown import Keywords

for needed in ("pandas", "polars", "pyarrow", "altair"):
    pytest.importorskip(needed)


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory, llama: str) -> dict[str, list[Any]]:
    return shown.by_name(tmp_path_factory.mktemp("shown"), llama)


def table_of(command: str, models: list[Any], keywords: Keywords) -> asc.Table:
    table: asc.Table = getattr(asc, command)(*models, **keywords)
    return table


@pytest.mark.long
@pytest.mark.parametrize("command", shown.with_rows(), ids=lambda command: command["name"])
def test_every_keyword(command: dict[str, Any], named: dict[str, list[Any]], llama: str) -> None:
    if command["name"] in ("diff", "plan", "shrink"):  # need two models, or take minutes: see test_equals_command_line.py
        return
    of_models = [] if command["name"] == "export" else shown.models_of_each_kind(llama)
    beside = list(itertools.product([*of_models, []], shown.contexts(command, named)))
    for option in [{}, *shown.options(command, named)]:
        refusals = []
        for models, context in beside:
            try:
                table = table_of(command["name"], models, context | option)
            except (asc.UsageError, asc.FormatError, asc.UnsupportedError, TypeError) as error:  # not supported by this model
                refusals.append(str(error))
                continue
            shown.show(table)
            break
        else:
            (keyword,) = option or [""]
            expected = shown.REFUSED.get((command["name"], keyword))
            assert expected and expected in refusals[0], f"{option} was never shown: {refusals[0]}"


@pytest.mark.parametrize("command", shown.with_rows(), ids=lambda command: command["name"])
def test_every_kind_of_rows_of_two_models(
    command: dict[str, Any], named: dict[str, list[Any]], gpt2: str, llama: str
) -> None:
    if command["name"] in ("export", "matrix", "experts", "diff", "plan", "shrink"):  # need one model, a file, or other inputs
        return
    kinds: set[tuple[str, ...]] = set()
    for context in shown.contexts(command, named):
        if "token_file" in context or "text_file" in context:
            continue
        try:
            table = table_of(command["name"], [[gpt2, llama]], context)
        except asc.UsageError:
            continue
        if tuple(table.columns) in kinds or "system" in context:
            continue
        kinds.add(tuple(table.columns))
        shown.show(table)
        assert set(table["model"]) == {"shakespeare-gpt2", "shakespeare-llama"}
    of_classifiers = {"label", "text_label", "lens_label", "ablate_label"}
    others = of_classifiers | {"tensor", "system"}
    expected = {  # some kinds have the same columns
        tuple(field["name"] for field in kind["fields"]) for kind in command["kinds"] if kind["name"] not in others
    }
    assert len(kinds) >= len(expected)


ARRAYS: dict[str, Any] = {
    "a square": np.arange(25.0).reshape(5, 5),
    "one number": np.ones((1, 1)),
    "a row": np.arange(1.0, 9)[None],
    "a column": np.arange(1.0, 9, dtype="float32")[:, None],
    "of rank 1": np.outer(np.arange(1, 5), np.arange(1, 4)),
    "zeros": np.zeros((3, 4)),
    "tiny": np.full((2, 3), 1e-300),
    "large": np.full((2, 3), 1e300),
    "wide": np.random.default_rng(1).standard_normal((3, 400)),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(
    "keywords",
    [{}, {"values": True}, {"energy": 0.5}, {"energy": [0.5, 0.9]}, {"rank": [1, 7]}, {"threads": 1}],
)
def test_arrays(name: str, keywords: Keywords) -> None:
    table = asc.spectrum(ARRAYS[name], **keywords)
    shown.show(table)
    assert "array" in repr(table)
    assert bool(table.charts) == (keywords == {"values": True})


def test_rows_of_an_array_are_described() -> None:
    table = asc.spectrum(np.eye(3), values=True, rank=2)
    kind = next(kind for kind in _core.commands()[1]["kinds"] if kind["name"] == "tensor")
    fields = [field["name"] for field in kind["fields"] if field["name"] != "stack"]  # an array has no stack
    names = [name.rpartition("_")[0] if name[-1].isdigit() else name for name in table[0]]
    assert list(dict.fromkeys(name for name in names if name != "scope")) == fields
    assert [model["name"] for model in table.models] == [table[0]["model"]]


def test_skipped_matrices_are_shown(tmp_path: pathlib.Path) -> None:
    from test_models import CONFIG, weights

    arrays = weights()
    arrays["h.1.attn.c_attn.weight"][0, 0] = np.nan  # in W_Q
    arrays["h.0.attn.c_attn.weight"][0, CONFIG["n_embd"]] = np.nan  # in W_K
    arrays["h.1.mlp.c_fc.weight"][:] = np.inf
    del arrays["h.0.mlp.c_proj.weight"]
    model = asc.open(arrays, config=CONFIG)
    for table in (model.spectrum(per_head=True), model.spectrum(mla=True), model.weights(), asc.info(model),
                  model.circuits(), model.similarity(), model.circuits(composition=True)):
        shown.show(table)
        assert table.skipped or table.command == "info"
    assert json.loads(model.spectrum().to_json())["skipped"]
