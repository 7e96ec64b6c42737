"""The check of words, tools/check_words.py."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
check_words = pytest.importorskip("check_words")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("It foretells the next token.", "foretells"),
        ("Each layer is fitted anew.", "anew"),
        ("It stands beside the model.", "beside"),
        ("It is no matrix.", "is no "),
        ("The rank of K less the rank of the circuit.", "less the"),
        ("4 bytes a token are kept.", "bytes a token"),
        ("The behaviour of a quantised model.", "US spelling"),
        ("word " * 31 + ".", "31 words"),
    ],
)
def test_reports(text: str, error: str) -> None:
    found = list(check_words.errors_in(text, help_line=False))
    assert found and any(error in each for each in found), found


@pytest.mark.parametrize(
    "text",
    [
        "It predicts the next token.",
        "There is no longer a limit, and there is no tokenizer.",
        "A page fault or a segmentation fault in the child.",
        "Write `beside` in code, and “anew” in quotations.",
        "word " * 30 + ". " + "word " * 30 + ".",
    ],
)
def test_accepts(text: str) -> None:
    assert not list(check_words.errors_in(text, help_line=False))


def test_help_lines_begin_with_a_noun_or_a_verb() -> None:
    assert list(check_words.errors_in("of MLA models: a text", help_line=True))
    assert not list(check_words.errors_in("MLA models: input text", help_line=True))


def test_reads_comments_strings_docstrings_and_docs(tmp_path: pathlib.Path) -> None:
    files = {
        "a.cpp": '// Made anew.\nauto b = "the likeliest "\n         "token";\n',
        "a.ts": "/** Made anew. */\n",
        "a.py": '"""Made anew."""\n# Made anew.\n',
        "a.md": "# Made anew\n\n```sh\nanew beside\n```\n\n| anew | b |\n",
        "a.sh": "# Made anew.\n",
    }
    counts = {"a.cpp": 2, "a.ts": 1, "a.py": 2, "a.md": 2, "a.sh": 1}
    for name, text in files.items():
        path = tmp_path / name
        path.write_text(text)
        assert len(check_words.check_file(path)[0]) == counts[name], name


def test_marked_lines_are_exempt_and_counted(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("# Made anew.  words: ok\n")
    assert check_words.check_file(path) == ([], 1)


def test_the_allow_list_is_short() -> None:
    assert check_words.ALLOWED < 40
