#!/usr/bin/env python3
"""Compare rendered chats with transformers: check_chats.py FOLDER...

Renders chats with every .jinja file in the folders, by `messages=` of the installed package and by transformers. Prints each
difference, and the number of templates whose texts are all equal. A template that fails in transformers may render in attnscope:
loops over None are empty. Exits with 1 if another text differs. Public templates are in the repositories of llama.cpp (models/templates) and
axolotl.
"""

import copy
import datetime
import pathlib
import sys

import numpy as np
import transformers.utils.chat_template_utils as rendering

import attnscope as asc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from golden_chats import CHATS, SPECIAL, TOOLS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATE = datetime.datetime(2026, 7, 6)
TOKENIZER = (ROOT / "examples/shakespeare-gpt2/tokenizer.json").read_text()
WIDTH = 8
MORE_CHATS = {
    "text call": [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "abcdefghi", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
            ],
        },
        {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefghi", "content": "-3"},
    ],
    "reasoning": [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "Two", "reasoning_content": "Because.\nOf it"},
        {"role": "user", "content": "Why?"},
    ],
}


class Tokenizer:
    """What attnscope reads from a tokenizer of transformers."""

    special_tokens_map = SPECIAL

    def __init__(self, template):
        self.chat_template = template

    def to_str(self):
        return TOKENIZER


def tiny_model(template):
    """Return a GPT-2 of one layer in memory, with this chat template."""
    config = {
        "model_type": "gpt2",
        "n_layer": 1,
        "n_head": 1,
        "n_embd": WIDTH,
        "n_positions": 20000,
        "n_ctx": 20000,
        "vocab_size": 4096,
        "layer_norm_epsilon": 1e-5,
        "activation_function": "gelu_new",
    }
    random = np.random.default_rng(0)
    shapes = {"wte.weight": (4096, WIDTH), "wpe.weight": (20000, WIDTH), "ln_f.weight": (WIDTH,), "ln_f.bias": (WIDTH,)}
    parts = {"ln_1": (WIDTH,), "ln_2": (WIDTH,), "attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH)}
    parts |= {"mlp.c_fc": (WIDTH, 4 * WIDTH), "mlp.c_proj": (4 * WIDTH, WIDTH)}
    for name, shape in parts.items():
        shapes[f"h.0.{name}.weight"], shapes[f"h.0.{name}.bias"] = shape, shape[-1:]
    tensors = {name: random.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    return asc.open(tensors, config=config, tokenizer=Tokenizer(template))


def by_transformers(template, chat, tools, prompt):
    messages = [{key: value for key, value in message.items() if value is not None} for message in chat]
    try:
        texts, _ = rendering.render_jinja_template(
            conversations=[copy.deepcopy(messages)], tools=tools, chat_template=template, add_generation_prompt=prompt, **SPECIAL
        )
    except Exception:  # noqa: BLE001: whatever the template raises
        return None
    return texts[0]


def by_attnscope(model, chat, tools, prompt):
    try:
        table = model.predict(
            messages={"messages": chat, "tools": tools}, no_generation_prompt=not prompt, chat_date=f"{DATE:%Y-%m-%d}", top=1
        )
    except asc.Error as error:
        return None, str(error)
    return table.models[0]["text"], ""


def main():
    class FixedDate(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return DATE

    rendering.datetime = FixedDate
    chats = {name: chat for name, chat in (CHATS | MORE_CHATS).items() if name != "values"}
    files = sorted(file for folder in sys.argv[1:] for file in pathlib.Path(folder).glob("*.jinja"))
    equal = count = 0
    lenient, different = set(), set()
    for file in files:
        template = file.read_text()
        model = tiny_model(template)
        for name, chat in chats.items():
            for tools in (None, TOOLS):
                for prompt in (True, False):
                    count += 1
                    expected = by_transformers(template, chat, tools, prompt)
                    found, error = by_attnscope(model, chat, tools, prompt)
                    if found == expected or (expected == "" and found is None):
                        continue
                    (lenient if expected is None else different).add(file.name)
                    if expected is not None:
                        print(f"{file.name}, {name}, tools {tools is not None}, prompt {prompt}: {error or 'another text'}")
        equal += file.name not in lenient | different
    print(f"{count} chats rendered by {len(files)} templates: {equal} templates equal, {len(lenient)} accept more, {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
