"""Interactive views of attention maps: their size, their data, and their arguments."""

import base64
import gzip
import html
import json
import pathlib
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attnscope as asc

TEXT = "To be, or not to be, that is the question"
MOST_BYTES = 200_000
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def block(page: str, name: str) -> bytes:
    found = re.search(rf'id="{name}">([^<]*)<', page)
    assert found is not None
    return gzip.decompress(base64.b64decode(found[1]))


def results_of(page: str) -> dict[str, Any]:
    results: dict[str, Any] = json.loads(block(page, "results"))
    return results


def maps_of(page: str) -> dict[tuple[int, int], NDArray[np.float64]]:
    """Decode the complete maps of a page, as described in docs/formats.md."""
    codes = np.frombuffer(block(page, "maps"), np.uint8)
    weights = np.where(codes == 0, 0, 2.0 ** ((codes.astype(np.float64) - 1) / 254 * 16 - 16))
    maps = {}
    for entry in results_of(page)["maps"]:
        rows, columns, at = entry["tokens"], entry.get("keys", entry["tokens"]), entry["at"]
        if entry["side"] != rows:
            continue
        map_ = np.zeros((rows, columns))
        if entry["causal"]:
            map_[np.tril_indices(rows)] = weights[at : at + rows * (rows + 1) // 2]
        else:
            map_ = weights[at : at + rows * columns].reshape(rows, columns)
        maps[entry["layer"], entry["head"]] = map_
    return maps


def check_maps(page: str, expected: NDArray[Any], least: float = 2.0**-16) -> None:
    for (layer, head), map_ in maps_of(page).items():
        own = expected[layer, head]
        kept = np.where(own < least, 0, own)
        assert np.all(np.abs(map_ - kept) <= 0.023 * kept + 2.0**-16), (layer, head)


def test_view_has_the_maps_and_tokens(gpt2: str) -> None:
    model = asc.open(gpt2)
    table = model.attention(TEXT, maps=True)
    page = table.view(layer=3, head=2).html
    results = results_of(page)
    assert results["open"] == "heads?l=3&h=2&part=all"
    assert [token["text"] for token in results["texts"][0]["tokens"]] == table.tokens
    expected = table.arrays["attentions"]
    assert len(maps_of(page)) == expected.shape[0] * expected.shape[1]
    check_maps(page, expected)
    assert maps_of(model.attention(TEXT).view(3, 2).html).keys() == maps_of(page).keys()  # the model runs again


def test_views_are_small_and_offline(gpt2: str, tmp_path: pathlib.Path) -> None:
    model = asc.open(gpt2)
    text = pathlib.Path(__file__).read_text()[:380]
    table = model.attention(text)
    for view in (table.view(layer=1, head=[0, 2]), table.grid(), table.grid(layer=2, head=1)):
        shown = view._repr_html_()
        assert len(shown.encode()) < MOST_BYTES and len(view.html.encode()) < MOST_BYTES
        assert html.unescape(re.findall(r'srcdoc="([^"]*)"', shown)[0]) == view.html
        assert not re.search(r'(src|href)="?(https?:)?//', view.html) and "connect-src 'none'" in view.html
    opened = maps_of(table.view(layer=1, head=[0, 2]).html)
    assert {(1, 0), (1, 2)} <= opened.keys()
    grid = results_of(table.grid().html)
    heads = {(entry["layer"], entry["head"]) for entry in grid["maps"]}
    assert len(heads) == len(table.to_numpy("entropy").ravel()), "a grid has all heads"
    assert any(entry["side"] < entry["tokens"] for entry in grid["maps"]), "with thumbnails"
    table.view().save(tmp_path / "v.html")
    assert (tmp_path / "v.html").stat().st_size < MOST_BYTES
    short = model.attention(TEXT, maps=True)
    for view in (short.view(2, 1), short.grid()):
        for name in ("v.svg", "v.png"):
            view.save(tmp_path / name)
            assert (tmp_path / name).stat().st_size > 1000
    with pytest.raises(ValueError, match="expected the extension .html, .svg, .png"):
        table.view().save("v.txt")


def test_long_texts_lose_only_small_weights() -> None:
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(1, 2, 500, 500)) * 3
    maps = np.exp(scores)
    maps /= maps.sum(axis=-1, keepdims=True)
    view = asc.attention(maps=[(0, maps)]).view(head=1)
    assert len(view._repr_html_().encode()) < MOST_BYTES
    least = results_of(view.html)["least_weight"]
    assert 0 < least < 0.5
    assert (0, 1) in maps_of(view.html)
    check_maps(view.html, maps.astype(np.float32), least)


def test_views_of_given_maps() -> None:
    maps = np.full((3, 2, 4, 5, 5), 0.2, np.float32)
    maps[1, 0, 2] = np.eye(5)
    table = asc.attention(tuple(maps))
    page = table.view(layer=1, head=2, tokens=list("abcde")).html
    assert np.allclose(maps_of(page)[1, 2], np.eye(5))
    assert [token["text"] for token in results_of(page)["texts"][0]["tokens"]] == list("abcde")
    assert "0" in table.view().html
    with pytest.raises(ValueError, match="tokens: 3 texts, but the maps have 5 tokens"):
        table.view(tokens=["a", "b", "c"])
    with pytest.raises(TypeError, match="tokens: expected a list of texts, not str"):
        table.view(tokens="abcde")


def test_views_of_cross_attention() -> None:
    maps = np.full((2, 3, 4), 0.25, np.float32)
    table = asc.attention(maps=[("cross.0", maps)])
    page = table.view(tokens=(["x", "y", "z"], ["a", "b", "c", "d"])).html
    text = results_of(page)["texts"][0]
    assert [token["text"] for token in text["source"]] == ["a", "b", "c", "d"]
    assert maps_of(page)[0, 1].shape == (3, 4)
    with pytest.raises(ValueError, match="tokens: expected a pair"):
        table.view(tokens=["x", "y", "z"])


def test_view_of_a_pair() -> None:
    model = asc.open(ROOT / "tests/data/classifiers/bert")
    table = model.attention("a good day", text_pair="a bad night", maps=True)
    page = table.view(layer=1, head=1, part="A→B").html
    results = results_of(page)
    assert results["open"] == "heads?l=1&h=1&part=a_to_b"
    types = np.array(results["texts"][0]["pair_texts"])
    assert set(types.tolist()) <= {-1, 0, 1} and {0, 1} <= set(types.tolist())
    # The weights of the direction are those of the field a_to_b.
    own = maps_of(page)[1, 1]
    row = next(one for one in table if (one["layer"], one["head"]) == (1, 1))
    assert own[np.ix_(types == 0, types == 1)].sum(axis=1).mean() == pytest.approx(row["a_to_b"], rel=0.03)
    for part in ("a_to_b", "A->B", "b_to_a", "all"):
        model.attention("a good day", text_pair="a bad night").view(part=part)
    with pytest.raises(ValueError, match="part: expected all, a_to_b"):
        table.view(part="c")


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"layer": 99}, IndexError, "layer: 99 is not among the layers: 0 to"),
        ({"head": 99}, IndexError, "head: 99 is not among the heads: 0 to"),
        ({"head": []}, ValueError, "head: empty list"),
        ({"head": "two"}, TypeError, "head: expected a number, or only a text such as 'L3H2'"),
        ({"layer": 1.5}, TypeError, "layer: expected a number, not float"),
        ({"part": "a_to_b"}, ValueError, "part: the text is not a pair"),
        ({"part": 3}, TypeError, "part: expected a text, not int"),
    ],
)
def test_invalid_arguments(gpt2: str, keywords: dict[str, Any], error: type[Exception], words: str) -> None:
    table = asc.open(gpt2).attention(TEXT)
    with pytest.raises(error, match=words) as raised:
        table.view(**keywords)
    assert isinstance(raised.value, asc.Error)
    assert results_of(table.view(layer=-1, head=-1).html)["open"].startswith("heads?l=")


def test_tables_without_maps(gpt2: str, llama: str) -> None:
    with pytest.raises(asc.UsageError, match="spectrum: only rows of attention have maps"):
        asc.spectrum(gpt2).view()
    with pytest.raises(asc.UsageError, match="call attention with maps=True"):
        asc.attention(gpt2, induction=True).grid()
    with pytest.raises(asc.UsageError, match="a view shows one model, but the table has 2"):
        asc.attention([gpt2, llama], text=TEXT).view()


def test_report_opens_where_asked(gpt2: str) -> None:
    page = asc.report(gpt2, text=TEXT, view="attention", layer=-1, head=2)
    last = asc.open(gpt2).info["layers"] - 1
    assert results_of(page.html)["open"] == f"attention?l={last}&h=2"
    assert results_of(asc.report(gpt2, text=TEXT, view="spectra").html)["open"] == "spectra"
    assert "open" not in results_of(asc.report(gpt2, text=TEXT).html)
    with pytest.raises(asc.UsageError, match="view"):
        asc.report(gpt2, view="attentions")  # type: ignore[arg-type]
    with pytest.raises(asc.UsageError, match="has layers 0 to"):
        asc.report(gpt2, text=TEXT, layer=99)


def test_report_shows_prompts(gpt2: str) -> None:
    file = ROOT / "examples/prompts.jsonl"
    model = asc.open(gpt2)
    page = model.report(text=TEXT, prompts=file, patch_positions="last", view="prompts")
    results = results_of(page.html)
    assert results["open"] == "prompts"
    rows = {part["id"]: part["rows"] for part in results["reports"]}
    options: dict[str, Any] = {"prompts": file, "patching": "denoising"}
    tables = {
        "ablate_prompts": model.ablate(prompts=file, components="all"),
        "ablate_patching": model.ablate(patch_positions="last", **options),
        "ablate_path": model.ablate(sender="each-layer", **options),
    }
    for name, table in tables.items():
        assert rows[name] == json.loads(table.to_json())["rows"]
    with pytest.raises(asc.UsageError, match="patch_positions: requires prompts"):
        model.report(patch_positions="last")
    with pytest.raises(asc.Error, match="has no tokenizer"):
        asc.report(str(ROOT / "tests/data/forward/bert"), prompts=file)
