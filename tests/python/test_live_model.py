"""Live models: what stays as it was, what is refused, and how a run ends."""

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


def run_all(live: asc.LiveModel) -> None:
    for how in ("zero", "mean", "resample"):
        live.ablate(tokens=TOKENS, ablation=how)
    live.lens(tokens=TOKENS)
    live.attention(tokens=TOKENS)


def test_module_stays_as_it_was(unchanged: Any) -> None:
    run_all(asc.live(unchanged))


@pytest.mark.parametrize(("command", "successes"), [("ablate", 3), ("lens", 0), ("attention", 0)])
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


def test_interrupt_ends_the_run(unchanged: Any) -> None:
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
                live.ablate(tokens=TOKENS)
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
        ("attention", {"tokens": TOKENS, "maps": True}, "maps of attention: not supported"),
        ("predict", {"tokens": TOKENS[0]}, "predict: not supported"),
        ("attention", {"features": "mel.npy"}, "features of attention: not supported"),
        ("lens", {"tokens": TOKENS[0], "edits": asc.Edit("z", scale=0)}, "edits of lens: not supported"),
    ],
)
def test_refused(module: Any, command: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(asc.UnsupportedError, match=words):
        getattr(asc.live(module), command)(**given)


@pytest.mark.parametrize("layer", [0, -1])
@pytest.mark.parametrize("command", ["ablate", "lens", "attention"])
def test_nan_in_a_weight_is_an_error(module: Any, command: str, layer: int) -> None:
    with torch.no_grad():
        module.model.layers[layer].self_attn.o_proj.weight[0, 0] = float("nan")
    with pytest.raises(asc.NumericalError, match="NaN or infinite"):
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
