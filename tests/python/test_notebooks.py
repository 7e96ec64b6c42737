"""The pages of docs/notebooks, run as notebooks. Their displays are checked, and their numbers against NumPy."""

import json
import pathlib
import re
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from numpy_gpt2 import Array, forward, tensors

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "docs/notebooks"
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

MOST_LINES = 12  # of code on a page
PAGES_RUN = ("effective_rank", "latent_attention", "identity_or_symmetric", "weights_and_cosines", "attention_maps")

Shown = dict[str, dict[str, Any]]
"""The displays of each block, by its last line: texts by MIME type."""


def run(page: str) -> Shown:
    """Run the page's Python blocks, one cell each, in a kernel at the root of the repository."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    blocks = [block.rstrip() for block in BLOCKS.findall((PAGES / page).read_text())]
    cells = [nbformat.v4.new_code_cell(block) for block in blocks]
    notebook = nbformat.v4.new_notebook(cells=cells)
    where = {"metadata": {"path": str(ROOT)}}
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=where)
    client.execute()
    return {
        cell.source.splitlines()[-1].partition("  #")[0].rstrip(): output["data"]
        for cell in notebook.cells
        for output in cell.outputs
        if output["output_type"] == "execute_result"
    }


def columns_of(shown: dict[str, Any]) -> list[str]:
    """Return the column headings of a displayed table."""
    html = shown["text/html"].replace("<wbr>", "")
    return re.findall(r"<th [^>]*>([^<]*)</th>", html)


def is_chart(shown: dict[str, Any]) -> bool:
    return "<svg" in shown.get("image/svg+xml", "") and "image/png" in shown


@pytest.fixture(scope="module")
def gpt2_layer(gpt2: str) -> dict[str, Array]:
    """Return W_Q, W_K, W_V and W_O of layer 0, with one row per output."""
    found = tensors(gpt2)
    q, k, v = np.split(found["transformer.h.0.attn.c_attn.weight"].T, 3)
    return {"q": q, "k": k, "v": v, "o": found["transformer.h.0.attn.c_proj.weight"].T}


def energy_rank(matrix: Array, share: float) -> int:
    squares = np.linalg.svd(matrix, compute_uv=False) ** 2
    return int((np.cumsum(squares) < share * squares.sum()).sum()) + 1


def energy_columns(maps: Array, share: float) -> int:
    mass = np.sort((maps**2).sum(axis=0))[::-1]
    return int((np.cumsum(mass) < share * mass.sum()).sum()) + 1


def row_of(table: asc.Table, **wanted: Any) -> dict[str, Any]:
    rows = [row for row in table if all(row[name] == value for name, value in wanted.items())]
    assert len(rows) == 1
    return rows[0]


@pytest.mark.long
def test_effective_rank(gpt2: str, gpt2_layer: dict[str, Array]) -> None:
    shown = run("effective_rank.md")
    for column in ("layer", "matrix", "head", "energy_rank_0.99", "random_energy_rank_0.99"):
        assert column in columns_of(shown["ranks"])
    assert {"rank_drop_0.99", "head_space_rank_drop_0.99"} <= {*columns_of(shown["circuits"])}
    assert is_chart(shown["ranks.plot()"])
    assert is_chart(shown['circuits.plot("heads-overlap")'])

    q, k, v, o = (gpt2_layer[name] for name in "qkvo")
    table = asc.open(gpt2).spectrum(
        matrix=["q", "k", "v", "o", "qk", "ov"], energy=0.99, per_head=True, layers=0
    )
    whole = {"q": q, "k": k, "v": v, "o": o, "qk": q.T @ k, "ov": o @ v}
    for which in (None, *range(6)):
        rows = slice(None) if which is None else slice(32 * which, 32 * which + 32)
        products = {"qk": q[rows].T @ k[rows], "ov": o[:, rows] @ v[rows]}
        of_head = {"q": q[rows], "k": k[rows], "v": v[rows], "o": o[:, rows]} | products
        for name, matrix in (whole if which is None else of_head).items():
            row = row_of(table, matrix=name, head=which)
            assert row["energy_rank_0.99"] == energy_rank(matrix, 0.99)
    circuit = row_of(asc.open(gpt2).circuits(energy=0.99, layers=0), circuit="qk", head=None)
    lost = energy_rank(k, 0.99) - energy_rank(q.T @ k, 0.99)
    assert circuit["rank_drop_0.99"] == lost


@pytest.mark.long
def test_latent_attention(llama: str) -> None:
    shown = run("latent_attention.md")
    assert {"energy_rank_0.6", "singular_values"} <= {*columns_of(shown["spectra"])}
    assert {"kv_energy", "kv_share_energy"} <= {*columns_of(shown["latent"])}
    assert sum(map(is_chart, shown.values())) == 3

    found = tensors(llama)
    k, v = (found[f"model.layers.3.self_attn.{name}_proj.weight"] for name in "kv")
    model = asc.open(llama)
    for row in model.spectrum(energy=[0.6, 0.8, 0.9], values=True, layers=[0, 3, -1]):
        part = "mlp" if row["matrix"] in ("gate", "up", "down") else "self_attn"
        matrix = found[f"model.layers.{row['layer']}.{part}.{row['matrix']}_proj.weight"]
        for share in (0.6, 0.8, 0.9):
            assert row[f"energy_rank_{share}"] == energy_rank(matrix, share)
        values = np.linalg.svd(matrix, compute_uv=False)
        np.testing.assert_allclose(row["singular_values"], values, rtol=1e-5, atol=1e-6 * values[0])
        energy = np.cumsum(values**2) / (values**2).sum()
        np.testing.assert_allclose(row["cumulative_energy"], energy, rtol=1e-6)
    both = np.vstack([k, v])
    latent = row_of(model.spectrum(mla=True, layers=3), layer=3)
    squares = np.linalg.svd(both, compute_uv=False) ** 2
    kept = squares[: latent["kv_share_rank"]].sum() / squares.sum()
    assert latent["kv_share_energy"] == pytest.approx(kept, rel=1e-6)


@pytest.mark.long
def test_identity_or_symmetric(gpt2: str, gpt2_layer: dict[str, Array]) -> None:
    shown = run("identity_or_symmetric.md")
    assert {"text", "logit", "probability"} <= {*columns_of(shown["run"])}
    assert {"name", "shape", "role"} <= {*columns_of(shown["asc.info(model)"])}
    assert {"identity_cosine", "symmetry", "positive_fraction"} <= {*columns_of(shown["circuits"])}
    assert sum(map(is_chart, shown.values())) == 2
    assert "'hidden_states': (7, 7, 192)" in next(
        data["text/plain"] for line, data in shown.items() if line.startswith("{name: ")
    )
    assert shown['model.info["tied_embedding"]']["text/plain"] == "True"

    found = tensors(gpt2)
    run_of = asc.open(gpt2).predict("Today we can go to", top=10, save=True)
    expected = forward(found, run_of.arrays["tokens"])
    for name in ("attentions", "hidden_states", "logits"):
        np.testing.assert_allclose(run_of.arrays[name], getattr(expected, name), rtol=1e-3, atol=1e-4)
    logits = expected.logits[-1]
    assert run_of["token_id"].tolist() == np.argsort(-logits)[:10].tolist()
    np.testing.assert_allclose(run_of["logit"], np.sort(logits)[:-11:-1], rtol=1e-4)

    product = gpt2_layer["q"].T @ gpt2_layer["k"]
    row = row_of(asc.open(gpt2).circuits(circuit="qk", layers=0), head=None)
    norm = np.linalg.norm(product)
    assert row["symmetry"] == pytest.approx((product * product.T).sum() / norm**2, rel=1e-5)
    cosine = np.trace(product) / norm / np.sqrt(len(product))
    assert row["identity_cosine"] == pytest.approx(cosine, rel=1e-5)
    eigenvalues = np.linalg.eigvalsh(product + product.T)
    positive = eigenvalues[eigenvalues > 0].sum() / np.abs(eigenvalues).sum()
    assert row["positive_fraction"] == pytest.approx(positive, rel=1e-5)


@pytest.mark.long
def test_weights_and_cosines(gpt2: str, gpt2_layer: dict[str, Array]) -> None:
    shown = run("weights_and_cosines.md")
    facts = columns_of(shown["asc.info([model, other])"])
    assert facts[1:3] == ["shakespeare-gpt2", "shakespeare-llama"]
    assert "attention_parameters" in shown["asc.info([model, other])"]["text/html"]
    assert "data:image/png;base64," in shown['model.similarity("q", head_matrix=(3, 0))']["text/html"]
    assert sum(map(is_chart, shown.values())) == 6

    model, q = asc.open(gpt2), gpt2_layer["q"]
    weights = model.weights(["q", "k", "v"], histogram=True)
    fine = model.weights("q,k,v", layers=3, histogram=True, bins="fd")
    found = tensors(gpt2)
    for layer in range(6):
        parts = np.split(found[f"transformer.h.{layer}.attn.c_attn.weight"].T, 3)
        for name, part in zip("qkv", parts, strict=True):
            row = row_of(weights, layer=layer, matrix=name)
            assert row["mean"] == pytest.approx(part.mean(), rel=1e-5, abs=1e-9)
            assert row["std"] == pytest.approx(part.std(), rel=1e-6)
            counts, _ = np.histogram(part, np.linspace(-0.8, 0.8, 81))
            assert row["histogram_counts"].tolist() == counts.tolist()
            if layer == 3:
                counts, edges = np.histogram(part, bins="fd")
                row = row_of(fine, matrix=name)
                assert row["histogram_counts"].tolist() == counts.tolist()
                np.testing.assert_allclose(row["histogram_edges"], edges, rtol=1e-6, atol=1e-9)
    assert row_of(weights, layer=0, matrix="q")["mean"] == pytest.approx(q.mean(), rel=1e-6)
    assert np.asarray(model.matrix("q", layer=3)).tolist() == (
        np.split(found["transformer.h.3.attn.c_attn.weight"].T, 3)[0].tolist()
    )
    units = q / np.linalg.norm(q, axis=1, keepdims=True)
    cosines = units @ units.T
    heads = np.arange(192) // 32
    pairs = np.triu(np.ones((192, 192), dtype=bool), k=1)
    table = model.similarity(matrix="q", layers=0)
    for scope, chosen in (
        ("within_head", heads[:, None] == heads),
        ("across_head", heads[:, None] != heads),
        ("all", heads[:, None] >= 0),
    ):
        values = cosines[pairs & chosen]
        row = row_of(table, scope=scope)
        assert row["pairs"] == len(values)
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-7)
        assert row["std"] == pytest.approx(values.std(), rel=1e-6)
    one = np.asarray(model.similarity("q", head_matrix=(0, 2)))
    np.testing.assert_allclose(one, cosines[64:96, 64:96], atol=1e-6)


@pytest.mark.long
def test_attention_maps(gpt2: str) -> None:
    shown = run("attention_maps.md")
    columns = columns_of(shown["attention"])
    assert {"energy_rank", "energy_columns", "max_rank", "collapsed"} <= {*columns}
    assert sum(map(is_chart, shown.values())) == 4
    page = shown['model.report("To be, or not to be, that is the question")']["text/html"]
    assert page.startswith("<iframe ") and "srcdoc=" in page
    assert "(6, 6, 14, 14)" in shown["maps.shape, asc.attention_rank(maps)"]["text/plain"]

    model, found = asc.open(gpt2), tensors(gpt2)
    table = model.attention(text_file=ROOT / "LICENSE", sequences=2, consecutive=True, layers=3)
    begin = (ROOT / "LICENSE").read_text()[:340]
    ids = model.predict(begin, save=True).arrays["tokens"]
    assert len(ids) >= 200
    maps = np.stack([forward(found, window).attentions[3] for window in (ids[:100], ids[100:200])])
    ranks = np.array([[energy_rank(head, 0.9) for head in window] for window in maps])
    held = np.array([[energy_columns(head, 0.9) for head in window] for window in maps])
    assert table.to_numpy("energy_rank")[3].tolist() == ranks.mean(axis=0).tolist()
    assert table.to_numpy("energy_columns")[3].tolist() == held.mean(axis=0).tolist()
    assert row_of(table, head=None)["max_rank"] == ranks.mean(axis=0).max()
    np.testing.assert_array_equal(asc.attention_rank(maps), ranks)


def test_training_collapse() -> None:
    for name in ("torch", "transformers", "accelerate"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    shown = run("training_collapse.md")
    healthy, collapsed = json.loads(next(
        data["text/plain"] for line, data in shown.items() if line.startswith("[log[-2]")
    ))
    assert healthy < 2 and collapsed > 3
    # The page draws its own chart, with Altair.
    charts = [data["text/html"] for data in shown.values() if '"mode": "vega-lite"' in data.get("text/html", "")]
    assert len(charts) == 1 and '"run": "0.1"' in charts[0]


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_images_and_pages_exist(page: pathlib.Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (PAGES / link).is_file(), link


@pytest.mark.parametrize("page", PAGES_RUN)
def test_a_page_has_few_lines_of_code(page: str) -> None:
    blocks = BLOCKS.findall((PAGES / f"{page}.md").read_text())
    lines = [line for block in blocks for line in block.splitlines() if line.strip() and not line.startswith("#")]
    assert 0 < len(lines) <= MOST_LINES
