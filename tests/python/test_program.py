"""The program that the wheel installs is the command line."""

import pathlib
import signal
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INSTALLED = pathlib.Path(sysconfig.get_path("scripts")) / "attnscope"
BUILT = ROOT / "build/release/attnscope"


def run(*words: str | pathlib.Path) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([*words], capture_output=True, cwd=ROOT)


def test_output_matches_the_built_program() -> None:
    for words in (["--help"], ["spectrum", "examples/shakespeare-gpt2", "--layers", "0"], ["explain", "energy_rank"]):
        expected = run(BUILT, *words)
        assert expected.returncode == 0
        for program in ([INSTALLED], [sys.executable, "-m", "attnscope"]):
            assert run(*program, *words).stdout == expected.stdout


def test_errors_have_exit_codes() -> None:
    done = run(INSTALLED, "spectrum", "no-such-folder")
    assert (done.returncode, done.stderr) == (3, run(BUILT, "spectrum", "no-such-folder").stderr)
    assert run(INSTALLED, "no-such-command").returncode == 2


def test_interrupt_ends_it_like_the_built_program() -> None:
    process = subprocess.Popen([INSTALLED, "serve", "examples/shakespeare-gpt2", "--port", "0"], cwd=ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert b"http://" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert b"Traceback" not in err
