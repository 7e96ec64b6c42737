"""`--device` of the wheel's command: output, errors, exit codes, interrupts."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import attnscope as asc
from attnscope import _program
from attnscope.live_model._device import OutOfMemory

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "examples/shakespeare-gpt2")
TEXT = "To be, or not to be, that is the question"
TINY = str(ROOT / "tests/data/forward/llama")


def python(code: str, *words: str) -> "subprocess.Popen[str]":
    """Run the command in a process in which `code` was run first."""
    script = textwrap.dedent(code) + "import sys; from attnscope._program import main; sys.exit(main())"
    packages = str(pathlib.Path(asc.__file__).resolve().parents[1])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([packages, os.environ.get("PYTHONPATH", "")])
    }
    command = [sys.executable, "-c", script, *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_missing_packages(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None\n"
    run = python(code, "ablate", MODEL, "--text", TEXT, "--device", "cpu")
    out, errors = run.communicate(timeout=60)
    assert run.returncode == 5 and out == ""
    needs = "a live model needs PyTorch and transformers (pip install torch transformers)"
    assert errors == f"attnscope: error: {needs}\n"


def call(monkeypatch: pytest.MonkeyPatch, capfd: Any, *words: str) -> tuple[int, str, str]:
    """Run the command in this process. Return its exit code, stdout and stderr."""
    monkeypatch.setattr(sys, "argv", ["attnscope", *words])
    handlers = {one: signal.getsignal(one) for one in (signal.SIGPIPE, signal.SIGINT)}
    capfd.readouterr()
    try:
        code = _program.main()
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)
    out, errors = capfd.readouterr()
    return code, out, errors


def test_dtype_requires_a_device(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    found = call(monkeypatch, capfd, "lens", MODEL, "--text", TEXT, "--dtype", "float32")
    assert found == (2, "", "attnscope: error: --dtype: requires --device\n")


def test_help_and_completion_have_the_option(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    for command in ("ablate", "attention", "lens"):
        code, out, _ = call(monkeypatch, capfd, command, "--help")
        assert code == 0 and "--device DEVICE" in out and "--dtype TYPE" in out
    _, out, _ = call(monkeypatch, capfd, "completion", "bash")
    assert "--device" in out
    assert "device" not in str(asc.lens.__doc__)  # in Python, attnscope.live has it


# ---- with PyTorch ----


@pytest.fixture
def torch() -> Any:
    pytest.importorskip("transformers", reason="transformers is not installed")
    return pytest.importorskip("torch", reason="PyTorch is not installed")


COMMANDS = [
    ("ablate", ["--components", "heads"]),
    ("attention", ["--layers", "0"]),
    ("lens", []),
]


@pytest.mark.parametrize(("command", "more"), COMMANDS)
def test_output_equals_that_of_files(
    torch: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any, command: str, more: list[str]
) -> None:
    words = [command, MODEL, "--text", TEXT, *more]
    device = ["--device", "cpu", "--dtype", "float32"]
    code, out, errors = call(monkeypatch, capfd, *words, *device)
    assert (code, errors) == (0, "")
    table = call(monkeypatch, capfd, *words)[1]
    assert out.splitlines()[0] == table.splitlines()[0].replace("BF16", "F32")
    assert len(out.splitlines()) == len(table.splitlines())
    code, csv, errors = call(monkeypatch, capfd, *words, *device, "--format", "csv")
    expected = call(monkeypatch, capfd, *words, "--format", "csv")[1]
    assert (code, errors) == (0, "")
    assert csv.splitlines()[0] == expected.splitlines()[0]
    assert len(csv.splitlines()) == len(expected.splitlines())


def test_json_out_and_store(
    torch: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any, tmp_path: pathlib.Path
) -> None:
    out, store = tmp_path / "rows.json", tmp_path / "rows.sqlite"
    words = ["ablate", MODEL, "--text", TEXT, "--device", "auto", "--components", "layers"]
    words += ["--dtype", "float32", "-o", str(out), "--store", str(store)]
    assert call(monkeypatch, capfd, *words) == (0, "", "")
    first = json.loads(out.read_text())
    expected = asc.open(MODEL).ablate(TEXT, components="layers")
    assert [row["loss"] for row in first["rows"]] == pytest.approx(expected["loss"].tolist(), rel=1e-3)
    monkeypatch.setattr("attnscope.live_model._items.LiveItems.__call__", None)  # rows are stored
    assert call(monkeypatch, capfd, *words) == (0, "", "")
    assert json.loads(out.read_text())["rows"] == first["rows"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["lens", MODEL, "--device", "tpu9"], 2, "--device: PyTorch cannot use 'tpu9': "),
        (["lens", MODEL, "--device", "meta"], 2, "--device: PyTorch cannot use 'meta': it has no weights\n"),
        (["lens", MODEL, "--device", "cpu", "--dtype", "int8"], 2, "--dtype: 'int8' is not supported; "),
        (["lens", MODEL, TINY, "--device", "cpu"], 2, "--device: runs a single model\n"),
        (["lens", MODEL, "--device", "cpu", "--stack", "text"], 2, "--device: not supported with --stack\n"),
        (["lens", "/nowhere", "--device", "cpu"], 3, "/nowhere: transformers cannot load it: "),
        (["report", MODEL, "--device", "cpu", "--base", MODEL, "--out", "report.html"], 2,
         "--device: not supported for --base: leave it out to run on the CPU\n"),
    ],
)  # fmt: skip
def test_errors(
    torch: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any, words: list[str], code: int, message: str
) -> None:
    found, out, errors = call(monkeypatch, capfd, *words, "--text", TEXT)
    assert (found, out) == (code, "")
    assert errors.startswith(f"attnscope: error: {message}") and errors.count("\n") == 1


def test_error_of_a_run(torch: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a fault\nof two lines")

    monkeypatch.setattr("attnscope.live_model._items.LiveItems._outcomes", fail)
    words = ["lens", MODEL, "--text", TEXT, "--device", "cpu"]
    code, out, errors = call(monkeypatch, capfd, *words)
    assert (code, out) == (1, "")
    assert errors == "attnscope: error: internal: RuntimeError: a fault (please report this)\n"


def test_too_little_memory(torch: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    def fail(*_: Any) -> None:
        raise OutOfMemory(8)

    monkeypatch.setattr("attnscope.live_model._items.LiveItems._outcomes", fail)
    code, out, errors = call(monkeypatch, capfd, "lens", MODEL, "--text", TEXT, "--device", "cpu")
    assert (code, out) == (3, "")
    assert errors.startswith("attnscope: error: the device has too little memory to run 8 tokens")


def test_interrupt(torch: Any) -> None:
    code = """
        import sys, time, torch
        forward = torch.nn.LayerNorm.forward
        def slow(self, given):
            sys.stderr.write("running\\n"); sys.stderr.flush()
            time.sleep(0.1)
            return forward(self, given)
        torch.nn.LayerNorm.forward = slow
    """
    words = ["ablate", MODEL, "--text", TEXT, "--device", "cpu", "--components", "heads"]
    run = python(code, *words)
    assert run.stderr is not None and run.stdout is not None
    while run.stderr.readline() != "running\n":
        assert run.poll() is None
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=20) == 130
    assert run.stdout.read() == ""
    lines = run.stderr.read().splitlines()
    rest = [line for line in lines if line not in ("", "running")]
    assert rest == ["attnscope: interrupted"]
