"""Chats: messages in memory, rendered by the template of the model or of the tokenizer."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest

import attnscope as asc
import numpy_gpt2

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/shakespeare-gpt2"
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}reply:{% endif %}"
MESSAGES = [{"role": "king", "content": "Who is there"}, {"role": "queen", "content": "I"}]
TEXT = "[king]Who is there\n[queen]I\nreply:"


@pytest.fixture
def model(tmp_path: pathlib.Path) -> asc.Model:
    for file in EXAMPLE.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    return asc.open(tmp_path)


def test_messages_give_the_rows_of_their_text(model: asc.Model) -> None:
    table = model.lens(messages=MESSAGES, grid=True)
    assert table.models[0]["text"] == TEXT
    text = model.lens(TEXT, grid=True, no_special_tokens=True)
    assert table["token_id"].tolist() == text["token_id"].tolist()
    np.testing.assert_array_equal(np.asarray(table["kl"]), np.asarray(text["kl"]))
    assert set(table["message_role"].tolist()) == {"king", "queen", "template"}


def test_messages_with_tools_and_options(model: asc.Model) -> None:
    given = {"messages": MESSAGES, "tools": [{"name": "f"}]}
    table = model.predict(messages=given, no_generation_prompt=True, chat_date="2026-07-06")
    assert table.models[0]["text"] == TEXT.removesuffix("reply:")
    assert table.parameters["chat_date"] == "2026-07-06"


def test_a_file_of_messages(model: asc.Model, tmp_path: pathlib.Path) -> None:
    (tmp_path / "chat.json").write_text(json.dumps(MESSAGES))
    assert model.attention(chat=tmp_path / "chat.json").models[0]["text"] == TEXT


def test_the_template_of_a_tokenizer_in_memory() -> None:
    class Tokenizer:
        chat_template = {"default": "{{ bos_token }}" + TEMPLATE, "other": "other"}
        special_tokens_map = {"bos_token": "O "}

        def to_str(self) -> str:
            return (EXAMPLE / "tokenizer.json").read_text()

    tensors = numpy_gpt2.tensors(str(EXAMPLE))
    config = json.loads((EXAMPLE / "config.json").read_text())
    memory = asc.open(tensors, config=config, tokenizer=Tokenizer())
    assert memory.predict(messages=MESSAGES).models[0]["text"] == "O " + TEXT
    assert memory.predict(messages=MESSAGES, chat_template="other").models[0]["text"] == "other"


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ("Hi", "expected a list of dicts"),
        ([], "has no list of messages"),
        ([{"content": "a"}], "a message has no 'role'"),
        ([{"role": "user", "content": object()}], "expected values that JSON has"),
    ],
)
def test_refused_messages(model: asc.Model, messages: Any, said: str) -> None:
    with pytest.raises(asc.Error, match=said):
        model.predict(messages=messages)


def test_errors_do_not_name_temporary_folders(model: asc.Model) -> None:
    with pytest.raises(asc.Error, match="^messages.json: a message is not a JSON object$") as found:
        model.predict(messages=["a"])  # type: ignore[list-item]
    assert found.value.file == "messages.json"


def test_messages_beside_a_text(model: asc.Model) -> None:
    with pytest.raises(asc.Error, match="chat"):
        model.predict("a", messages=MESSAGES)
    with pytest.raises(asc.Error, match="messages"):
        model.predict(messages=MESSAGES, chat="chat.json")
