"""The docstring of every command lists the columns of its tables, with meaning and unit."""

import inspect
import pathlib
import re
from typing import Any

import pytest

import attnscope as asc
from attnscope import _core, _describe

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests/data"
TEXT = "To be, or not to be, that is the question"
COMMANDS = [command["name"] for command in _core.commands() if command["gives_rows"]]
METHODS = [name for name in COMMANDS if hasattr(asc.Model, name) and name != "info"]

LINE = re.compile(r"^- (?P<names>[^:(]*?)(?: \((?P<remarks>[^)]*)\))?: (?P<meaning>.*)$")
Columns = dict[str, tuple[str, str]]
"""Unit and needed keyword of the columns of one kind of rows, by their names as written."""


def kinds_of(docstring: str) -> dict[str, Columns]:
    """Return the documented columns of each kind of rows, by the keyword that requests these rows."""
    kinds: dict[str, Columns] = {}
    for part in docstring.split("\n\n"):
        text = re.sub(r"\n +(?!- )", " ", part)
        head = re.match(r"Rows(?:, with (\w+))?: ", text)
        if head is None:
            continue
        columns: Columns = {}
        again = re.search(r"^As above: ((?:.|\n(?!- ))*)\.$", text, re.MULTILINE)
        if again is not None:
            above = {name: value for kind in kinds.values() for name, value in kind.items()}
            for name in re.sub(r"\s+", " ", again[1]).replace(", …", "").split(", "):
                name = name if name in above else f"{name}…"
                columns[name] = above[name]
        for line in filter(None, map(LINE.match, text.splitlines())):
            remarks = (line["remarks"] or "").split("; ")
            keyword = next((each[5:] for each in remarks if each.startswith("with ")), "")
            unit = "" if remarks[0].startswith("with ") else remarks[0]
            assert line["meaning"].strip(), line[0]
            names = line["names"].removesuffix(", …")
            for name in names.split(", "):
                columns[name if names == line["names"] else f"{name}…"] = unit, keyword
        kinds[head[1] or ""] = columns
    return kinds


def matches(written: str, column: str) -> bool:
    """Return whether a documented name is the column's. An ellipsis stands for other numbers."""
    if not written.endswith("…"):
        return written == column
    pattern = re.sub(r"_(0\\\.9+|512)(?=_|$)", r"_[0-9.D]+", re.escape(written[:-1]))
    return re.fullmatch(pattern, column) is not None


CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("info", "", "gpt2", {}),
    ("info", "system", "", {"system": True}),
    ("spectrum", "", "gpt2", {"energy": [0.5, 0.9], "rank": [3, "0.1D"], "values": True, "per_head": True}),
    ("spectrum", "tensor", "gpt2", {"tensor": "transformer.wte.weight"}),
    ("spectrum", "mla", "llama", {"mla": True}),
    ("spectrum", "", "experts", {}),
    ("spectrum", "", "latent", {}),
    ("weights", "", "gpt2", {"histogram": True}),
    ("similarity", "", "gpt2", {"histogram": True}),
    ("similarity", "head_matrix", "gpt2", {"head_matrix": (0, 1), "matrix": "q"}),
    ("similarity", "overlap", "gpt2", {"overlap": True}),
    ("circuits", "", "gpt2", {"energy": 0.7}),
    ("circuits", "composition", "gpt2", {"composition": True}),
    ("experts", "", "experts", {}),
    ("matrix", "", "gpt2", {"layer": 0, "matrix": "q"}),
    ("attention", "", "gpt2", {"text": TEXT}),
    ("attention", "", "vision", {"image": str(DATA / "images/odd.png")}),
    ("attention", "induction", "gpt2", {"induction": True, "sequences": 2}),
    ("attention", "heatmap", "gpt2", {"text": TEXT, "heatmap": (0, 1)}),
    ("predict", "", "gpt2", {"text": [TEXT, TEXT]}),
    ("predict", "perplexity", "gpt2", {"text": TEXT, "perplexity": True}),
    ("predict", "attribution", "gpt2", {"text": TEXT, "attribution": True}),
    ("lens", "", "gpt2", {"text": TEXT}),
    ("lens", "grid", "gpt2", {"text": TEXT, "grid": True, "top": 2}),
    ("lens", "prompts", "gpt2", {"prompts": str(ROOT / "examples/prompts.jsonl")}),
    ("ablate", "", "gpt2", {"text": TEXT, "layers": 0}),
    ("ablate", "heads", "gpt2", {"text": TEXT, "heads": "L0H1,L2H3"}),
    ("ablate", "pairs", "gpt2", {"text": TEXT, "heads": ["L0H1", (2, 3)], "pairs": 2}),
    ("ablate", "cumulative", "gpt2", {"text": TEXT, "heads": "L0H1,L2H3", "cumulative": True}),
    ("ablate", "induction", "gpt2", {"induction": True, "sequences": 2}),
    ("ablate", "prompts", "gpt2", {"prompts": str(ROOT / "examples/prompts.jsonl"), "layers": 0}),
    ("directions", "", "gpt2", {"matrix": "ov", "layers": 0, "copying": True, "text": TEXT}),
    ("directions", "pairs", "gpt2", {"matrix": "ov", "layers": 0, "head": 0, "pairs": 2}),
    ("diff", "", "gpt2 gpt2", {"layers": 0}),
]
MODELS = {
    "gpt2": str(ROOT / "examples/shakespeare-gpt2"),
    "llama": str(ROOT / "examples/shakespeare-llama"),
    "experts": str(DATA / "forward/mixtral"),
    "latent": str(DATA / "forward/deepseek_v2"),
    "vision": str(DATA / "stacks/vit"),
}


@pytest.mark.parametrize(("command", "kind", "model", "keywords"), CASES)
def test_columns_are_those_of_the_table(command: str, kind: str, model: str, keywords: dict[str, Any]) -> None:
    function = getattr(asc, command)
    models = [asc.open(MODELS[name]) for name in model.split()]
    table: asc.Table = function(*([models] if models else []), **keywords)
    documented = kinds_of(inspect.getdoc(function) or "")[kind]
    for column in table.columns:
        assert any(matches(name, column) for name in documented), f"{column} is not documented"
    fields = next(each for each in _describe.command(command)["kinds"] if each["option"] == kind)["fields"]
    units = {field["name"]: field["unit"] for field in fields}
    sometimes = {field["name"] for field in fields if field["optional"]}
    for name, (unit, keyword) in documented.items():
        assert units.get(name, unit) == unit
        if name.endswith("_…") or keyword not in ("", *keywords):
            continue
        optional = any(name == field or name.startswith(f"{field}_") for field in sometimes)
        assert optional or any(matches(name, column) for column in table.columns), f"{name} is not a column"


def test_every_kind_of_rows_is_documented() -> None:
    for command in _core.commands():
        if command["gives_rows"]:
            documented = kinds_of(inspect.getdoc(getattr(asc, command["name"])) or "")
            assert [*documented] == [kind["option"] for kind in command["kinds"]]
            keywords = {*_describe.parameters(command["name"])}
            for columns in documented.values():
                assert columns and {keyword for _, keyword in columns.values()} <= keywords | {""}


@pytest.mark.parametrize("name", METHODS)
def test_methods_list_the_same_columns(name: str) -> None:
    of_function = inspect.getdoc(getattr(asc, name)) or ""
    of_method = inspect.getdoc(getattr(asc.Model, name)) or ""
    assert kinds_of(of_method) == kinds_of(of_function) != {}


def test_units_are_documented() -> None:
    columns = kinds_of(inspect.getdoc(asc.Model.attention) or "")[""]
    assert columns["entropy"] == ("nats", "") and columns["mean_distance"] == ("tokens", "")
    columns = kinds_of(inspect.getdoc(asc.Model.spectrum) or "")[""]
    assert columns["energy_at_rank_512…"] == ("share of the energy", "rank")
