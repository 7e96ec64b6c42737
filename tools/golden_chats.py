#!/usr/bin/env python3
"""Render chats with transformers, for tests/inputs/text/chat_template_test.cpp.

    tools/golden_chats.py > tests/data/chats.json

Needs transformers and jinja2. The templates are short ones of our own, with the constructs that templates of public models use.
"""

import datetime
import json
import sys

import transformers.utils.chat_template_utils as chats

DATE = datetime.datetime(2026, 7, 6)
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}

TEMPLATES = {
    # One marker before and after each message.
    "markers": """{% for message in messages %}
<|im_start|>{{ message.role }}
{{ message['content'] }}<|im_end|>
{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{% endif %}
""",
    # A header with the date, trimmed contents, and tools as indented JSON.
    "headers": """{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system = "" %}
{%- endif %}
{{- "[system]\\nToday is " + strftime_now("%d %b %Y") + ".\\n" }}
{%- if tools is not none %}
    {%- for tool in tools %}{{- tool | tojson(indent=4) }}{{- "\\n" }}{%- endfor %}
{%- endif %}
{{- system }}
{%- for message in messages %}
    {{- '[' + message['role'] + ']\\n' + message['content'] | trim + eos_token }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '[assistant]\\n' }}{%- endif %}""",
    # Refuses roles that do not alternate.
    "alternating": """{{ bos_token }}{% for message in messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}
{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}
{{ '<turn>' ~ role ~ '\\n' ~ (message['content'] | trim) ~ '</turn>\\n' }}{% endfor %}""",
    # Tool calls, reasoning, macros, namespaces, and loops that end early.
    "tools": """{%- macro call(name, arguments) -%}
<call name="{{ name }}">
{%- if arguments is string %}{{ arguments }}{% else %}{{ arguments | tojson }}{% endif -%}
</call>
{%- endmacro -%}
{%- set ns = namespace(last=-1, seen=[]) -%}
{%- for message in messages if message.role == 'user' %}{% set ns.last = loop.index0 %}{% endfor -%}
{%- for message in messages -%}
    {%- if message.role == 'developer' %}{% continue %}{% endif -%}
    {%- set content = message.content if message.content is string else '' -%}
    {%- if '</think>' in content -%}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') -%}
    {%- endif -%}
    <{{ message.role | upper }}>
    {%- if message.reasoning_content is defined %}<think>{{ message.reasoning_content.strip() }}</think>{% endif -%}
    {{- content -}}
    {%- for tool_call in message.tool_calls or [] -%}
        {%- set function = tool_call.function -%}
        {{- call(function.name, function.arguments) -}}
    {%- endfor -%}
    {%- if message.content is iterable and message.content is not string and message.content is not mapping -%}
        {%- for part in message.content if part.type == 'text' %}{{ part.text }}{{ '|' if not loop.last }}{% endfor -%}
    {%- endif %}
{% endfor -%}
{{ ns.last }}""",
    # Marks what the model generated.
    "generation": """{% for message in messages %}
{% if message.role == 'assistant' %}
{{ 'A: ' }}{%- generation %}{{ message.content }}{% endgeneration %}{{ eos_token }}
{% else %}
Q: {{ message.content }}
{% endif %}
{% endfor %}""",
    # Marks texts as safe, which changes what Jinja adds to them.
    "safe": """{% for message in messages %}
{% set content = message.content | tojson | safe %}
{{ '<' ~ content ~ '>' }}{{ message.content | tojson | safe }}{{ 'text:' + content }}
{% endfor %}""",
    # Prints values as Python does.
    "values": """{% for key, value in messages[0].data.items() %}{{ key }}={{ value }}
{% endfor %}{{ messages[0].data.l }} {{ messages[0].data.d }}
{{ messages[0].data | tojson }}
{{ messages[0] | tojson(separators=(',', ':'), ensure_ascii=true, sort_keys=true) }}
{{ none }} {{ true }} {{ 1.0 }} {{ 1e30 }} {{ 7 // 2 }} {{ 7 / 2 }} {{ [1, 'a', none] }} {{ undefined_name }}""",
}

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The <b>weather</b> & more of a \"city\"",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]

CHATS = {
    "user": [{"role": "user", "content": "Hi there! é 東京 <&>"}],
    "system": [{"role": "system", "content": "  Be terse.\n"}, {"role": "user", "content": "One\n"}],
    "turns": [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": " Two "},
        {"role": "user", "content": "Three"},
    ],
    "calls": [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": {"city": "Oslo", "n": 2.5, "ok": True, "no": None}},
                }
            ],
        },
        {"role": "tool", "content": '{"t": -3}'},
        {"role": "assistant", "content": "<think>\nCold.\n</think>\n\nCold", "thinking": " hm "},
        {"role": "user", "content": [{"type": "text", "text": "Part"}, {"type": "text", "text": "two"}]},
    ],
    "values": [
        {
            "role": "user",
            "content": "",
            "data": {
                "b": True,
                "n": None,
                "i": 12345678901,
                "f": 0.1,
                "g": 3.0,
                "e": 1e-7,
                "l": [1, 2.5, "it's", 'say "x"', None, False],
                "d": {"k": "é", "a": []},
                "s": "line\nbreak\t\\",
            },
        }
    ],
}


def rendered(template, chat, tools, prompt):
    """Return the text, or null if the template refuses the chat."""
    messages = [{key: value for key, value in message.items() if value is not None} for message in chat]
    try:
        texts, _ = chats.render_jinja_template(
            conversations=[messages], tools=tools, chat_template=template, add_generation_prompt=prompt, **SPECIAL
        )
    except Exception:  # noqa: BLE001: whatever the template raises
        return None
    return texts[0]


def main():
    class FixedDate(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return DATE

    chats.datetime = FixedDate
    cases = []
    for template_name, template in TEMPLATES.items():
        for chat_name, chat in CHATS.items():
            if (template_name == "values") != (chat_name == "values"):
                continue
            for tools in (None, TOOLS):
                for prompt in (True, False):
                    text = rendered(template, chat, tools, prompt)
                    cases.append({"template": template_name, "chat": chat_name, "tools": tools is not None, "prompt": prompt, "text": text})
    data = {"templates": TEMPLATES, "chats": CHATS, "tools": TOOLS, "special": SPECIAL, "date": f"{DATE:%Y-%m-%d}", "cases": cases}
    json.dump(data, sys.stdout, indent=1, ensure_ascii=False)
    print()


if __name__ == "__main__":
    main()
