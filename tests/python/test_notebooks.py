"""The pages of docs/notebooks, run as notebooks. Their displays are checked, and some numbers against NumPy."""

import json
import pathlib
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attnscope as asc

pytestmark = pytest.mark.long

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("altair")

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "docs/notebooks"
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

Array = NDArray[np.float64]
Shown = dict[str, dict[str, Any]]
"""The displays of each block, by its last line: texts by MIME type."""


def run(page: str) -> Shown:
    """Run the page's Python blocks, one cell each, in a kernel at the root of the repository."""
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
    html = shown.get("text/html", "")
    return "vegaEmbed" in html and "vega-lite" in html


def tensors(folder: str) -> dict[str, Array]:
    """Return the tensors of a folder's file. It is in bfloat16, the upper half of float32."""
    whole = (ROOT / folder / "model.safetensors").read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        assert entry["dtype"] == "BF16"
        begin, end = entry["data_offsets"]
        halves = np.frombuffer(whole[8 + size + begin : 8 + size + end], "<u2")
        values = (halves.astype(np.uint32) << 16).view(np.float32)
        found[name] = values.reshape(entry["shape"]).astype(np.float64)
    return found


@pytest.fixture(scope="module")
def gpt2_layer(gpt2: str) -> dict[str, Array]:
    """Return W_Q, W_K, W_V and W_O of layer 0, with one row per output."""
    found = tensors(gpt2)
    q, k, v = np.split(found["transformer.h.0.attn.c_attn.weight"].T, 3)
    return {"q": q, "k": k, "v": v, "o": found["transformer.h.0.attn.c_proj.weight"].T}


def energy_rank(matrix: Array, share: float) -> int:
    squares = np.linalg.svd(matrix, compute_uv=False) ** 2
    return int((np.cumsum(squares) < share * squares.sum()).sum()) + 1


def row_of(table: asc.Table, **wanted: Any) -> dict[str, Any]:
    rows = [row for row in table if all(row[name] == value for name, value in wanted.items())]
    assert len(rows) == 1
    return rows[0]


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
    head = slice(64, 96)
    whole = {"q": q, "k": k, "v": v, "o": o, "qk": q.T @ k, "ov": o @ v}
    of_head = {"q": q[head], "o": o[:, head], "qk": q[head].T @ k[head], "ov": o[:, head] @ v[head]}
    for which, matrices in ((None, whole), (2, of_head)):
        for name, matrix in matrices.items():
            row = row_of(table, matrix=name, head=which)
            assert row["energy_rank_0.99"] == energy_rank(matrix, 0.99)
    circuit = row_of(asc.open(gpt2).circuits(energy=0.99, layers=0), circuit="qk", head=None)
    lost = energy_rank(k, 0.99) - energy_rank(q.T @ k, 0.99)
    assert circuit["rank_drop_0.99"] == lost


def test_latent_attention(llama: str) -> None:
    shown = run("latent_attention.md")
    assert {"energy_rank_0.6", "singular_values"} <= {*columns_of(shown["spectra"])}
    assert {"kv_energy", "kv_share_energy"} <= {*columns_of(shown["latent"])}
    assert sum(map(is_chart, shown.values())) == 3

    found = tensors(llama)
    k, v = (found[f"model.layers.3.self_attn.{name}_proj.weight"] for name in "kv")
    model = asc.open(llama)
    row = row_of(model.spectrum(matrix="k", energy=[0.6, 0.8, 0.9], values=True, layers=3), layer=3)
    for share in (0.6, 0.8, 0.9):
        assert row[f"energy_rank_{share}"] == energy_rank(k, share)
    values = np.linalg.svd(k, compute_uv=False)
    np.testing.assert_allclose(row["singular_values"], values, rtol=1e-5)
    energy = np.cumsum(values**2) / (values**2).sum()
    np.testing.assert_allclose(row["cumulative_energy"], energy, rtol=1e-6)
    both = np.vstack([k, v])
    latent = row_of(model.spectrum(mla=True, layers=3), layer=3)
    squares = np.linalg.svd(both, compute_uv=False) ** 2
    kept = squares[: latent["kv_share_rank"]].sum() / squares.sum()
    assert latent["kv_share_energy"] == pytest.approx(kept, rel=1e-6)


def test_identity_or_symmetric(gpt2: str, gpt2_layer: dict[str, Array]) -> None:
    shown = run("identity_or_symmetric.md")
    assert {"text", "logit", "probability"} <= {*columns_of(shown["run"])}
    assert {"name", "shape", "role"} <= {*columns_of(shown["tensors"])}
    assert {"identity_cosine", "symmetry", "positive_fraction"} <= {*columns_of(shown["circuits"])}
    assert sum(map(is_chart, shown.values())) == 2
    assert "'hidden_states': (7, 7, 192)" in next(
        data["text/plain"] for line, data in shown.items() if line.startswith("{name: ")
    )
    assert shown['model.info["tied_embedding"]']["text/plain"] == "True"

    found = tensors(gpt2)
    run_of = asc.open(gpt2).predict("Today we can go to", top=10, save=True)
    embedding = found["transformer.wte.weight"]
    ids = run_of.arrays["tokens"]
    begin = embedding[ids] + found["transformer.wpe.weight"][: len(ids)]
    np.testing.assert_allclose(run_of.arrays["hidden_states"][0], begin, rtol=1e-6, atol=1e-7)
    logits = run_of.arrays["hidden_states"][-1] @ embedding.T
    np.testing.assert_allclose(run_of.arrays["logits"], logits, rtol=1e-4, atol=1e-4)
    likeliest = np.argsort(-logits[-1])[:10]
    assert run_of["token_id"].tolist() == likeliest.tolist()

    product = gpt2_layer["q"].T @ gpt2_layer["k"]
    row = row_of(asc.open(gpt2).circuits(circuit="qk", layers=0), head=None)
    norm = np.linalg.norm(product)
    assert row["symmetry"] == pytest.approx((product * product.T).sum() / norm**2, rel=1e-5)
    cosine = np.trace(product) / norm / np.sqrt(len(product))
    assert row["identity_cosine"] == pytest.approx(cosine, rel=1e-5)
    eigenvalues = np.linalg.eigvalsh(product + product.T)
    positive = eigenvalues[eigenvalues > 0].sum() / np.abs(eigenvalues).sum()
    assert row["positive_fraction"] == pytest.approx(positive, rel=1e-5)


def test_weights_and_cosines(gpt2: str, gpt2_layer: dict[str, Array]) -> None:
    shown = run("weights_and_cosines.md")
    facts = columns_of(shown["asc.info([model, other])"])
    assert facts[1:3] == ["shakespeare-gpt2", "shakespeare-llama"]
    assert "attention_parameters" in shown["asc.info([model, other])"]["text/html"]
    assert {"mean", "std", "histogram_counts"} <= {*columns_of(shown["weights"])}
    assert "shakespeare-llama" in shown["both"]["text/html"]
    assert "data:image/png;base64," in shown["head"]["text/html"]
    assert {"scope", "mean", "std"} <= {*columns_of(shown["cosines"])}
    assert sum(map(is_chart, shown.values())) == 6

    model, q = asc.open(gpt2), gpt2_layer["q"]
    row = row_of(model.weights(matrix="q", histogram=True, layers=0), matrix="q")
    assert row["mean"] == pytest.approx(q.mean(), rel=1e-6)
    assert row["std"] == pytest.approx(q.std(), rel=1e-6)
    counts, _ = np.histogram(q, np.linspace(-0.8, 0.8, 81))
    assert row["histogram_counts"].tolist() == counts.tolist()
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
        found = row_of(table, scope=scope)
        assert found["pairs"] == len(values)
        assert found["mean"] == pytest.approx(values.mean(), abs=1e-7)
        assert found["std"] == pytest.approx(values.std(), rel=1e-6)


def test_attention_maps(gpt2: str) -> None:
    shown = run("attention_maps.md")
    columns = columns_of(shown["attention"])
    assert {"energy_rank", "energy_columns", "max_rank", "collapsed"} <= {*columns}
    assert sum(map(is_chart, shown.values())) == 4
    page = shown['model.report("To be, or not to be, that is the question")']["text/html"]
    assert page.startswith("<iframe ") and "srcdoc=" in page
    assert "(6, 6, 14, 14)" in shown["maps.shape, asc.attention_rank(maps)"]["text/plain"]

    text = "To be, or not to be, that is the question"
    table = asc.open(gpt2).attention(text, maps=True)
    maps = table.arrays["attentions"].astype(np.float64)
    for layer, head in ((0, 2), (3, 1), (5, 5)):
        row = row_of(table, layer=layer, head=head)
        assert row["energy_rank"] == energy_rank(maps[layer, head], 0.9)
        mass = np.sort((maps[layer, head] ** 2).sum(axis=0))[::-1]
        assert row["energy_columns"] == (np.cumsum(mass) < 0.9 * mass.sum()).sum() + 1


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_images_and_pages_exist(page: pathlib.Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (PAGES / link).is_file(), link
