"""Live models: what stays as it was, what is refused, and how a run ends."""

import json
import pathlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import attnscope as asc

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")

FORWARD = pathlib.Path(__file__).resolve().parent.parent / "data/forward"
TOKENS = [[5, 9, 3, 17, 8, 11, 4], [7, 3, 3, 12, 6, 10, 9]]


@pytest.fixture
def module() -> Any:
    return transformers.LlamaForCausalLM.from_pretrained(FORWARD / "llama", dtype=torch.float32)


def hooks_of(module: Any) -> int:
    return sum(
        len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules()
    )


@pytest.fixture
def unchanged(module: Any) -> Iterator[Any]:
    """A module in an unusual state, which a run must leave exactly as it was."""
    module.eval()
    module.model.layers[1].train()  # only a part of it is trained
    module.model.embed_tokens.requires_grad_(False)
    torch.manual_seed(7)

    def state() -> list[Any]:
        modes = [part.training for part in module.modules()]
        grads = [(one.requires_grad, one.grad is None) for one in module.parameters()]
        values = [one.detach().clone() for one in module.parameters()]
        kind = module.config._attn_implementation
        random = torch.random.get_rng_state()
        return [modes, grads, kind, hooks_of(module), module.device, torch.is_grad_enabled(), values, random]

    before = state()
    yield module
    after = state()
    assert after[:-2] == before[:-2]
    for one, other in zip([*after[-2], after[-1]], [*before[-2], before[-1]], strict=True):
        assert torch.equal(one, other)


PROMPT = {"clean": "t5 t9 t3", "corrupted": "t5 t9 t7", "correct": "t8", "incorrect": "t11"}


@pytest.fixture
def prompts(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text(json.dumps(PROMPT) + "\n" + json.dumps(PROMPT | {"clean": "t6 t4"} | {"corrupted": "t6 t2"}))
    return path


def words(count: int) -> str:
    """A tokenizer whose token number N is the word tN."""
    vocabulary = {f"t{number}": number for number in range(count)}
    return json.dumps({
        "version": "1.0", "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "t0"},
    })


def run_all(live: asc.LiveModel) -> None:
    for how in ("zero", "mean", "resample"):
        live.ablate(tokens=TOKENS, ablation=how)
    live.lens(tokens=TOKENS)
    live.attention(tokens=TOKENS)
    live.predict(tokens=TOKENS[0], generate=2, edits=asc.Edit("z", scale=0))
    live.run(tokens=TOKENS, activations=["resid_post", "q", "mlp_post", "logits"])
    live.directions(tokens=TOKENS)
    live.lens(tokens=TOKENS[0], grid=True)


def test_module_stays_as_it_was(unchanged: Any) -> None:
    run_all(asc.live(unchanged))


@pytest.mark.parametrize(
    ("command", "successes"),
    [("ablate", 3), ("lens", 0), ("attention", 0), ("predict", 0), ("directions", 0)],
)
@pytest.mark.parametrize("error", [RuntimeError("fault"), KeyboardInterrupt(), MemoryError()])
def test_module_stays_as_it_was_after_a_fault(
    unchanged: Any, command: str, successes: int, error: BaseException
) -> None:
    live = asc.live(unchanged)
    calls = 0

    def fail(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > successes:
            raise error

    handle = unchanged.model.layers[1].mlp.register_forward_hook(fail)
    try:
        with pytest.raises((type(error), asc.Error)):
            getattr(live, command)(tokens=TOKENS)
        assert hooks_of(unchanged) == 1
    finally:
        handle.remove()


def test_out_of_memory_halves_the_batch(module: Any) -> None:
    live = asc.live(module)
    expected = live.ablate(tokens=TOKENS, ablation="zero")
    sizes = []

    def fail(_: Any, args: Any) -> None:
        sizes.append(len(args[0]))
        if len(args[0]) > 2:
            raise torch.OutOfMemoryError("out of memory (injected)")

    handle = module.model.layers[1].mlp.register_forward_pre_hook(fail)
    try:
        found = live.ablate(tokens=TOKENS, ablation="zero")
    finally:
        handle.remove()
    assert max(sizes) > 2 and sizes.count(2) > 1
    for one, other in zip(found, expected, strict=True):
        assert one["loss_increase"] == pytest.approx(other["loss_increase"], abs=1e-5)


def test_out_of_memory_for_one_copy_is_an_error(module: Any) -> None:
    live = asc.live(module)
    calls = 0

    def fail(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise torch.OutOfMemoryError("out of memory (injected)")

    handle = module.model.layers[1].mlp.register_forward_pre_hook(fail)
    try:
        with pytest.raises(asc.Error, match="too little memory"):
            live.ablate(tokens=TOKENS)
    finally:
        handle.remove()


def test_out_of_memory_for_the_text_halves_its_batches(module: Any) -> None:
    live = asc.live(module)
    expected = live.ablate(tokens=TOKENS, ablation="mean", components="layers")
    sizes = []

    def fail(_: Any, args: Any) -> None:
        sizes.append(len(args[0]))
        if len(args[0]) > 1:
            raise torch.OutOfMemoryError("out of memory (injected)")

    handle = module.model.layers[1].mlp.register_forward_pre_hook(fail)
    try:
        found = live.ablate(tokens=TOKENS, ablation="mean", components="layers")
    finally:
        handle.remove()
    assert 2 in sizes and sizes.count(1) > 1
    assert found["kl"].tolist() == pytest.approx(expected["kl"].tolist(), abs=1e-5)


@pytest.mark.parametrize("command", ["ablate", "directions"])
def test_interrupt_ends_the_run(unchanged: Any, command: str) -> None:
    live = asc.live(unchanged)
    started = threading.Event()

    def slow(*_: Any) -> None:
        started.set()
        threading.Event().wait(0.05)

    def interrupt() -> None:
        started.wait(10)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    handle = unchanged.model.layers[0].register_forward_hook(slow)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(1000):
                getattr(live, command)(tokens=TOKENS)
    finally:
        thread.join()
        handle.remove()


def test_rows_equal_those_of_files(module: Any) -> None:
    live = asc.live(module)
    assert repr(live) == "<attnscope.LiveModel llama on cpu>"
    file = asc.open(FORWARD / "llama")
    for command, name in (("ablate", "kl"), ("lens", "entropy"), ("attention", "entropy")):
        one = getattr(live, command)(tokens=TOKENS)
        other = getattr(file, command)(tokens=TOKENS)
        assert one.columns == other.columns
        assert one[name].tolist() == pytest.approx(other[name].tolist(), rel=1e-4, abs=1e-4, nan_ok=True)
    assert live.weights()["std"].tolist() == pytest.approx(file.weights()["std"].tolist(), nan_ok=True)


def same(one: asc.Table, other: asc.Table) -> None:
    assert one.columns == other.columns
    assert len(one) == len(other)
    for row, expected in zip(one, other, strict=True):
        for name, value in expected.items():
            if isinstance(value, float):
                assert row[name] == pytest.approx(value, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("predict", {"tokens": TOKENS, "top": 3}),
        ("predict", {"tokens": [TOKENS[0], TOKENS[1][:3]]}),
        ("predict", {"tokens": TOKENS, "perplexity": True}),
        ("predict", {"tokens": TOKENS[0], "attribution": True}),
        ("predict", {"tokens": TOKENS[0], "edits": asc.Edit("resid_mid", layer=1, scale=0.5)}),
        ("predict", {"tokens": TOKENS[0], "attribution": True, "edits": asc.Edit("z", layer=1, scale=0.5)}),
        ("directions", {"tokens": [TOKENS[0], TOKENS[1][:3]]}),
        ("lens", {"tokens": TOKENS[0], "grid": True, "states": "resid_pre,resid_mid"}),
    ],
)
def test_passes_of_the_library_equal_those_of_files(
    module: Any, command: str, given: dict[str, Any]
) -> None:
    same(getattr(asc.live(module), command)(**given), getattr(asc.open(FORWARD / "llama"), command)(**given))


@pytest.mark.parametrize("given", [{}, {"ablation": "mean"}, {"components": "heads", "layers": [1]}])
def test_ablate_prompts_equals_files(module: Any, prompts: pathlib.Path, given: dict[str, Any]) -> None:
    size = module.config.vocab_size
    live, file = asc.live(module, words(size)), asc.open(module, tokenizer=words(size))
    same(live.ablate(prompts=prompts, **given), file.ablate(prompts=prompts, **given))
    same(live.lens(prompts=prompts), file.lens(prompts=prompts))
    edit = asc.Edit("z", layer=0, head=1, scale=-1)
    same(live.lens(prompts=prompts, edits=edit), file.lens(prompts=prompts, edits=edit))


def test_edits_from_another_text_equal_files(module: Any, tmp_path: pathlib.Path) -> None:
    edits = tmp_path / "edits.json"
    edits.write_text(json.dumps([{"name": "z", "layer": 1, "head": [1, 0], "from_run": {"tokens": TOKENS[1]}}]))
    live, file = asc.live(module), asc.open(FORWARD / "llama")
    given: dict[str, Any] = {"tokens": TOKENS[0], "edits": edits}
    same(live.predict(**given), file.predict(**given))
    store = tmp_path / "rows.sqlite"
    plain = live.lens(tokens=TOKENS[0], store=store)
    for _ in range(2):
        same(live.lens(**given, store=store), file.lens(**given))
    same(live.lens(tokens=TOKENS[0], store=store), plain)
    assert plain["loss"][-1] != file.lens(**given)["loss"][-1]


def test_experts_equal_those_of_files() -> None:
    folder = FORWARD / "mixtral"
    module = transformers.MixtralForCausalLM.from_pretrained(folder, dtype=torch.float32)
    given: dict[str, Any] = {"tokens": [TOKENS[0], TOKENS[1][:3]]}
    same(asc.live(module).experts(**given), asc.open(folder).experts(**given))


def test_activations_equal_those_of_files(module: Any) -> None:
    names = ["resid_pre", "resid_mid", "resid_post", "q", "k", "v", "z", "attn_out", "mlp_pre",
             "mlp_pre_linear", "mlp_post", "mlp_out", "final_norm", "logits"]  # fmt: skip
    given: dict[str, Any] = {"tokens": [TOKENS[0], TOKENS[1][:3]], "activations": names}
    found, expected = asc.live(module).run(**given), asc.open(FORWARD / "llama").run(**given)
    for name in names:
        for one, other in zip(found.arrays[name], expected.arrays[name], strict=True):
            assert one == pytest.approx(other, rel=1e-4, abs=1e-4)


def test_residual_stream_leaves_the_layer_after_a_convolution() -> None:
    folder = FORWARD / "deberta-v2-convolved"  # its convolution is outside the layers' modules
    module = transformers.DebertaV2ForMaskedLM.from_pretrained(folder, dtype=torch.float32)
    live, file = asc.live(module), asc.open(folder)
    one, other = (model.run(tokens=TOKENS[0], activations=["resid_post"]) for model in (live, file))
    assert one.arrays["resid_post"] == pytest.approx(other.arrays["resid_post"], rel=1e-4, abs=1e-4)
    edit = asc.Edit("resid_post", layer=0, scale=1.5)
    one, other = (model.run(tokens=TOKENS[0], activations=["logits"], edits=[edit]) for model in (live, file))
    assert one.arrays["logits"] == pytest.approx(other.arrays["logits"], rel=1e-4, abs=1e-4)


def test_generate_continues_the_cache_of_the_module(module: Any) -> None:
    lengths = []

    def count(_: Any, args: Any) -> None:
        lengths.append(args[0].shape[1])

    handle = module.model.layers[0].mlp.register_forward_pre_hook(count)
    edit = asc.Edit("resid_post", layer=0, scale=2.0)
    try:
        found = asc.live(module).predict(tokens=TOKENS[0], generate=4, edits=edit)
    finally:
        handle.remove()
    assert lengths == [len(TOKENS[0]), 1, 1, 1]
    expected = asc.open(FORWARD / "llama").predict(tokens=TOKENS[0], generate=4, edits=edit)
    assert found.models[0]["generated"] == expected.models[0]["generated"]


def test_out_of_memory_halves_the_passes_of_the_library(
    module: Any, prompts: pathlib.Path
) -> None:
    live = asc.live(module, words(module.config.vocab_size))
    expected = live.ablate(prompts=prompts, components="heads", ablation="mean")
    sizes = []

    def fail(_: Any, args: Any) -> None:
        sizes.append(len(args[0]))
        if len(args[0]) > 2:
            raise torch.OutOfMemoryError("out of memory (injected)")

    handle = module.model.layers[1].mlp.register_forward_pre_hook(fail)
    try:
        found = live.ablate(prompts=prompts, components="heads", ablation="mean")
    finally:
        handle.remove()
    assert max(sizes) > 2 and sizes.count(2) > 1
    same(found, expected)


def test_out_of_memory_of_a_text_is_an_error(module: Any) -> None:
    live = asc.live(module)

    def fail(*_: Any) -> None:
        raise torch.OutOfMemoryError("out of memory (injected)")

    handle = module.model.layers[1].mlp.register_forward_pre_hook(fail)
    try:
        with pytest.raises(asc.Error, match="too little memory to run 7 tokens together"):
            live.predict(tokens=TOKENS[0])
    finally:
        handle.remove()
    assert hooks_of(module) == 0


def test_bfloat16_and_training_mode(module: Any) -> None:
    exact = asc.live(module).ablate(tokens=TOKENS)
    rounded = asc.live(module.to(torch.bfloat16).train()).ablate(tokens=TOKENS)
    assert rounded["loss"].tolist() == pytest.approx(exact["loss"].tolist(), rel=0.02)
    assert module.training


def test_store_keeps_live_rows_apart(module: Any, tmp_path: pathlib.Path) -> None:
    store = tmp_path / "rows.sqlite"
    calls = 0

    def count(*_: Any) -> None:
        nonlocal calls
        calls += 1

    module.model.layers[0].register_forward_hook(count)
    asc.open(FORWARD / "llama").ablate(tokens=TOKENS, store=store)
    first = asc.live(module).ablate(tokens=TOKENS, store=store)
    assert calls > 0  # rows of files are not those of the live model
    calls = 0
    again = asc.live(module).ablate(tokens=TOKENS, store=store)
    assert calls == 0
    assert again["kl"].tolist() == first["kl"].tolist()


@pytest.mark.parametrize(
    ("command", "given", "words"),
    [
        ("plan", {}, "plan: not supported on a live model"),
        ("spectrum", {"text": "a"}, "text of spectrum: not supported on a live model"),
        ("predict", {"image": "cat.png"}, "image of predict: not supported"),
        ("attention", {"features": "mel.npy"}, "features of attention: not supported"),
        ("run", {"tokens": TOKENS[0], "activations": "rot_q"}, "'rot_q' of layer 0: no module"),
    ],
)
def test_refused(module: Any, command: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(asc.UnsupportedError, match=words):
        getattr(asc.live(module), command)(**given)


@pytest.mark.parametrize("layer", [0, -1])
@pytest.mark.parametrize("command", ["ablate", "lens", "attention", "predict"])
def test_nan_in_a_weight_is_an_error(module: Any, command: str, layer: int) -> None:
    with torch.no_grad():
        module.model.layers[layer].self_attn.o_proj.weight[0, 0] = float("nan")
    with pytest.raises(asc.NumericalError, match="NaN or infini"):
        getattr(asc.live(module), command)(tokens=TOKENS)


def test_loads_a_folder() -> None:
    live = asc.live(FORWARD / "gpt2", device="cpu", dtype="float32")
    assert live.module.dtype == torch.float32
    assert len(live.ablate(tokens=TOKENS, components="layers")) == 6


def test_wrong_arguments(module: Any) -> None:
    with pytest.raises(TypeError, match="device: only supported with a folder"):
        asc.live(module, device="cpu")
    with pytest.raises(TypeError, match="expected a module, a folder or a hub name, not int"):
        asc.live(3)
    with pytest.raises(asc.IoError, match="transformers cannot load '/nowhere'"):
        asc.live("/nowhere")
    with pytest.raises(TypeError, match="has no config"):
        asc.live(torch.nn.Linear(2, 2))


@pytest.mark.parametrize(
    ("command", "given", "measure"),
    [
        ("ablate", {"heads": "L0H1,L1H0"}, "loss_increase"),
        ("ablate", {"heads": "L0H1,L1H0", "ablation": "resample"}, "interaction"),
        ("ablate", {"pairs": 3}, "loss_increase"),
        ("ablate", {"cumulative": True}, "loss_increase"),
        ("lens", {"states": ["attn_out", "mlp_out"]}, "loss"),
        ("lens", {"tuned_lens": FORWARD.parent / "tuned_lens/llama"}, "loss"),
    ],
)
def test_layers_in_pytorch_give_the_rows_of_files(
    module: Any, command: str, given: dict[str, Any], measure: str
) -> None:
    live = getattr(asc.live(module), command)(tokens=TOKENS, **given)
    files = getattr(asc.open(FORWARD / "llama"), command)(tokens=TOKENS, **given)
    assert len(live) == len(files)
    for one, other in zip(live, files, strict=True):
        assert one.get("heads") == other.get("heads") and one.get("state") == other.get("state")
        if other[measure] is not None:
            assert one[measure] == pytest.approx(other[measure], abs=1e-5)
