"""Activation patching and path patching on live models: the rows of files."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import attnscope as asc

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")

FORWARD = pathlib.Path(__file__).resolve().parent.parent / "data/forward"

# Q, K and V in one transposed matrix; GQA; parallel attention and MLP, with Q, K and V by heads. Then
# norms of branches, norms of queries and keys, and layers without attention.
MODELS = {
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "gpt_neox": "GPTNeoXForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3": "Gemma3ForCausalLM",
    "lfm2": "Lfm2ForCausalLM",
}

PARTS = ["resid_pre", "attention", "mlp", "heads", "q", "k", "v"]
PROMPTS = [
    {"clean": "t5 t9 t3 t14", "corrupted": "t5 t9 t7 t14", "correct": "t8", "incorrect": "t11"},
    {"clean": "t6 t4 t2 t1", "corrupted": "t6 t3 t2 t1", "correct": "t10", "incorrect": "t1"},
]


def module_of(name: str) -> Any:
    kind = getattr(transformers, MODELS[name])
    return kind.from_pretrained(FORWARD / name, dtype=torch.float32)


def words(count: int) -> str:
    """A tokenizer whose token number N is the word tN."""
    vocabulary = {f"t{number}": number for number in range(count)}
    return json.dumps({
        "version": "1.0", "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "t0"},
    })


def both(module: Any) -> tuple[asc.LiveModel, asc.Model]:
    tokenizer = words(module.config.vocab_size)
    return asc.live(module, tokenizer), asc.open(module, tokenizer=tokenizer)


@pytest.fixture
def prompts(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(map(json.dumps, PROMPTS)))
    return path


@pytest.fixture
def uneven(tmp_path: pathlib.Path) -> pathlib.Path:
    """Prompts of different lengths."""
    path = tmp_path / "uneven.jsonl"
    shorter = {"clean": "t6 t4", "corrupted": "t6 t2", "correct": "t3", "incorrect": "t12"}
    path.write_text("\n".join(map(json.dumps, [*PROMPTS, shorter])))
    return path


def same(live: asc.Table, file: asc.Table) -> None:
    assert live.columns == file.columns
    assert len(live) == len(file) > 0
    for one, other in zip(live, file, strict=True):
        for name, value in other.items():
            if isinstance(value, float):
                assert one[name] == pytest.approx(value, rel=1e-4, abs=1e-4), (name, other)
            elif name != "model":
                assert one[name] == value


@pytest.mark.parametrize("name", MODELS)
def test_patching_equals_files(name: str, prompts: pathlib.Path) -> None:
    live, file = both(module_of(name))
    given: dict[str, Any] = {"prompts": prompts, "patch_positions": "each", "components": PARTS}
    found, expected = live.ablate(**given), file.ablate(**given)
    same(found, expected)
    changes = np.abs(np.array(expected["denoising_change"]))
    assert (changes > 1e-2).sum() > len(expected) / 10  # the components matter
    assert set(expected["component"]) >= {"resid_pre", "attention", "mlp", "head", "q", "k", "v"}


@pytest.mark.parametrize(
    "given",
    [
        {"patch_positions": "each", "metric": "kl", "score_positions": "-2,-1"},
        {"patch_positions": "all", "metric": "probability", "patching": "noising"},
        {"patch_positions": "last", "metric": "loss", "patching": "denoising"},
        {"patch_positions": [1, -1], "layers": [1], "components": ["q", "mlp"]},
    ],
)
def test_metrics_and_positions_equal_files(prompts: pathlib.Path, given: dict[str, Any]) -> None:
    live, file = both(module_of("gpt2"))
    same(live.ablate(prompts=prompts, **given), file.ablate(prompts=prompts, **given))


@pytest.mark.parametrize("name", MODELS)
def test_paths_equal_files(name: str, prompts: pathlib.Path) -> None:
    live, file = both(module_of(name))
    given: dict[str, Any] = {"prompts": prompts, "sender": "each-layer"}
    expected = file.ablate(**given)
    same(live.ablate(**given), expected)
    assert np.abs(np.array(expected["denoising_change"])).max() > 1e-2


@pytest.mark.parametrize(
    "given",
    [
        {"sender": "each-head", "metric": "kl"},
        {"sender": "L0H0,L0H1", "receiver": "L1H0.q,L1H1.q,L1H0.k", "patching": "noising"},
        {"sender": "L0H1", "receiver": "L1H1.v", "metric": "probability"},
        {"sender": "L0H0,L1H1", "receiver": "logits", "metric": "loss"},
        {"sender": "each-layer", "through_mlps": True},
        {"sender": "each-layer", "freeze_norms": True},
    ],
)
@pytest.mark.parametrize("name", ["gpt2", "gemma2"])
def test_senders_and_receivers_equal_files(
    name: str, uneven: pathlib.Path, given: dict[str, Any]
) -> None:
    live, file = both(module_of(name))
    same(live.ablate(prompts=uneven, **given), file.ablate(prompts=uneven, **given))


def test_uneven_prompts_are_padded(uneven: pathlib.Path) -> None:
    live, file = both(module_of("llama"))
    given: dict[str, Any] = {"prompts": uneven, "patch_positions": "last", "components": PARTS}
    same(live.ablate(**given), file.ablate(**given))


def test_latents_have_no_keys(prompts: pathlib.Path) -> None:
    folder = FORWARD / "deepseek_v2"
    module = transformers.DeepseekV2ForCausalLM.from_pretrained(folder, dtype=torch.float32)
    live, file = both(module)
    same(live.ablate(prompts=prompts, metric="kl"), file.ablate(prompts=prompts, metric="kl"))
    with pytest.raises(asc.UnsupportedError, match="'k' of layer [01]: no module of the live model"):
        live.ablate(prompts=prompts, patch_positions="last", components="k")


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox"])
def test_fused_projections_are_activations(name: str) -> None:
    live, file = both(module_of(name))
    given: dict[str, Any] = {"tokens": [5, 9, 3, 17], "activations": ["q", "k", "v"]}
    found, expected = live.run(**given), file.run(**given)
    for one in given["activations"]:
        assert found.arrays[one] == pytest.approx(expected.arrays[one], rel=1e-4, abs=1e-4)
    edits = [asc.Edit("q", head=1, scale=0), asc.Edit("k", head=0, scale=2), asc.Edit("v", scale=3)]
    same(live.predict(tokens=[5, 9, 3], edits=edits), file.predict(tokens=[5, 9, 3], edits=edits))


def hooks_of(module: Any) -> int:
    return sum(
        len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules()
    )


@pytest.mark.parametrize("error", [RuntimeError("fault"), KeyboardInterrupt()])
def test_module_stays_as_it_was_after_a_fault(prompts: pathlib.Path, error: BaseException) -> None:
    module = module_of("gpt2").train()
    calls = 0

    def fail(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise error

    live, _ = both(module)
    handle = module.transformer.h[2].mlp.register_forward_hook(fail)
    runs: list[Callable[[], Any]] = [
        lambda: live.ablate(prompts=prompts, patch_positions="each"),
        lambda: live.ablate(prompts=prompts, sender="each-head"),
    ]
    try:
        for run in runs:
            calls = 0
            with pytest.raises((type(error), asc.Error)):
                run()
            assert hooks_of(module) == 1 and module.training
            assert not any("forward" in vars(part) for part in module.modules())
    finally:
        handle.remove()
