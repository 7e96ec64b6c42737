"""Files that calls write: inputs are never overwritten, writes are atomic, and file modes are the usual ones."""

import os
import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import pytest

import attnscope as asc
from attnscope._files import write

TEXT = "To be, or not to be"


@pytest.fixture
def model(gpt2: str, tmp_path: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(gpt2, tmp_path / "model"))


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda model, file: asc.predict(model, text=TEXT, save=file),
    "attention": lambda model, file: asc.attention(model, text=TEXT, maps=file),
    "spectrum": lambda model, file: asc.spectrum(model, store=file),
    "weights": lambda model, file: asc.weights(model, store=file),
    "report": lambda model, file: asc.report(model, text=TEXT, store=file),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("is_open", [False, True])
def test_models_are_not_overwritten(model: pathlib.Path, call: str, name: str, is_open: bool) -> None:
    link = model.parent / "link"
    link.symlink_to(model / name)
    before = (model / name).read_bytes()
    with pytest.raises(asc.UsageError, match="is a file of the model 'model'"):
        CALLS[call](asc.open(model) if is_open else model, link)
    assert (model / name).read_bytes() == before


def test_other_inputs_are_not_overwritten(gpt2: str, tmp_path: pathlib.Path) -> None:
    book = tmp_path / "book"
    book.write_text(TEXT * 100)
    charts = tmp_path / "charts"
    charts.mkdir()
    os.link(book, charts / "loss.svg")
    for keywords in ({"maps": book}, {"store": book}):
        with pytest.raises(asc.UsageError, match="is the file passed to text_file"):
            asc.attention(gpt2, text_file=book, **keywords)  # type: ignore[arg-type]
    with pytest.raises(asc.UsageError, match="is the file passed to text_file"):
        asc.report(gpt2, text_file=book, charts=charts)
    assert book.read_text() == TEXT * 100


def test_endings_are_kept_to(gpt2: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(asc.UsageError, match=r"unsupported file extension: \.npz"):
        asc.predict(gpt2, text=TEXT, save=tmp_path / "run.npz")
    with pytest.raises(asc.UsageError, match=r"unsupported file extension: \.csv"):
        asc.spectrum(gpt2, store=tmp_path / "rows.csv")
    assert not list(tmp_path.iterdir())


def test_page_does_not_overwrite_its_model(model: pathlib.Path) -> None:
    page = asc.report(model, text=TEXT)
    before = (model / "config.json").read_bytes()
    with pytest.raises(asc.UsageError, match="is a file of the model 'model'"):
        page.save(model / "config.json")
    assert (model / "config.json").read_bytes() == before
    page.save(model / "report.html")
    assert (model / "report.html").read_text() == page.html


def test_modes_links_and_devices(tmp_path: pathlib.Path) -> None:
    content: Any = memoryview(b"content")
    holder: Any = type("Bytes", (), {"data": content})()
    usual = tmp_path / "usual"
    usual.write_bytes(b"")
    write(str(tmp_path / "made"), holder)
    assert (tmp_path / "made").read_bytes() == b"content"
    assert (tmp_path / "made").stat().st_mode == usual.stat().st_mode
    (tmp_path / "link").symlink_to(usual)
    write(str(tmp_path / "link"), holder)
    assert (tmp_path / "link").is_symlink() and usual.read_bytes() == b"content"
    write("/dev/null", holder)
    assert pathlib.Path("/dev/null").is_char_device()
    with pytest.raises(asc.IoError, match="absent"):
        write(str(tmp_path / "absent" / "file"), holder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "made", "usual"]
