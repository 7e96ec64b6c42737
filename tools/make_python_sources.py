#!/usr/bin/env python3
"""Writes what the package of Python has from the library's own descriptions.

_commands.py: every command as a function and as a method of models; keywords, their types and
docstrings come from the descriptions of commands and fields. _core.pyi: the types of the module's
functions, from their bindings. Needs the built package (pip install .) and nanobind. With --check it
writes nothing, and exits 1 where a file is not what it should be.
"""

import pathlib
import subprocess
import sys
import tempfile
import textwrap

from attnscope import _core, _describe
from attnscope._values import is_amount, is_ids, is_positions, is_token

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python/attnscope"

HEAD = '''"""Every command, as a function and as a method of models.

Written by tools/make_python_sources.py; change the descriptions of commands instead.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Literal, Union

from attnscope._arrays import names_models, spectrum_of
from attnscope._live import attention_of, gives_maps, refuse_live
from attnscope._page import Page
from attnscope._run import run, run_page
from attnscope._table import Table
from attnscope._values import (
    Bins,
    Head,
    Ids,
    Layers,
    Names,
    Path,
    Positions,
    Range,
    Ranks,
    Shares,
    Size,
)

if TYPE_CHECKING:
    from attnscope._model import Model

AnyModel = Union[Path, "Model"]
Models = Union[AnyModel, Sequence[AnyModel]]
'''

TYPES = {
    "flag": "bool",
    "integer": "int",
    "bytes": "Size",
    "roles": "Names",
    "layers": "Layers",
    "head": "Head",
    "receiver": "Head",
    "shares": "Shares",
    "ranks": "Ranks",
    "several": "Names",
    "bins": "Bins",
    "range": "Range",
    "text": "str",
    "file": "Path",
    "models": "Models",
}
MODELS_OF = {"spectrum": "Models | Any"}  # an array of any library, too
IN_MEMORY = {"pixel_values": "; or an array", "features": "; or an array", "image": "; or one of Pillow"}
# What functions of the module take beside a command's parameters: a live module, or its maps.
LIVE = {
    "attention": {
        "models": ("models", "Models | Any", "None", "models, as for every command; or a live module "
                   "of PyTorch that gives attention maps, of any architecture"),
        "inputs": ("inputs", "Any", "None", "of a live module: what it is called with, a dict or a "
                   "tensor, or a list of these"),
        "maps": ("maps", "Path | bool | Iterable[Any] | None", "None", "keep maps in this "
                 ".safetensors file too; or without models: pairs of a layer, by number or name, and "
                 "its maps (..., H, T, S)"),
        "mask": ("mask", "Any", "None", "of such maps: (N, T), not zero at tokens; a pair of "
                 "masks, of queries and of keys, for maps across two texts"),
        "sinks": ("sinks", "bool | None", "None", "of a live module or maps: whether a query may "
                  "leave some of its weight to no key (default: where a module has learned sinks)"),
        "name": ("name", "str | None", "None", "of a live module or maps: what rows call the model"),
    }
}
OF_SEVERAL = ("diff",)  # compare models: no method of one
OF_OPENING = ("models", "layout", "remote")  # what a model was opened with
PROGRESS = ("progress", "bool | None", "None", "whether a line tells how far the run is (default: "
            "on a terminal and in a notebook)")


EXECUTOR = ("executor", "Executor | None", "None", "computes elsewhere: any executor of "
            "concurrent.futures, whose workers open the models themselves; threads are then those "
            "of each worker (default: 1)")


def type_of(parameter):
    kind = parameter["type"]
    if kind in ("choice", "role"):
        words = ", ".join(f'"{choice}"' for choice in parameter["choices"])
        return f"Literal[{words}]" + (" | bool" if parameter["implied_text"] else "")
    if is_ids(parameter):
        return "Ids"
    if is_positions(parameter):
        return "Positions"
    if is_amount(parameter):
        return "float | str"
    if is_token(parameter):
        return "int | str"
    if parameter["name"] in IN_MEMORY:
        return "Path | Any"
    return TYPES[kind] + (" | bool" if parameter["beside"] else "")


def keywords_of(command, is_method):
    """Name, type, default and help of each; those that may be given by place come first."""
    placed, named = [], []
    for parameter in _describe.parameters(command["name"]).values():
        if is_method and parameter["name"] in OF_OPENING:
            continue
        by_place = parameter["positional"] or (is_method and parameter["name"] == "text")
        kind, default = type_of(parameter), "None"
        if parameter["type"] == "models":
            kind = MODELS_OF.get(command["name"], kind)
        if parameter["type"] == "flag":
            default = "False"
        elif parameter["needed"] and parameter["name"] not in ("text",):
            default = ""
        elif kind != "Models | Any":
            kind += " | None"
        help_text = parameter["help"] + IN_MEMORY.get(parameter["name"], "")
        (placed if by_place else named).append((parameter["name"], kind, default, help_text))
    if not is_method and command["name"] in LIVE:
        placed, named = with_live(LIVE[command["name"]], placed, named)
    named.sort(key=lambda keyword: keyword[2] != "")
    if any(parameter["name"] == "progress" for parameter in command["parameters"]):
        named.append(PROGRESS)
    if command["has_items"]:
        named.append(EXECUTOR)
    return placed, named


def with_live(live, placed, named):
    """Keywords of a live module in place of those of their names, or after them."""
    placed = [live.get(keyword[0], keyword) for keyword in placed] + [live["inputs"]]
    named = [live.get(keyword[0], keyword) for keyword in named]
    known = {keyword[0] for keyword in placed + named}
    return placed, named + [keyword for own, keyword in live.items() if own not in known]


def signature(name, placed, named, result, is_method):
    words = ["self"] if is_method else []
    for group in (placed, [None], named):
        for keyword in group:
            if keyword is None:
                words += ["*"] if named else []
                continue
            own, kind, default, _ = keyword
            words.append(f"{own}: {kind}" + (f" = {default}" if default else ""))
    indent = "    " if is_method else ""
    body = "".join(f"{indent}    {word},\n" for word in words)
    return f"{indent}def {name}(\n{body}{indent}) -> {result}:\n"


def paragraph(text, first, rest):
    return textwrap.fill(text, 100, initial_indent=first, subsequent_indent=rest)


def fields_text(command, indent):
    """Kinds of rows, and what each adds to the fields of those before it."""
    lines = []
    said = set()
    for kind in command["kinds"]:
        option = f", with {kind['option']}" if kind["option"] else ""
        lines += ["", paragraph(f"Rows{option}: {kind['meaning']}.", indent, indent)]
        for field in kind["fields"]:
            text = (field["name"], field["meaning"])
            if field["meaning"] and text not in said:
                said.add(text)
                lines.append(paragraph(f"{field['name']}: {field['meaning']}", indent + "- ",
                                       indent + "  "))
    return lines


def docstring(command, keywords, is_method):
    indent = "        " if is_method else "    "
    summary = command["summary"][0].upper() + command["summary"][1:] + "."
    lines = [paragraph(summary, indent + '"""', indent), ""]
    for name, _, _, text in keywords:
        lines.append(paragraph(f"{name}: {text}" if text else name, indent + "- ", indent + "  "))
    if not is_method:
        lines += fields_text(command, indent)
    return "\n".join(lines).replace("\\", "\\\\") + f'\n{indent}"""\n'


def function(command, is_method):
    name = command["name"]
    result, runs = ("Table", "run") if command["gives_rows"] else ("Page", "run_page")
    placed, named = keywords_of(command, is_method)
    text = signature(name, placed, named, result, is_method)
    text += docstring(command, placed + named, is_method)
    indent = "        " if is_method else "    "
    if name in MODELS_OF and not is_method:
        text += f"{indent}if not names_models(models):\n{indent}    return spectrum_of(models, locals())\n"
    if name in LIVE and not is_method:
        text += f"{indent}if gives_maps(models, maps):\n{indent}    return attention_of(locals())\n"
        text += f"{indent}refuse_live(inputs=inputs, mask=mask, sinks=sinks, name=name)\n"
    return text + f'{indent}return {runs}("{name}", locals())\n'


def commands_source():
    commands = _core.commands()
    parts = [HEAD]
    parts += [function(command, is_method=False) for command in commands]
    of_models = [
        function(command, is_method=True)
        for command in commands
        if "models" in _describe.parameters(command["name"]) and command["name"] not in OF_SEVERAL
    ]
    parts.append('class ModelCommands:\n    """The commands of one model."""\n\n'
                 + "\n".join(of_models))
    return "\n\n".join(part.rstrip("\n") + "\n" for part in parts)


def stub_source():
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "_core.pyi"
        subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "attnscope._core", "-o", file],
                       check=True)
        return '"""Written by tools/make_python_sources.py; change python/src instead."""\n\n' + file.read_text()


def main():
    for name, text in (("_commands.py", commands_source()), ("_core.pyi", stub_source())):
        file = PACKAGE / name
        if "--check" not in sys.argv:
            file.write_text(text)
        elif file.read_text() != text:
            sys.exit(f"{file} is not what the descriptions say: run {sys.argv[0]}")


if __name__ == "__main__":
    main()
