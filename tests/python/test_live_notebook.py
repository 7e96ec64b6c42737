"""examples/colab.ipynb, whose cells run on the CPU with a small model."""

import ast
import json
import pathlib
from typing import Any

import pytest

import attnscope as asc

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
HERE = {"MODEL": str(EXAMPLES / "shakespeare-llama"), "DEVICE": "cpu", "DTYPE": "float32"}


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last expression, which a notebook displays."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_cells(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    for cell in json.loads((EXAMPLES / "colab.ipynb").read_text())["cells"]:
        source, tags = "".join(cell["source"]), cell["metadata"].get("tags", ())
        if cell["cell_type"] != "code":
            continue
        if "install" in tags:
            assert source == "%pip install --quiet transformers {WHEEL}"
            continue
        value = run(source, names)
        if "parameters" in tags:
            assert names.keys() >= HERE.keys()
            names |= HERE
        elif value is not None:
            shown[source.splitlines()[-1].partition("  #")[0]] = value
    assert len(shown) == 20
    for value in shown.values():
        displays = ("_repr_html_", "_repr_mimebundle_", "_repr_svg_")
        methods = [name for name in displays if hasattr(value, name)]
        assert methods or isinstance(value, tuple)
        for name in methods:
            getattr(value, name)()
    assert shown["loss"].columns == asc.open(HERE["MODEL"]).ablate("To be", components="heads").columns
    assert repr(shown["live"]) == "<attnscope.LiveModel shakespeare-llama on cpu>"
    assert shown['attention.arrays["attentions"].shape'][:2] == (6, 6)
