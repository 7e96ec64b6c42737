"""Every command returns the same JSON and CSV bytes as the command line."""

import pathlib
import re
import subprocess
from typing import Any

import numpy as np
import pytest

import attnscope as asc

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXT = "To be, or not to be, that is the question"

CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("info", {}, []),
    ("spectrum", {}, []),
    (
        "spectrum",
        {"matrix": ["q", "k", "qk"], "per_head": True, "energy": [0.5, 0.9], "values": True},
        ["--matrix", "q,k,qk", "--per-head", "--energy", "0.5,0.9", "--values"],
    ),
    ("spectrum", {"rank": [4, "0.1D"], "layers": slice(0, 2)},
     ["--rank", "4,0.1D", "--layers", "0-1"]),
    ("spectrum", {"mla": True}, ["--mla"]),
    ("weights", {"per_head": True, "layers": [0, -1]}, ["--per-head", "--layers", "0,-1"]),
    ("weights", {"histogram": True, "bins": 20, "range": (-0.5, 0.5)},
     ["--histogram", "--bins", "20", "--range=-0.5,0.5"]),
    ("similarity", {"layers": 0}, ["--layers", "0"]),
    ("similarity", {"overlap": True, "layers": range(2)}, ["--overlap", "--layers", "0-1"]),
    ("similarity", {"head_matrix": (0, 1), "matrix": "q"},
     ["--head-matrix", "0,1", "--matrix", "q"]),
    ("matrix", {"layer": 0, "matrix": "q", "head": 1},
     ["--layer", "0", "--matrix", "q", "--head", "1"]),
    ("circuits", {"fold_norm": True, "layers": "0"}, ["--fold-norm", "--layers", "0"]),
    ("circuits", {"composition": True}, ["--composition"]),
    ("attention", {"text": TEXT}, ["--text", TEXT]),
    ("attention", {"tokens": [1, 2, 3, 4, 5], "exclude_first_token": True},
     ["--tokens", "1,2,3,4,5", "--exclude-first-token"]),
    ("attention", {"induction": True, "sequences": 2}, ["--induction", "--sequences", "2"]),
    ("attention", {"text": TEXT, "heatmap": (1, 0)}, ["--text", TEXT, "--heatmap", "1,0"]),
    ("predict", {"text": TEXT, "top": 3, "generate": 5},
     ["--text", TEXT, "--top", "3", "--generate", "5"]),
    ("predict", {"text": TEXT, "attribution": True}, ["--text", TEXT, "--attribution"]),
    ("lens", {"text": TEXT, "states": "resid_pre,resid_mid"}, ["--text", TEXT, "--states", "resid_pre,resid_mid"]),
    ("lens", {"text": TEXT, "states": ["attn_out", "mlp_out"]}, ["--text", TEXT, "--states", "attn_out,mlp_out"]),
    ("directions", {"matrix": "qk", "layers": 0, "top": 3},
     ["--matrix", "qk", "--layers", "0", "--top", "3"]),
    ("lens", {"text": TEXT, "grid": True}, ["--text", TEXT, "--grid"]),
    ("ablate", {"text": TEXT, "ablation": "zero", "layers": 0},
     ["--text", TEXT, "--ablation", "zero", "--layers", "0"]),
    ("ablate", {"text": TEXT, "heads": [(0, 1), "L2H3"]}, ["--text", TEXT, "--heads", "L0H1,L2H3"]),
    ("ablate", {"induction": True, "sequences": 2, "receiver": "L1H0"},
     ["--induction", "--sequences", "2", "--receiver", "L1H0"]),
    ("predict", {"text": TEXT, "perplexity": True}, ["--text", TEXT, "--perplexity"]),
    ("predict", {"text": TEXT, "perplexity": True, "score_positions": slice(3, None)},
     ["--text", TEXT, "--perplexity", "--score-positions", "3-"]),
    ("ablate", {"text": TEXT, "layers": 0, "score_positions": [2, range(4, 6), -1]},
     ["--text", TEXT, "--layers", "0", "--score-positions", "2,4-5,-1"]),
]


def printed(program: str, words: list[str]) -> str:
    done = subprocess.run([program, *words], capture_output=True, check=True)
    return done.stdout.decode()


@pytest.mark.parametrize(("name", "keywords", "words"), CASES)
def test_json_and_csv(
    name: str, keywords: dict[str, Any], words: list[str], gpt2: str, program: str
) -> None:
    model = asc.open(gpt2)
    table = asc.info(model) if name == "info" else getattr(model, name)(**keywords)
    assert table.to_json() == printed(program, [name, gpt2, *words, "--format", "json"])
    assert table.to_csv() == printed(program, [name, gpt2, *words, "--format", "csv"])


DATA = ROOT / "tests/data"
ODD = str(DATA / "images/odd.png")
STEPS = str(DATA / "audio/steps.wav")
OF_OTHER_INPUTS: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("stacks/vit", "attention", {"image": ODD}, ["--image", ODD]),
    ("stacks/vit", "attention", {"image": ODD, "heatmap": (0, 1)}, ["--image", ODD, "--heatmap", "0,1"]),
    ("stacks/vit", "predict", {"image": ODD, "top": 1}, ["--image", ODD, "--top", "1"]),
    ("stacks/wav2vec2", "attention", {"audio": STEPS, "layers": 0}, ["--audio", STEPS, "--layers", "0"]),
    ("encoder_decoders/t5", "attention", {"tokens": [3, 1, 4], "target_tokens": [0, 5]},
     ["--tokens", "3,1,4", "--target-tokens", "0,5"]),
    ("encoder_decoders/t5", "predict", {"tokens": [3, 1, 4], "generate": 3}, ["--tokens", "3,1,4", "--generate", "3"]),
    ("encoder_decoders/t5", "circuits", {"stack": "cross"}, ["--stack", "cross"]),
]


@pytest.mark.parametrize(("model", "name", "keywords", "words"), OF_OTHER_INPUTS)
def test_images_audio_and_targets(
    model: str, name: str, keywords: dict[str, Any], words: list[str], program: str
) -> None:
    path = str(DATA / model)
    table = getattr(asc, name)(path, **keywords)
    assert table.to_json() == printed(program, [name, path, *words, "--format", "json"])


@pytest.mark.parametrize(
    ("model", "keyword", "option", "shape"),
    [
        ("stacks/vit", "pixel_values", "--pixel-values", (2, 3, 16, 16)),
        ("stacks/wav2vec2", "features", "--features", (300,)),
        ("stacks/whisper", "features", "--features", (4, 20)),
    ],
)
def test_arrays_instead_of_files(
    model: str, keyword: str, option: str, shape: tuple[int, ...], program: str, tmp_path: pathlib.Path
) -> None:
    path = str(DATA / model)
    values = np.random.default_rng(3).standard_normal(shape)
    file = tmp_path / f"{keyword}.npy"
    np.save(file, values.astype(np.float32))
    words = ["attention", path, option, str(file), "--format", "json"]
    words += ["--stack", "encoder"] if model.endswith("whisper") else []
    stack: dict[str, Any] = {"stack": "encoder"} if model.endswith("whisper") else {}
    wanted = printed(program, words)
    wrong: dict[str, Any] = {keyword: {"a": 1}}
    for given in (values, values.astype(np.float32), np.asfortranarray(values), values.tolist()):
        assert asc.attention(path, **(stack | {keyword: given})).to_json() == wanted
    with pytest.raises(TypeError, match=f"{keyword}: expected a path or an array"):
        asc.attention(path, **wrong)
    with pytest.raises(TypeError, match="image: expected a path or a Pillow image"):
        asc.attention(path, image=values)


def test_pillow_image(program: str, tmp_path: pathlib.Path) -> None:
    image = pytest.importorskip("PIL.Image").open(ODD)
    image.save(tmp_path / "image.png")
    path = str(DATA / "stacks/vit")
    words = ["predict", path, "--image", str(tmp_path / "image.png"), "--format", "json"]
    assert asc.predict(path, image=image).to_json() == printed(program, words)


def test_every_command_is_a_case() -> None:
    from attnscope import _core

    rows = {command["name"] for command in _core.commands() if command["gives_rows"]}
    assert rows == {name for name, _, _ in CASES} | {"diff", "export", "experts", "plan", "shrink"}


def test_plan_shrink_and_diff(llama: str, program: str, tmp_path: pathlib.Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("".join(f"To be {line}, or not to be, that is the question.\n" * 3
                            for line in range(60)))
    keywords: dict[str, Any] = {"calibration_file": text, "length": 32, "sequences": 4, "set": "mlp=300"}
    words = ["--calibration-file", str(text), "--length", "32", "--sequences", "4", "--set", "mlp=300"]
    model = asc.open(llama)
    planned = model.plan(**keywords)
    assert planned.to_json() == printed(program, ["plan", llama, *words, "--format", "json"])
    plan = tmp_path / "plan.json"
    plan.write_text(planned.to_json())
    smaller = tmp_path / "smaller"
    table = model.shrink(plan, calibration_file=text, folder=smaller)
    assert {row["change"] for row in table} == {"kept", "cut"}
    assert asc.info(smaller).models[0]["intermediate_size"] == 300
    both = model.plan(**keywords | {"set": None}, method=["kv-heads", "depth"], kv_bytes="0.5")
    assert both.parameters["method"] == "kv-heads,depth" and sum(both.models[0]["plan"]["sizes"]) > 0
    # MLP pruning changes the MLP, but not the attention of the layers.
    changed = asc.diff([llama, smaller], matrix="q")
    assert set(changed["relative_change"]) == {0.0}


@pytest.mark.parametrize(("keywords", "words"), [
    ({}, []),
    ({"experts": "0,2", "energy": 0.9}, ["--experts", "0,2", "--energy", "0.9"]),
    ({"tokens": [1, 2, 3, 4, 5]}, ["--tokens", "1,2,3,4,5"]),
])
def test_experts(keywords: dict[str, Any], words: list[str], program: str) -> None:
    path = str(ROOT / "tests/data/forward/mixtral")
    table = asc.open(path).experts(**keywords)
    assert table.to_json() == printed(program, ["experts", path, *words, "--format", "json"])
    assert table.to_csv() == printed(program, ["experts", path, *words, "--format", "csv"])


def test_two_models(gpt2: str, llama: str, program: str) -> None:
    table = asc.spectrum([asc.open(gpt2), llama], matrix="q")
    expected = printed(program, ["spectrum", gpt2, llama, "--matrix", "q", "--format", "json"])
    assert table.to_json() == expected


def test_system(program: str) -> None:
    def but_free_memory(text: str) -> str:  # free memory changes over time
        text, found = re.subn(r"\d+ MiB free", "... free", text)
        assert found == 1
        return text

    expected = printed(program, ["info", "--system", "--format", "json"])
    assert but_free_memory(asc.info(system=True).to_json()) == but_free_memory(expected)


def test_store_and_export(gpt2: str, program: str, tmp_path: Any) -> None:
    store = tmp_path / "rows.sqlite"
    table = asc.open(gpt2).spectrum(matrix="q", store=store)
    assert asc.open(gpt2).spectrum(matrix="q", store=store).to_json() == table.to_json()
    expected = printed(program, ["export", str(store), "--format", "json"])
    assert asc.export(store).to_json() == expected
