"""Keywords, errors, additional arrays, pages."""

import inspect
import json
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from attnscope import _core

TEXT = "To be, or not to be"


def test_keywords_are_described(gpt2: str) -> None:
    signature = inspect.signature(asc.Model.spectrum)
    assert {"matrix", "per_head", "energy", "progress"} <= set(signature.parameters)
    assert "format" not in signature.parameters
    assert "stable_rank" in (asc.spectrum.__doc__ or "")
    with pytest.raises(TypeError):
        asc.open(gpt2).spectrum(per_heads=True)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"per_head": 1}, "per_head: expected True or False"),
        ({"layers": 1.5}, "layers: expected an int"),
        ({"energy": "much"}, "energy"),
        ({"threads": True}, "threads: expected an int"),
        ({"matrix": [1]}, "matrix: expected a name"),
    ],
)
def test_wrong_values(gpt2: str, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, asc.UsageError), match=message):
        asc.open(gpt2).spectrum(**keywords)


def test_a_pair_has_two_entries(gpt2: str) -> None:
    for receiver in ([3], (1, 2, 3)):
        with pytest.raises(TypeError, match="receiver: expected a head such as 'L5H3'"):
            asc.open(gpt2).ablate(induction=True, receiver=receiver)


@pytest.mark.parametrize("keep", [1.5, "1.5"])
def test_amounts_as_numbers_or_texts(gpt2: str, keep: float | str) -> None:
    with pytest.raises(asc.UsageError, match="a share greater than 0"):
        asc.open(gpt2).plan(method="mlp", keep=keep)


def test_several_texts(gpt2: str) -> None:
    rows = list(asc.predict(gpt2, text=["To be", "Good night"], top=1))
    assert [row["sequence"] for row in rows] == [0, 1]
    alone = next(iter(asc.predict(gpt2, text="Good night", top=1)))
    assert rows[1]["token_id"] == alone["token_id"]
    with pytest.raises(TypeError, match="text: expected a str or a list of str"):
        asc.predict(gpt2, text=[1.5])  # type: ignore[arg-type]


def test_tokens_as_texts_or_ids(gpt2: str) -> None:
    model = asc.open(gpt2)
    by_text = model.predict("To be, or not to", attribution=True, token=" be")
    token = by_text.models[0]["attributed"]["token"]
    assert token["text"] == " be"
    by_id = model.predict("To be, or not to", attribution=True, token=token["id"])
    assert by_id.models == by_text.models
    with pytest.raises(TypeError, match="token: expected a str, or an int for a token id"):
        model.predict("To be", attribution=True, token=1.5)  # type: ignore[arg-type]


def test_errors_correspond_to_exit_codes(gpt2: str, tmp_path: Any) -> None:
    assert [kind for kind, _ in _core.error_kinds()] == [
        "usage", "io", "format", "unsupported", "numerical",
    ]
    with pytest.raises(asc.UsageError, match="no_such") as usage:
        asc.open(gpt2).spectrum(matrix="no_such")
    assert usage.value.parameter == "matrix"
    assert usage.value.exit_code == 2
    assert isinstance(usage.value, ValueError)
    with pytest.raises(asc.IoError) as missing:
        asc.open(tmp_path / "nothing")
    assert missing.value.file is not None and "nothing" in missing.value.file
    assert isinstance(missing.value, OSError) and isinstance(missing.value, asc.Error)
    (tmp_path / "model.safetensors").write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ")
    with pytest.raises(asc.IoError) as config:
        asc.open(tmp_path)
    assert config.value.hint is not None


def test_weights_without_finite_values(tmp_path: Any) -> None:
    with pytest.raises(asc.NumericalError, match="NaN"):
        asc.spectrum(np.full((3, 4), np.nan, dtype=np.float32))


def test_maps_as_arrays(gpt2: str) -> None:
    model = asc.open(gpt2)
    maps = model.attention(TEXT, maps=True).arrays["attentions"]
    layers, heads, length, _ = maps.shape
    assert layers == model.info["layers"] and heads == model.info["heads"]
    np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)
    run = model.predict(TEXT, save=True).arrays
    np.testing.assert_array_equal(run["attentions"], maps)
    assert run["logits"].shape[0] == length
    assert run["hidden_states"].shape[:2] == (layers + 1, length)


def test_files_are_written_atomically(gpt2: str, tmp_path: Any) -> None:
    asc.open(gpt2).attention(TEXT, maps=tmp_path / "maps.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["maps.safetensors"]
    with pytest.raises(asc.IoError, match="nowhere/maps.safetensors: cannot write") as failed:
        asc.open(gpt2).attention(TEXT, maps=tmp_path / "nowhere/maps.safetensors")
    assert failed.value.file == str(tmp_path / "nowhere/maps.safetensors")


def test_symbolic_links_are_followed(gpt2: str, tmp_path: pathlib.Path) -> None:
    file, link = tmp_path / "maps.safetensors", tmp_path / "link"
    file.write_bytes(b"before")
    link.symlink_to(file)
    asc.open(gpt2).attention(TEXT, maps=link)
    assert link.is_symlink() and len(file.read_bytes()) > 1000
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    asc.open(gpt2).attention(TEXT, maps=tmp_path / "new.safetensors")
    assert (tmp_path / "new.safetensors").stat().st_mode == plain.stat().st_mode
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_pipes_are_written_directly(gpt2: str, tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(pipe.read_bytes)
        asc.open(gpt2).report(text=TEXT, layers=0).save(pipe)
        assert reader.result().lstrip().lower().startswith(b"<!doctype html")
    assert pipe.is_fifo()


def test_report(gpt2: str, tmp_path: Any) -> None:
    page = asc.open(gpt2).report(text=TEXT, layers=0)
    page.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page.html
    assert page.html.lstrip().lower().startswith("<!doctype html")
    assert "<iframe srcdoc=" in page._repr_html_()


def test_models_are_pickled_by_path(gpt2: str) -> None:
    model = pickle.loads(pickle.dumps(asc.open(gpt2)))
    assert model.name == "shakespeare-gpt2"


def test_open_models_are_not_reopened(gpt2: str, tmp_path: Any) -> None:
    import shutil

    copy = shutil.copytree(gpt2, tmp_path / "model")
    model = asc.open(copy)
    expected = model.spectrum(matrix="q").to_json()
    for file in copy.iterdir():
        file.unlink()
    assert model.spectrum(matrix="q").to_json() == expected


def scaled(folder: Any, factor: float) -> None:
    """Replace a checkpoint by one with scaled weights. As programs do, write a new file and rename it."""
    shape = {"n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 5, "n_positions": 6}
    header, data = {}, b""
    for name, rows, cols in (
        ("wte.weight", 5, 8),
        ("wpe.weight", 6, 8),
        ("h.0.attn.c_attn.weight", 8, 24),
        ("h.0.attn.c_proj.weight", 8, 8),
        ("h.0.mlp.c_fc.weight", 8, 32),
        ("h.0.mlp.c_proj.weight", 32, 8),
    ):
        values = [factor * ((7 * at) % 11 - 5) for at in range(rows * cols)]
        end = len(data) + 4 * len(values)
        header[name] = {"dtype": "F32", "shape": [rows, cols], "data_offsets": [len(data), end]}
        data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(header).encode()
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2"} | shape))
    new = folder / "new"
    new.write_bytes(struct.pack("<Q", len(text)) + text + data)
    new.rename(folder / "model.safetensors")


def norms(table: asc.Table) -> dict[str, float]:
    return dict(zip(table["model"], table["frobenius_norm"], strict=True))


def test_models_of_one_path_keep_their_files(tmp_path: Any) -> None:
    folder = tmp_path / "model"
    scaled(folder, 1)
    before = asc.open(folder)
    scaled(folder, 3)
    # Another spelling of the same path.
    after = asc.open(tmp_path / "." / "model")
    again = asc.open(f"{folder}/../model")
    one = before.spectrum(matrix="q")["frobenius_norm"][0]
    for second in (after, again):
        assert norms(asc.spectrum([before, second], matrix="q")) == {
            "model": pytest.approx(one),
            "model#2": pytest.approx(3 * one),
        }
        assert norms(asc.spectrum([second, before], matrix="q")) == {
            "model": pytest.approx(3 * one),
            "model#2": pytest.approx(one),
        }
        changed = asc.diff([before, second], matrix="q")
        assert changed["relative_change"][0] == pytest.approx(2)
    three = norms(asc.spectrum([before, after, again], matrix="q"))
    assert list(three) == ["model", "model#2", "model#3"]
    # The same object is one model. A path refers to the file that is there now.
    assert list(norms(asc.spectrum([before, before], matrix="q"))) == ["model"]
    scaled(folder, 5)
    assert sorted(norms(asc.spectrum([before, folder, after], matrix="q")).values()) == [
        pytest.approx(one),
        pytest.approx(3 * one),
        pytest.approx(5 * one),
    ]


def test_name_of_a_second_model_is_not_an_existing_path(tmp_path: Any) -> None:
    folder = tmp_path / "model"
    scaled(folder, 1)
    scaled(tmp_path / "model#2", 7)
    models = [asc.open(folder), asc.open(folder), asc.open(tmp_path / "model#2")]
    one = models[0].spectrum(matrix="q")["frobenius_norm"][0]
    found = norms(asc.spectrum(models, matrix="q"))
    assert found == {
        "model": pytest.approx(one),
        "model#3": pytest.approx(one),
        "model#2": pytest.approx(7 * one),
    }


def test_replaced_files_are_not_sent_to_workers(tmp_path: Any) -> None:
    folder = tmp_path / "model"
    scaled(folder, 1)
    model = asc.open(folder)
    with ThreadPoolExecutor(1) as executor:
        expected = model.spectrum(matrix="q")["frobenius_norm"][0]
        sent = asc.spectrum([model, asc.open(folder)], matrix="q", executor=executor)
        assert list(norms(sent).values()) == [pytest.approx(expected)] * 2
        scaled(folder, 3)
        with pytest.raises(asc.IoError, match="was replaced since the model was opened"):
            model.spectrum(matrix="q", executor=executor)


def test_layout_of_an_open_model_applies_only_to_it(llama: str) -> None:
    data = pathlib.Path(__file__).parent.parent / "data"
    described = asc.open(data / "forward/gpt2", layout=data / "layouts/gpt2.json")
    with ThreadPoolExecutor(1) as executor:
        for own in (None, executor):
            table = asc.spectrum([described, llama], matrix="q", layers=0, executor=own)
            assert list(table["model"]) == ["gpt2", "shakespeare-llama"]


def test_warnings(gpt2: str, tmp_path: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asc.open(gpt2)


def test_import_loads_only_numpy() -> None:
    """Check that importing loads NumPy but no library that tables are only converted for."""
    code = (
        "import sys, numpy; before = set(sys.modules); import attnscope;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert "attnscope" in loaded
    assert loaded - {"attnscope", "numpy"} <= sys.stdlib_module_names | {"__mp_main__"}


def test_info(gpt2: str, program: str) -> None:
    printed = subprocess.check_output([program, "info", gpt2, "--format", "json"])
    info = asc.open(gpt2).info
    assert info["name"] == json.loads(printed)["models"][0]["name"]


def test_invalid_utf8_and_zero_bytes(gpt2: str) -> None:
    for call in (
        lambda: asc.open(b"\xff"),
        lambda: asc.spectrum("a\0b"),
        lambda: asc.open(gpt2).attention("\ud800"),
        lambda: asc.open(gpt2).spectrum(store="a\0b"),
    ):
        with pytest.raises(ValueError, match="not UTF-8|zero byte") as error:
            call()
        assert "\n" not in str(error.value)


def test_memory_sizes(gpt2: str) -> None:
    model = asc.open(gpt2)
    expected = model.spectrum(matrix="q").to_json()
    sizes: list[Any] = [1 << 30, np.int64(1 << 30), "1G", "512MiB"]
    for size in sizes:
        assert model.spectrum(matrix="q", memory=size).to_json() == expected
    with pytest.raises(asc.UsageError, match="memory"):
        model.spectrum(memory=0)


def test_directions_refuse_other_inputs_than_the_residual_stream() -> None:
    model = asc.open(pathlib.Path(__file__).resolve().parent.parent / "data/forward/zamba2")
    for tokens in (None, [5, 9, 3, 17]):
        with pytest.raises(asc.NumericalError, match="inputs other than the residual stream"):
            model.directions(tokens=tokens)
