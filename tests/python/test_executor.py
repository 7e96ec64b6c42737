"""Computation in other processes gives identical bytes, even if workers die."""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from time_limit import ENVIRONMENT

pytestmark = pytest.mark.long

CASES: list[tuple[str, dict[str, Any]]] = [
    ("spectrum", {"matrix": ["q", "qk", "kv"], "per_head": True, "values": True}),
    ("weights", {"histogram": True, "layers": 0}),
    ("similarity", {"overlap": True}),
    ("circuits", {"layers": 0}),
    ("circuits", {"composition": True}),
    ("attention", {"text": "To be, or not to be"}),
    ("attention", {"induction": True, "sequences": 2}),
    ("attention", {"text": "To be,", "text_pair": "or not to be"}),
    ("lens", {"text": "To be, or not to be"}),
    ("ablate", {"text": "To be, or not to be", "components": "heads", "layers": [0, 1]}),
    ("ablate", {"induction": True, "sequences": 2, "layers": 0}),
]

KINDS = ["threads", "spawn", "fork", "dask"]


@contextlib.contextmanager
def dask_executor() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


@contextlib.contextmanager
def started(kind: str) -> Iterator[Any]:
    if kind == "dask":
        with dask_executor() as executor:
            yield executor
    elif kind == "threads":
        with ThreadPoolExecutor(2) as executor:
            yield executor
    else:
        with ProcessPoolExecutor(2, mp_context=get_context(kind)) as executor:
            yield executor


@pytest.fixture(scope="module", params=KINDS)
def executor(request: pytest.FixtureRequest) -> Any:
    with started(request.param) as executor:
        yield executor


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a model whose items take about 50 ms each."""
    folder = tmp_path_factory.mktemp("wide")
    layers, width = 4, 768
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": width,
        "intermediate_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": 12,
        "vocab_size": 16,
        "rms_norm_eps": 1e-5,
    }
    (folder / "config.json").write_text(json.dumps(config))
    names = ["embed_tokens.weight", "norm.weight"]
    for layer in range(layers):
        names += [f"layers.{layer}.self_attn.{which}_proj.weight" for which in "qkvo"]
        names += [f"layers.{layer}.mlp.{which}_proj.weight" for which in ("gate", "up", "down")]
        names += [f"layers.{layer}.{which}_layernorm.weight" for which in ("input", "post_attention")]
    header: dict[str, Any] = {}
    end = 0
    for name in names:
        shape = [width] if "norm" in name else [16 if "embed" in name else width, width]
        begin, end = end, end + 4 * int(np.prod(shape))
        header[f"model.{name}"] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    values = np.random.default_rng(1).standard_normal(end // 4, dtype=np.float32)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.write(values.data)
    return str(folder)


@pytest.mark.parametrize(("name", "keywords"), CASES)
def test_rows_are_equal(name: str, keywords: dict[str, Any], gpt2: str, executor: Any) -> None:
    model = asc.open(gpt2)
    here = getattr(model, name)(**keywords)
    elsewhere = getattr(model, name)(**keywords, executor=executor)
    assert elsewhere.to_json() == here.to_json()


def test_low_rank_plans_are_equal(gpt2: str, executor: Any, tmp_path: pathlib.Path) -> None:
    tokens = np.random.default_rng(3).integers(0, 40, 400).astype("<u2")
    shard = tmp_path / "text.bin"
    header = np.zeros(256, "<i4")
    header[:3] = 20240520, 1, len(tokens)
    shard.write_bytes(header.tobytes() + tokens.tobytes())
    keywords: dict[str, Any] = {"method": "low-rank", "keep": "0.7", "probe_tokens": 20}
    keywords |= {"calibration_token_file": shard, "length": 8, "sequences": 16}
    model = asc.open(gpt2)
    here = model.plan(**keywords)
    assert model.plan(**keywords, executor=executor).to_json() == here.to_json()


def test_two_models(gpt2: str, llama: str, executor: Any) -> None:
    here = asc.spectrum([gpt2, llama], matrix="q")
    assert asc.spectrum([gpt2, llama], matrix="q", executor=executor).to_json() == here.to_json()


def test_maps_in_memory(gpt2: str, executor: Any) -> None:
    model = asc.open(gpt2)
    elsewhere = model.attention("To be", maps=True, executor=executor)
    here = model.attention("To be", maps=True)
    assert elsewhere.to_json() == here.to_json()
    assert (elsewhere.arrays["attentions"] == here.arrays["attentions"]).all()


def test_one_store_collects_all_rows(
    gpt2: str, executor: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = asc.open(gpt2)
    store = str(tmp_path / "rows.sqlite")
    here = model.spectrum(matrix="q").to_json()
    assert model.spectrum(matrix="q", store=store, executor=executor).to_json() == here

    def submit(*_: object) -> None:
        raise AssertionError("the store has all that is asked for")

    monkeypatch.setattr(executor, "submit", submit)
    assert model.spectrum(matrix="q", store=store, executor=executor).to_json() == here


def test_errors_of_workers_are_unchanged(
    gpt2: str, executor: Any, tmp_path: pathlib.Path
) -> None:
    """Replace the file before workers open it."""
    folder = tmp_path / "model"
    shutil.copytree(gpt2, folder)
    model = asc.open(str(folder))
    file = folder / "model.safetensors"
    content = file.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    tensor = next(name for name in header if name.endswith("attn.c_attn.weight"))
    header[tensor]["shape"][0] += 1
    text = json.dumps(header).encode()
    (folder / "other").write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    (folder / "other").rename(file)
    with pytest.raises(asc.FormatError) as here:
        asc.open(str(folder))
    with pytest.raises(asc.FormatError) as elsewhere:
        model.spectrum(matrix="q", executor=executor)
    assert str(elsewhere.value) == str(here.value)
    assert elsewhere.value.exit_code == here.value.exit_code
    assert elsewhere.value.file == str(file)
    assert elsewhere.value.tensor == tensor
    assert elsewhere.value.problem == here.value.problem


def test_relative_paths_in_other_working_folders(
    gpt2: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=os.chdir, initargs=("/",)
    ) as pool:
        monkeypatch.chdir(gpt2)
        here = asc.spectrum(".", matrix="q").to_json()
        assert asc.spectrum(".", matrix="q", executor=pool).to_json() == here


class Broken(Executor):
    """An executor that returns no results: one future fails, the others never finish."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        self.futures.append(Future())
        if len(self.futures) == 5:
            self.futures[-1].set_exception(ConnectionError("no worker"))
        return self.futures[-1]


def test_error_of_one_item_cancels_the_others(gpt2: str) -> None:
    executor = Broken()
    with pytest.raises(ConnectionError, match="no worker"):
        asc.open(gpt2).spectrum(executor=executor)
    assert sum(future.cancelled() for future in executor.futures) == len(executor.futures) - 1


def kill_in_the_middle(
    executor: Any, worker: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> Callable[[], int]:
    """Kill a worker after three finished items. Return a function that counts submitted items."""
    submit = executor.submit
    handed_over, finished = itertools.count(), itertools.count()

    def look(_: Any) -> None:
        if next(finished) == 2:
            os.kill(worker(), signal.SIGKILL)

    def submit_and_look(*given: Any) -> Any:
        next(handed_over)
        future = submit(*given)
        future.add_done_callback(look)
        return future

    monkeypatch.setattr(executor, "submit", submit_and_look)
    return lambda: next(handed_over)


ALL: dict[str, Any] = {"matrix": ["q", "k", "v", "o", "qk", "ov"], "per_head": True}


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_pool_with_a_killed_worker(
    method: str, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = asc.open(wide)
    here = model.spectrum(**ALL).to_json()
    with started(method) as pool:
        kill_in_the_middle(pool, lambda: next(iter(pool._processes)), monkeypatch)
        with pytest.warns(RuntimeWarning, match="died 1 time "):
            assert model.spectrum(**ALL, executor=pool).to_json() == here
        with pytest.raises(BrokenProcessPool):
            pool.submit(int)
        with pytest.warns(RuntimeWarning):  # a pool that was already broken also works
            assert model.spectrum(matrix="q", executor=pool).to_json() == model.spectrum(
                matrix="q"
            ).to_json()


def test_dask_with_a_killed_worker(wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = asc.open(wide)
    here = model.spectrum(**ALL).to_json()
    with dask_executor() as executor:
        workers = executor._client.run(os.getpid)
        assert len(workers) == 2
        kill_in_the_middle(executor, lambda: next(iter(workers.values())), monkeypatch)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert model.spectrum(**ALL, executor=executor).to_json() == here
        assert executor._client.run(os.getpid) != workers


def test_pool_whose_workers_all_die(gpt2: str) -> None:
    with ProcessPoolExecutor(
        2, mp_context=get_context("spawn"), initializer=os._exit, initargs=(9,)
    ) as pool:
        with pytest.raises(BrokenProcessPool, match="3 times in a row"):
            asc.open(gpt2).spectrum(executor=pool)


def test_mpi(gpt2: str) -> None:
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which(
        "mpiexec"
    )
    if mpiexec is None:
        pytest.skip("no mpiexec")
    ranks = pathlib.Path(__file__).with_name("mpi_ranks.py")
    done = subprocess.run(
        [mpiexec, "-n", "2", sys.executable, "-m", "mpi4py.futures", str(ranks), gpt2],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"WORKERS": "1"},
    )
    assert done.stdout == "the same\n", done.stderr


def test_interrupt(wide: str) -> None:
    """Interrupt only this process. An interrupt that also ends workers may leave a pool that cannot shut down."""
    code = textwrap.dedent("""
        import os, signal, sys
        from concurrent.futures import Future, ProcessPoolExecutor
        from multiprocessing import get_context
        import attnscope
        from time_limit import GivenTime
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
        pool = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
        submit, futures, sent = pool.submit, [], []
        def interrupt(_):
            if not sent:
                sent.append(GivenTime())
                os.kill(os.getpid(), signal.SIGINT)
        def watched(*given):
            futures.append(submit(*given))
            futures[-1].add_done_callback(interrupt)
            return futures[-1]
        pool.submit = watched
        model = attnscope.open(sys.argv[1])
        try:
            model.spectrum(matrix=["q", "k", "v", "o", "qk", "ov"], per_head=True, executor=pool)
        except KeyboardInterrupt:
            seconds = sent[0].seconds()
        pool.shutdown()
        print(seconds, sum(future.cancelled() for future in futures))
    """)
    done = subprocess.run(
        [sys.executable, "-c", code, wide], capture_output=True, timeout=600,
        start_new_session=True, env=ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    seconds, cancelled = done.stdout.split()
    assert float(seconds) < 1
    assert int(cancelled) > 0  # all except finished, running and next items


@pytest.mark.parametrize("gives", [None, "a text", 3])
@pytest.mark.parametrize("in_a_future", [False, True])
def test_invalid_outcomes(gpt2: str, gives: Any, in_a_future: bool) -> None:
    class Odd(Executor):
        def submit(self, *_: Any, **__: Any) -> Any:
            future: Future[Any] = Future()
            future.set_result(gives)
            return future if in_a_future else gives

    message = "outcomes" if in_a_future else "not a Future"
    with pytest.raises((TypeError, asc.FormatError), match=message):
        asc.open(gpt2).spectrum(executor=Odd())


def test_invalid_executor(gpt2: str) -> None:
    with pytest.raises(TypeError, match="executor: expected a concurrent.futures executor, not int"):
        asc.open(gpt2).spectrum(executor=3)  # type: ignore[arg-type]
