"""Work in other processes gives the same rows to the byte."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

import attnscope as asc

CASES: list[tuple[str, dict[str, Any]]] = [
    ("spectrum", {"matrix": ["q", "qk", "kv"], "per_head": True, "values": True}),
    ("weights", {"histogram": True, "layers": 0}),
    ("similarity", {"overlap": True}),
    ("circuits", {"layers": 0}),
    ("attention", {"text": "To be, or not to be"}),
    ("attention", {"induction": True, "sequences": 2}),
]


@pytest.fixture(scope="module")
def executor() -> Any:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize(("name", "keywords"), CASES)
def test_rows_are_the_same(name: str, keywords: dict[str, Any], gpt2: str, executor: Any) -> None:
    model = asc.open(gpt2)
    here = getattr(model, name)(**keywords)
    elsewhere = getattr(model, name)(**keywords, executor=executor)
    assert elsewhere.to_json() == here.to_json()


def test_two_models(gpt2: str, llama: str, executor: Any) -> None:
    here = asc.spectrum([gpt2, llama], matrix="q")
    assert asc.spectrum([gpt2, llama], matrix="q", executor=executor).to_json() == here.to_json()


def test_what_a_worker_raises_ends_the_run(gpt2: str) -> None:
    class Broken:
        def submit(self, *_: object) -> None:
            raise ConnectionError("no worker")

    with pytest.raises(ConnectionError, match="no worker"):
        asc.open(gpt2).spectrum(matrix="q", executor=Broken())  # type: ignore[arg-type]
