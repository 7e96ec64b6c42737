"""Attention maps of live modules and arrays, with modules that do not need PyTorch."""

import base64
import gzip
import json
import pathlib
import re
import sqlite3
from typing import Any

import numpy as np
import pytest
from fake_module import Array, Attention, Layer, Model, Module, softmax_maps

import attnscope as asc


def same(one: asc.Table, other: asc.Table, apart_from: tuple[str, ...] = ()) -> None:
    """Check that two tables have the same rows, except for the names of models."""
    assert one.columns == other.columns
    for ours, theirs in zip(one, other, strict=True):
        for name in {*ours} - {"model", *apart_from}:
            assert np.array_equal(ours[name], theirs[name]), (name, ours, theirs)


def entropy(maps: Array) -> float:
    """Return the entropy of one map, in float64."""
    weights = maps.astype(np.float64)
    return float(-(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1).mean())


# ---- Maps as arrays --------


def test_statistics_match_numpy() -> None:
    maps = softmax_maps(5, 3, 20, 20, causal=True)
    table = asc.attention(maps=[(0, maps)])
    heads = [row for row in table if row["head"] is not None]
    assert [row["head"] for row in heads] == [0, 1, 2]
    assert table["sequences"].tolist() == [5] * 4
    for head, row in enumerate(heads):
        of_head = maps[:, head].astype(np.float64)
        assert row["entropy"] == pytest.approx(np.mean([entropy(one) for one in of_head]), abs=1e-9)
        assert row["sink_mass"] == pytest.approx(of_head[:, :, 0].mean(), abs=1e-12)
        squares = np.linalg.svd(of_head, compute_uv=False) ** 2
        ranks = ((squares.cumsum(-1) < 0.9 * squares.sum(-1, keepdims=True)).sum(-1) + 1).mean()
        assert row["energy_rank"] == ranks
        assert row["uniform_sink_mass"] == pytest.approx(np.mean(1 / np.arange(1, 21)), abs=1e-12)
    assert table.models[0]["causal"]
    assert table.parameters["source"] == "maps"
    assert (table.parameters["sequences"], table.parameters["length"]) == (5, 20)


def test_batches_are_combined_and_layers_are_named() -> None:
    maps = softmax_maps(4, 2, 9, 9)
    whole = asc.attention(maps={0: maps, 1: maps})
    parts = asc.attention(maps=((layer, maps[at : at + 2]) for at in (0, 2) for layer in (0, 1)))
    same(whole, parts)
    named = asc.attention(maps=[("layers.7.attn", maps), ("layers.9.attn", maps)])
    assert sorted(set(named["layer"])) == [7, 9]
    words = asc.attention(maps=[("first", maps), ("second", maps)])
    assert sorted(set(words["layer"])) == [0, 1]
    assert "layer 1 is second" in words.notes


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_dtypes(dtype: str) -> None:
    maps = softmax_maps(1, 2, 30, 30).astype(dtype)
    row = asc.attention(maps=[(0, maps)])[0]
    assert row["entropy"] == pytest.approx(entropy(maps[0, 0]), abs=1e-6)
    assert row["learned_sink_mass"] == 0


def test_noncontiguous_axes() -> None:
    maps = softmax_maps(3, 2, 11, 11)
    last_first = np.ascontiguousarray(maps.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    same(asc.attention(maps=[(0, maps)]), asc.attention(maps=[(0, last_first)]))
    same(asc.attention(maps=[(0, maps[0])]), asc.attention(maps=[(0, maps[:1])]))


@pytest.mark.parametrize("tokens", [slice(0, 8), slice(4, 12), slice(2, 10)])
def test_padding_on_either_side_is_excluded(tokens: slice) -> None:
    inner = softmax_maps(1, 2, 8, 8, causal=True)
    maps = np.full((1, 2, 12, 12), 1 / 12, np.float32)
    maps[:, :, tokens] = 0
    maps[:, :, tokens, tokens] = inner
    mask = np.zeros((1, 12), int)
    mask[:, tokens] = 1
    same(asc.attention(maps=[(0, inner)]), asc.attention(maps=[(0, maps)], mask=mask))


def test_baselines_are_averaged_over_sequence_lengths() -> None:
    maps = np.zeros((2, 1, 6, 6), np.float32)
    maps[0, 0] = np.tril(np.ones((6, 6))) / np.arange(1, 7)[:, None]
    maps[1, 0, :4, :4] = maps[0, 0, :4, :4]
    maps[1, 0, 4:, 0] = 1
    mask = np.array([[1] * 6, [1] * 4 + [0] * 2])
    row = asc.attention(maps=[(0, maps)], mask=mask)[0]
    assert row["uniform_sink_mass"] == pytest.approx(row["sink_mass"], abs=1e-7)
    assert row["uniform_previous_token"] == pytest.approx(row["previous_token"], abs=1e-7)


def test_cross_attention_has_a_stack_and_no_position_statistics() -> None:
    own, across = softmax_maps(2, 2, 5, 5, causal=True), softmax_maps(2, 2, 5, 9)
    masks = np.array([[1] * 5, [1] * 3 + [0] * 2]), np.array([[1] * 9, [1] * 6 + [0] * 3])
    across[1, :, :, 6:] = 0
    across /= across.sum(-1, keepdims=True)
    table = asc.attention(maps={"decoder.0": own, "cross.0": across}, name="m", mask=None)
    assert [row["stack"] for row in table] == ["decoder"] * 3 + ["cross"] * 3
    assert table.models[1]["name"] == "m:cross" and table.models[1]["stack"] == "cross"
    padded = asc.attention(maps={"cross.0": across}, mask=masks)
    row = padded[0]
    wanted = [entropy(across[0, 0]), entropy(across[1, 0, :3, :6])]
    assert row["entropy"] == pytest.approx(np.mean(wanted), abs=1e-6)
    assert row["uniform_sink_mass"] == pytest.approx((1 / 9 + 1 / 6) / 2)
    for name in ("previous_token", "uniform_previous_token", "current_token", "mean_distance"):
        assert row.get(name) is None
    assert len(padded.charts) > 0


def test_learned_sinks() -> None:
    maps = 0.75 * softmax_maps(1, 1, 6, 6)
    with pytest.raises(asc.NumericalError, match="sum to 0.75, not to 1.*sinks allows"):
        asc.attention(maps=[(0, maps)])
    assert asc.attention(maps=[(0, maps)], sinks=True)[0]["learned_sink_mass"] == pytest.approx(0.25)


def test_invalid_maps() -> None:
    maps = softmax_maps(1, 2, 4, 4)
    holed = maps.copy()
    holed[0, 1, 2, 3] = np.nan
    with pytest.raises(asc.NumericalError, match="maps of layer 3: .*head 1, query 2: holds NaN"):
        asc.attention(maps=[(3, holed)])
    with pytest.raises(asc.NumericalError, match="query 0: the weights sum to 2, not to 1"):
        asc.attention(maps=[(0, 2 * maps)])
    wrong: list[tuple[Any, type[Exception], str]] = [
        ([], ValueError, "no maps given"),
        ([(0, maps[0, 0])], ValueError, r"expected shape \(..., H, T, S\), not \(4, 4\)"),
        ([(0, maps[:, :, :3])], ValueError, "3 queries but 4 keys"),
        ([(0, maps.astype(int))], TypeError, "real numbers"),
        ([(0, maps), (0, maps[:, :1])], ValueError, "1 heads, but earlier maps have 2"),
        ([maps, "map"], TypeError, "pairs"),
        ([(-1, maps)], TypeError, "a layer number from 0 or a layer name"),
        ([(0, "map")], TypeError, "expected an array"),
        (maps[0, 0], ValueError, r"maps: expected maps \(L, H, T, T\)"),
    ]
    for given, kind, words in wrong:
        with pytest.raises(kind, match=words):
            asc.attention(maps=given)
    for mask, words in ((np.ones((2, 4)) * [1, 1, 1, 0], "2 sequences"), (np.zeros((1, 4)), "no tok")):
        with pytest.raises(ValueError, match=words):
            asc.attention(maps=[(0, maps)], mask=mask)
    with pytest.raises(TypeError, match="heatmap: not supported"):
        asc.attention(maps=[(0, maps)], heatmap=(0, 0))
    with pytest.raises(TypeError, match="mask: only supported with"):
        asc.attention("a model", text="a", mask=maps)


def test_store_resumes_a_stopped_run(tmp_path: pathlib.Path, program: str) -> None:
    layers = [softmax_maps(2, 2, 8, 8, seed=layer) for layer in range(3)]
    store = tmp_path / "rows.sqlite"

    def some() -> Any:
        yield from enumerate(layers[:2])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asc.attention(maps=some(), store=store)
    # The run may have stopped before the second layer was analyzed.
    with sqlite3.connect(store) as rows:
        first = rows.execute("SELECT count(*) FROM items").fetchone()[0]
    assert first >= 1
    again = asc.attention(maps=enumerate(layers), store=store)
    same(again, asc.attention(maps=enumerate(layers)))
    with sqlite3.connect(store) as rows:
        assert rows.execute("SELECT count(*) FROM items").fetchone()[0] == 3
    same(asc.export(str(store)), again)


# ---- Live modules ---


def attentions(count: int, *shape: int, **kind: Any) -> list[Attention]:
    return [Attention(softmax_maps(*shape, seed=seed, **kind)) for seed in range(count)]


def test_module_gives_the_rows_of_its_maps() -> None:
    parts = attentions(3, 4, 2, 10, 10, causal=True)
    model = Model(layers=parts)
    tokens = np.zeros((4, 10), int)
    table = asc.attention(model, {"tokens": tokens}, name="fake")
    same(table, asc.attention(maps=[(at, part.maps) for at, part in enumerate(parts)]))
    assert table.models[0]["name"] == "fake" and table.models[0]["architecture"] == "Model"
    assert table.parameters["source"] == "inputs"
    assert [part.calls for part in parts] == [1, 1, 1]
    assert any("waited for the analysis" in note for note in table.notes)
    for _, part in model.named_modules():
        assert part.hooks == []
    # The output of the model is unchanged.
    assert model.outputs[0][1] is not None
    two = asc.attention(model, [{"tokens": tokens[:2]}, {"tokens": tokens[2:]}], layers=-1)
    assert set(two["layer"]) == {2}


def test_input_mask_excludes_padding() -> None:
    parts = attentions(1, 2, 2, 6, 6)
    parts[0].maps[1, :, :, 4:] = 0
    parts[0].maps[1] /= parts[0].maps[1].sum(-1, keepdims=True)
    mask = np.array([[1] * 6, [1] * 4 + [0] * 2])
    table = asc.attention(Model(layers=parts), {"tokens": mask, "attention_mask": mask})
    same(table, asc.attention(maps=[(0, parts[0].maps)], mask=mask))
    longer = np.array([[1] * 7, [1] * 4 + [0] * 3])
    table = asc.attention(Model(layers=parts), {"tokens": mask, "attention_mask": longer})
    assert any("padding was not excluded" in note for note in table.notes)


def test_layer_numbers_and_stacks() -> None:
    one, other, third = attentions(3, 1, 2, 5, 5)
    both = Model(encoder=[one, other], decoder=[third])
    table = asc.attention(both, {"tokens": np.zeros((1, 5), int)})
    assert [facts["stack"] for facts in table.models] == ["encoder", "decoder"]
    assert [facts["layers"] for facts in table.models] == [2, 1]
    # One module that is used by several layers.
    shared = Model(layers=[one])
    layer = shared.layers["layers"][0]
    shared.forward = lambda **inputs: [layer(**inputs) for _ in range(3)][-1]  # type: ignore[method-assign]
    table = asc.attention(shared, {"tokens": np.zeros((1, 5), int)})
    assert sorted(set(table["layer"])) == [0, 1, 2]


def test_training_mode_is_restored_after_an_exception() -> None:
    class Raises(Attention):
        def forward(self, **inputs: Any) -> Any:
            assert not self.training
            raise RuntimeError("no")

    part = Raises(softmax_maps(1, 1, 3, 3))
    model = Model(layers=[part])
    part.training = True
    with pytest.raises(RuntimeError, match="no"):
        asc.attention(model, {"tokens": np.zeros((1, 3), int)})
    assert part.training and not model.training
    assert part.hooks == []


def test_module_without_maps() -> None:
    class Silent(Module):
        def forward(self, **inputs: Any) -> Any:
            return (np.zeros((1, 3, 4)), None)

    with pytest.raises(asc.UnsupportedError, match="Silent returned no attention maps"):
        asc.attention(Silent(), {"tokens": np.zeros((1, 3), int)})

    class Config:
        _attn_implementation = "sdpa"

    fast = Silent()
    fast.config = Config()  # type: ignore[attr-defined]
    with pytest.raises(asc.UnsupportedError, match=r'with sdpa.*set_attn_implementation\("eager"\)'):
        asc.attention(fast, {"tokens": np.zeros((1, 3), int)})
    with pytest.raises(TypeError, match="inputs: missing"):
        asc.attention(fast)


def test_invalid_map_of_a_layer_stops_the_run() -> None:
    parts = attentions(4, 1, 2, 6, 6)
    parts[1].maps = parts[1].maps * 3
    with pytest.raises(asc.NumericalError, match=r"maps of layers\.1\.attn: sequence 0, head"):
        asc.attention(Model(layers=parts), {"tokens": np.zeros((1, 6), int)})


def test_page_of_a_table() -> None:
    table = asc.attention(maps={"encoder.0": softmax_maps(1, 2, 8, 8)}, name="mine")
    html = table.page().html
    blocks = re.findall(r'<script type="application/gzip;base64"[^>]*>([^<]+)</script>', html)
    results = json.loads(gzip.decompress(base64.b64decode(blocks[0])))
    assert [model["name"] for model in results["models"]] == ["mine:encoder"]
    assert [part["id"] for part in results["reports"]] == ["attention"]
    assert len(results["reports"][0]["rows"]) == len(table)
    assert {entry["part"] for entry in results["skipped"]} >= {"spectrum", "maps"}
    with pytest.raises(ValueError, match="have no page"):
        asc.info(system=True).page()
