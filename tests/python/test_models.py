"""Models on the Hugging Face hub, and weights in memory."""

import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import attnscope as asc

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

CONFIG: dict[str, Any] = {
    "model_type": "gpt2",
    "n_embd": 48,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 32,
    "vocab_size": 40,
}


def weights() -> dict[str, Any]:
    generator = np.random.default_rng(3)
    width = CONFIG["n_embd"]
    shapes: dict[str, tuple[int, ...]] = {
        "wte.weight": (40, width),
        "wpe.weight": (32, width),
        "ln_f.weight": (width,),
        "ln_f.bias": (width,),
    }
    for layer in range(2):
        for name, shape in {
            "ln_1.weight": (width,),
            "ln_1.bias": (width,),
            "attn.c_attn.weight": (width, 3 * width),
            "attn.c_attn.bias": (3 * width,),
            "attn.c_proj.weight": (width, width),
            "attn.c_proj.bias": (width,),
            "ln_2.weight": (width,),
            "ln_2.bias": (width,),
            "mlp.c_fc.weight": (width, 4 * width),
            "mlp.c_fc.bias": (4 * width,),
            "mlp.c_proj.weight": (4 * width, width),
            "mlp.c_proj.bias": (width,),
        }.items():
            shapes[f"h.{layer}.{name}"] = shape
    return {
        name: generator.standard_normal(shape).astype("float32") for name, shape in shapes.items()
    }


def write_checkpoint(folder: pathlib.Path, arrays: dict[str, Any]) -> pathlib.Path:
    """Write a folder with config.json and model.safetensors."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    header: dict[str, Any] = {}
    data = b""
    for name, array in arrays.items():
        begin = len(data)
        data += np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": "F32", "shape": list(array.shape), "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    return folder


def same_rows(one: asc.Table, other: asc.Table) -> bool:
    def rows(table: asc.Table) -> Any:
        return [row | {"model": ""} for row in json.loads(table.to_json())["rows"]]

    return bool(rows(one) == rows(other))


@pytest.mark.parametrize(
    ("command", "keywords"),
    [
        ("spectrum", {"per_head": True, "values": True}),
        ("circuits", {}),
        ("weights", {"histogram": True}),
        ("similarity", {"overlap": True}),
        ("predict", {"tokens": [1, 2, 3, 4]}),
        ("attention", {"tokens": [1, 2, 3, 4]}),
        ("info", {}),
    ],
)
def test_arrays_match_files(command: str, keywords: dict[str, Any], tmp_path: Any) -> None:
    arrays = weights()
    file = asc.open(write_checkpoint(tmp_path / "model", arrays))
    memory = asc.open(arrays, config=CONFIG)
    run = getattr(asc, command)
    assert same_rows(run(memory, **keywords), run(file, **keywords))
    info = {**file.info, "name": ""}
    assert {**memory.info, "name": ""} | {"bytes": 0} == info | {"bytes": 0}


def test_array_layouts(tmp_path: Any) -> None:
    arrays = weights()
    expected = asc.open(arrays, config=CONFIG).spectrum(values=True)
    frozen = {name: array.copy() for name, array in arrays.items()}
    for array in frozen.values():
        array.setflags(write=False)
    wide = {name: np.repeat(array, 2, axis=-1)[..., ::2] for name, array in arrays.items()}
    for other in (
        frozen,
        wide,
        {name: np.asfortranarray(array) for name, array in arrays.items()},
        {name: array.astype(">f4") for name, array in arrays.items()},
        {"_orig_mod.module." + name: array for name, array in arrays.items()},
    ):
        assert same_rows(asc.open(other, config=CONFIG).spectrum(values=True), expected)


def test_changes_in_memory_are_used(tmp_path: Any) -> None:
    arrays = weights()
    model = asc.open(arrays, config=CONFIG)
    store = tmp_path / "store.sqlite"
    before = model.spectrum(matrix="q", store=store)["frobenius_norm"][0]
    arrays["h.0.attn.c_attn.weight"] *= 2
    assert model.spectrum(matrix="q", store=store)["frobenius_norm"][0] == pytest.approx(2 * before)
    assert model.spectrum(matrix="q")["frobenius_norm"][0] == pytest.approx(2 * before)


def test_two_models_with_one_name() -> None:
    table = asc.spectrum(
        [asc.open(weights(), config=CONFIG, name="mine") for _ in range(2)], matrix="q"
    )
    assert len(set(table["model"])) == 2
    assert asc.open(weights(), config=CONFIG, name="mine").name == "mine"


def test_invalid_models_in_memory() -> None:
    with pytest.raises(TypeError, match="config"):
        asc.open(weights())
    with pytest.raises(TypeError, match="wte.weight"):
        asc.open({"wte.weight": "text"}, config=CONFIG)
    with pytest.raises(TypeError, match="expected a str as tensor name, not int"):
        asc.open({1: np.eye(2)}, config=CONFIG)
    for keyword in ("config", "tokenizer", "name", "layout"):
        with pytest.raises(ValueError, match=f"^{keyword}: .* is not UTF-8$"):
            asc.open(weights(), **({"config": CONFIG} | {keyword: "\udcff"}))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(asc.open(weights(), config=CONFIG))
    with pytest.raises(asc.FormatError, match="h.1.attn") as wrong:
        asc.open(weights() | {"h.1.attn.c_attn.weight": np.zeros((3, 3))}, config=CONFIG).predict(
            tokens=[1]
        )
    assert wrong.value.tensor == "h.1.attn.c_attn.weight"


@pytest.mark.long
def test_weights_in_memory_are_not_copied() -> None:
    """Check that the spectra of 400 MB need far less than 400 MB of additional memory."""
    code = """
import resource, sys
import numpy as np
import attnscope as asc
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
width, layers = 1024, 8
config = {"model_type": "gpt2", "n_embd": width, "n_layer": layers, "n_head": 16, "n_positions": 8, "vocab_size": 8}
generator = np.random.default_rng(1)
arrays = {}
for layer in range(layers):
    for name, shape in {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width),
                        "mlp.c_fc": (width, 4 * width), "mlp.c_proj": (4 * width, width)}.items():
        arrays[f"h.{layer}.{name}.weight"] = generator.standard_normal(shape, dtype=np.float32)
before, held = peak(), sum(array.nbytes for array in arrays.values())
table = asc.open(arrays, config=config).weights(threads=2)
table = asc.open(arrays, config=config).spectrum(matrix=["q", "o"], layers=[0, 1], threads=2)
print(held, peak() - before)
"""
    held, more = map(int, subprocess.check_output([sys.executable, "-c", code]).split())
    assert held > 400e6
    assert more < held / 4


def test_live_module() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    module = transformers.GPT2LMHeadModel(transformers.GPT2Config(**CONFIG))
    model = asc.open(module)
    query = module.transformer.h[0].attn.c_attn.weight.detach()[:, :48].double()
    norm = float(torch.linalg.matrix_norm(query))
    assert model.spectrum(matrix="q")["frobenius_norm"][0] == pytest.approx(norm)


@pytest.fixture
def hub(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """Start a local hub with org/model. Return its folder."""
    write_checkpoint(tmp_path / "hub/models/org/model/main", weights())
    server = subprocess.Popen(
        [sys.executable, ROOT / "tests/hub/hub_server.py", tmp_path / "hub"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )
    assert server.stdout is not None
    for name in list(os.environ):
        if name.startswith("HF_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_ENDPOINT", server.stdout.readline().strip())
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "*")
    yield tmp_path / "hub"
    server.kill()
    server.wait()


def test_hub_name(hub: pathlib.Path) -> None:
    expected = asc.open(hub / "models/org/model/main").spectrum(matrix="q")
    remote = asc.open("org/model", remote=True)
    assert same_rows(remote.spectrum(matrix="q"), expected)
    assert same_rows(asc.spectrum("org/model", remote=True, matrix="q"), expected)
    assert not list((hub.parent / "cache").rglob("*.safetensors"))
    assert remote.name == "model"

    model = asc.open("org/model", progress=True)
    assert list((hub.parent / "cache").rglob("*.safetensors"))
    shutil.rmtree(hub / "models/org")
    assert same_rows(model.spectrum(matrix="q"), expected)
    assert same_rows(pickle.loads(pickle.dumps(model)).spectrum(matrix="q"), expected)
    with pytest.raises(asc.IoError, match="org/other"):
        asc.open("org/other")


def test_several_revisions(hub: pathlib.Path) -> None:
    for step in (1000, 2000):
        shutil.copytree(hub / "models/org/model/main", hub / f"models/org/model/step{step}")
    with pytest.raises(asc.UsageError, match="2 models"):
        asc.open("org/model@step*", remote=True)
    table = asc.spectrum("org/model@step*", remote=True, matrix="q")
    assert sorted(set(table["model"])) == ["model@step1000", "model@step2000"]


def test_null_in_a_list_is_nan() -> None:
    arrays = weights()
    arrays["h.0.attn.c_attn.weight"][:, :12] = 0  # the first head of W_Q
    table = asc.open(arrays, config=CONFIG).similarity(overlap=True, layers=0)
    expected = json.loads(table.to_json())["rows"][0]["overlap"]
    assert expected[0][1] is None
    found = np.asarray(table["overlap"][0])
    assert np.isnan(found[0]).all() and np.isnan(found[:, 0]).all()
    assert found[1, 2] == expected[1][2]
