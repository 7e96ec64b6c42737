"""Reports and servers of live models."""

import json
import pathlib
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import attnscope as asc

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")

MODEL = pathlib.Path(__file__).resolve().parents[2] / "examples/shakespeare-gpt2"
TEXT = "To be, or not to be, that is the question"


@pytest.fixture(scope="module")
def live() -> Any:
    return asc.live(MODEL, dtype="float32")


@pytest.fixture
def passes(live: Any) -> Any:
    """Lengths of the texts that pass the first layer."""
    found: list[int] = []
    layer = live.module.transformer.h[0]
    handle = layer.register_forward_pre_hook(lambda _, args: found.append(args[0].shape[1]))
    yield found
    handle.remove()


def test_report(live: Any, passes: list[int]) -> None:
    page = live.report(TEXT)
    expected = asc.open(MODEL).report(TEXT)
    assert expected.notes == []
    left_out = "skipped analyses: induction of shakespeare-gpt2: induction: not supported on a live model"
    assert page.notes == [left_out]
    assert len(page) > 0.8 * len(expected)
    assert len(passes) > 4  # for maps, with and without the first token, lens and ablations
    assert not any(part._forward_pre_hooks for part in live.module.transformer.h[1:])


def test_report_leaves_out_what_fails(live: Any) -> None:
    def fail(*_: Any) -> None:
        raise asc.UnsupportedError("a fault (injected)")

    handle = live.module.transformer.h[3].register_forward_hook(fail)
    try:
        page = live.report(TEXT)
    finally:
        handle.remove()
    assert any("a fault (injected)" in note for note in page.notes), page.notes
    assert len(page) > 300_000  # the sections without a text


def test_refused_arguments_of_reports(live: Any) -> None:
    with pytest.raises(asc.UnsupportedError, match="base of report: not supported on a live model"):
        live.report(TEXT, base=str(MODEL))


def answer(server: Any, path: str, sent: Any = None) -> Any:
    data = None if sent is None else json.dumps(sent).encode()
    request = urllib.request.Request(server.address + path, data)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=30) as found:
        return json.loads(found.read())


def wait_for(server: Any, job: int) -> Any:
    for _ in range(300):
        state = answer(server, f"api/jobs/{job}")
        if state["state"] not in ("waiting", "running", "queued"):
            return state
        time.sleep(0.1)
    raise AssertionError(state)


def test_server(live: Any, passes: list[int]) -> None:
    with live.serve() as server:
        assert repr(server) == f"<attnscope.Server {server.address}>"
        assert f'href="{server.address}"' in server._repr_html_()
        state = wait_for(server, answer(server, "api/attention", {"text": TEXT})["job"])
        assert state["error"] is None and passes  # it ran on the device
        assert "attention" in json.dumps(answer(server, "api/results"))
        passes.clear()
        assert live.ablate(TEXT, components="layers")["layer"][0] == 0  # the module is free
        state = wait_for(server, answer(server, "api/analyses", {"id": "spectrum"})["job"])
        assert state["error"] is None
        address = server.address
        with pytest.raises(asc.IoError):
            live.serve(port=int(address.rstrip("/").rpartition(":")[2]))
    assert repr(server) == "<attnscope.Server stopped>"
    with pytest.raises(OSError, match=r"refused|urlopen"):
        urllib.request.urlopen(address, timeout=5)


def test_server_with_a_token(live: Any) -> None:
    with live.serve(token="a-secret-of-me") as server:
        assert server.address.endswith("/?token=a-secret-of-me")
    with pytest.raises(asc.UsageError, match="token"):
        live.serve(token="short")


# ---- maps, views and grids ----


def test_maps_and_views(live: Any) -> None:
    file = asc.open(MODEL)
    table, expected = live.attention(TEXT, maps=True), file.attention(TEXT, maps=True)
    assert table.arrays.keys() >= {"layers", "attentions", "tokens"}
    for name in ("layers", "tokens"):
        assert table.arrays[name].ravel().tolist() == expected.arrays[name].ravel().tolist()
    np.testing.assert_allclose(table.arrays["attentions"], expected.arrays["attentions"], atol=1e-5)
    assert table.tokens == expected.tokens
    np.testing.assert_allclose(table.to_numpy("entropy"), expected.to_numpy("entropy"), atol=1e-4)
    plain = live.attention(TEXT)
    assert "attentions" not in plain.arrays
    found, other = plain._maps(None), expected._maps(None)
    assert (found.model, found.layers, found.tokens) == (other.model, other.layers, other.tokens)
    np.testing.assert_allclose(found.values, other.values, atol=1e-5)
    for view in (plain.view(layer=1, head=2), plain.grid()):
        assert "iframe" in view._repr_html_()


def test_view_of_stored_rows(live: Any, tmp_path: pathlib.Path) -> None:
    store = tmp_path / "rows.sqlite"
    live.attention(TEXT, store=store, layers=[1, 2])
    table = live.attention(TEXT, store=store, layers=[1, 2])
    assert table._maps(None).layers == [1, 2]
    assert live.attention(TEXT, store=store, layers=[1, 2], maps=True).arrays["attentions"].shape[0] == 2


def test_view_of_several_texts_has_the_first(live: Any) -> None:
    table = live.attention(["To be", TEXT])
    assert [text for _, text in table._maps(None).tokens] == ["To", " be"]


def test_refused_arguments_of_attention(live: Any) -> None:
    with pytest.raises(asc.UnsupportedError, match="maps_of of attention: not supported"):
        live.attention(TEXT, maps=True, maps_of="mean")
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(TypeError, match="executor: not supported with a live model"):
            live.attention(TEXT, executor=executor)
