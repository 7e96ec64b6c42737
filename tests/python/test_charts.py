"""Charts of tables are equal to those of a report of the same runs."""

import json
import pathlib
import subprocess
from typing import Any

import pytest

import attnscope as asc

TEXT = "To be, or not to be, that is the question"
SHARES = [0.6, 0.8, 0.9, 0.99]
ROLES = "q k v o qk ov kv gate up down".split()

TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "spectrum": ("spectrum", {"per_head": True, "values": True, "energy": SHARES, "matrix": ROLES}),
    "mla": ("spectrum", {"mla": True}),
    "weights": ("weights", {"per_head": True, "histogram": True, "bins": 400}),
    "similarity": ("similarity", {"histogram": True}),
    "overlap": ("similarity", {"overlap": True}),
    "circuits": ("circuits", {"energy": SHARES}),
    "composition": ("circuits", {"composition": True}),
    "attention": ("attention", {"text": TEXT}),
}
"""The commands that a report runs, by their ids in the page."""

OF_A_HEAD = ("head-energy", "head-among-heads")
"""Charts of one head. A report selects it by attention, so a table without attention may select another."""

Charts = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def of_report(tmp_path_factory: pytest.TempPathFactory, gpt2: str, llama: str, program: str) -> Charts:
    folder = tmp_path_factory.mktemp("charts")
    words = ["--layers", "0-2", "--text", TEXT, "--out", str(folder / "page.html"), "--charts", str(folder)]
    subprocess.run([program, "report", gpt2, llama, "--quiet", *words], check=True)
    suffix = ".vl.json"
    return {file.name.removesuffix(suffix): json.loads(file.read_text()) for file in folder.glob(f"*{suffix}")}


@pytest.mark.parametrize("part", TABLES)
def test_charts_equal_those_of_a_report(part: str, of_report: Charts, gpt2: str, llama: str) -> None:
    command, keywords = TABLES[part]
    charts = getattr(asc, command)([gpt2, llama], layers=range(3), **keywords).charts
    shared = [name for name in charts if not name.endswith(OF_A_HEAD)]
    assert any(name.startswith("model-0-") for name in shared) and any(name.startswith("model-1-") for name in shared)
    for name in shared:
        assert charts[name] == of_report[name], name


@pytest.mark.parametrize(
    ("asked", "charts"),
    [
        ({}, {"plan-cost"}),
        ({"method": "depth", "set": "remove-layers=2"}, {"plan-layers", "plan-influence"}),
        ({"method": "low-rank", "keep": 0.8}, {"plan-ranks"}),
    ],
)
def test_charts_of_a_plan(gpt2: str, tmp_path: pathlib.Path, asked: dict[str, Any], charts: set[str]) -> None:
    book = tmp_path / "book.txt"
    book.write_text("".join(f"ROMEO:\nWhat light {line} through yonder window breaks?\n\n" for line in range(160)))
    fitted: dict[str, Any] = {"length": 64, "sequences": 12, "eval_sequences": 3, "probe_tokens": 64}
    assert set(asc.open(gpt2).plan(calibration_file=book, **fitted, **asked).charts) == charts
