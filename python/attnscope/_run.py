"""From the keywords of a call to a command's run, and from its report to a table."""

import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from attnscope import _core, _describe
from attnscope._executor import Elsewhere
from attnscope._errors import CheckpointWarning, error_of
from attnscope._files import write
from attnscope._page import Page
from attnscope._progress import ProgressLine
from attnscope._safetensors import arrays_of
from attnscope._media_inputs import in_files
from attnscope._table import Table
from attnscope._values import IN_MEMORY, checked, text_of
from attnscope._worker import ModelFiles

Arguments = list[tuple[str, str]]


def _models_of(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def is_open(model: Any) -> bool:
    return isinstance(getattr(model, "_core", None), _core.OpenModel)


def name_of(model: Any) -> str:
    if is_open(model):
        return str(model._core.name)
    try:
        return os.fsdecode(os.fspath(model))
    except TypeError:
        kind = type(model).__name__
        raise TypeError(f"a model, a path or a name on the hub is needed, not {kind}") from None


class _OpenModels:
    """The open models of one call, each object by a text of its own.

    Two that were opened by one path may hold different files, since a path can be written to
    between: "MODEL#2" names the second one, in arguments and in rows.
    """

    def __init__(self, given: Sequence[Any]) -> None:
        self.by_text: dict[str, _core.OpenModel] = {}
        self._texts: dict[int, str] = {}  # by the id() of each
        # Paths that the library reads itself when it is called.
        self._places = {_place_of(name_of(model)) for model in given if not is_open(model)}

    def text_of(self, model: _core.OpenModel) -> str:
        if id(model) not in self._texts:
            text, number = model.name, 1
            while _place_of(text) in self._places or (number > 1 and os.path.exists(text)):
                number += 1
                text = f"{model.name}#{number}"
            self._places.add(_place_of(text))
            self.by_text[text] = model
            self._texts[id(model)] = text
        return self._texts[id(model)]

    def find(self, text: str) -> tuple[_core.OpenModel, str] | None:
        """The model that a text names, which may be of one of its stacks, and that stack's ending."""
        if text in self.by_text:
            return self.by_text[text], ""
        whole, _, stack = text.rpartition(":")
        return (self.by_text[whole], f":{stack}") if whole in self.by_text else None


def _place_of(name: str) -> str:
    """Equal of two names that lead to the same place, as the library sees it."""
    return os.path.realpath(name)


def _arguments(command: str, given: Mapping[str, Any]) -> tuple[Arguments, _OpenModels]:
    """The texts of all keywords, and the models among them that are open."""
    arguments: Arguments = []
    parameters = _describe.parameters(command).values()
    models = [
        model
        for parameter in parameters
        if parameter["type"] == "models" and given.get(parameter["name"]) is not None
        for model in _models_of(given[parameter["name"]])
    ]
    for model in models:
        checked("models", name_of(model), is_path=True)
    open_models = _OpenModels(models)
    for parameter in parameters:
        value = given.get(parameter["name"])
        if parameter["type"] != "models":
            text = text_of(parameter, value)
            if text is not None:
                text = checked(parameter["name"], text, parameter["type"] == "file")
                arguments.append((parameter["name"], text))
            continue
        for model in models:
            text = open_models.text_of(model._core) if is_open(model) else name_of(model)
            arguments.append(("models", text))
        # It describes what the library opens, too: open models have theirs already.
        layouts = {model._core.layout if is_open(model) else "" for model in models}
        if given.get("layout") is None and len(layouts) == 1 and layouts != {""}:
            arguments.append(("layout", layouts.pop()))
    return arguments, open_models


def _in_any_folder(path: str) -> str:
    """For processes whose working folder is another one. Names on the hub stay as they are."""
    return os.path.abspath(path) if os.path.exists(path) else path


def _elsewhere(
    executor: Executor | None,
    given: Mapping[str, Any],
    arguments: Arguments,
    open_models: _OpenModels,
) -> AbstractContextManager[Elsewhere | None]:
    """None: items are computed in this process."""
    if executor is None:
        return nullcontext()
    if not callable(getattr(executor, "submit", None)):
        kind = type(executor).__name__
        raise TypeError(f"executor: one of concurrent.futures is needed, not {kind}")
    if any(model.is_in_memory for model in open_models.by_text.values()):
        raise TypeError("a model in memory cannot be sent elsewhere: save it, and open its path")
    layout = _in_any_folder(dict(arguments).get("layout", ""))

    def files_of(model: str) -> ModelFiles:
        found = open_models.find(model)
        if found is None:
            return ModelFiles(_in_any_folder(model), layout, bool(given.get("remote")))
        opened, stack = found
        described = _in_any_folder(opened.layout)
        return ModelFiles(_in_any_folder(opened.name) + stack, described, opened.is_remote)

    return Elsewhere(executor, files_of, given.get("threads") or 1)


def _outcome(name: str, given: Mapping[str, Any], more: Arguments) -> dict[str, Any]:
    """What the library gives; files beside the report are written, but for those in memory."""
    keywords = dict(given)
    wanted = keywords.pop("progress", None)
    executor = keywords.pop("executor", None)
    if "self" in keywords:
        keywords["models"] = keywords.pop("self")
    with in_files(keywords) as keywords:
        arguments, open_models = _arguments(name, keywords)
        with (
            ProgressLine(name, wanted) as show,
            _elsewhere(executor, keywords, arguments, open_models) as elsewhere,
        ):
            outcome: dict[str, Any] = _core.run(
                name, arguments + more, open_models.by_text, show, elsewhere
            )
    if elsewhere is not None:
        elsewhere.warn(stacklevel=4)
        for model in open_models.by_text.values():  # after the run: what workers met comes first
            model.check_current()
    for warning in outcome["warnings"]:
        warnings.warn(warning, CheckpointWarning, stacklevel=4)
    for path, content in outcome["files"].items():
        if not path.startswith(IN_MEMORY):
            write(path, content)
    return outcome


def table_of(report: _core.Report, arrays: dict[str, Any] | None = None) -> Table:
    """Raises NumericalError where all that there was to do was skipped."""
    if len(report) or not report.skipped:
        return Table(report, arrays or {})
    first = report.skipped[0]
    where = f"{first['model']}: " if first["model"] else ""
    raise error_of(
        "numerical",
        f"{where}no matrix could be analysed ({first['reason']})",
        {"layer": first["layer"], "problem": "no matrix could be analysed", "hint": first["reason"]},
    )


def run(name: str, given: Mapping[str, Any]) -> Table:
    """Runs a command that gives rows. `given`: all keywords, by their names."""
    outcome = _outcome(name, given, [])
    arrays: dict[str, Any] = {}
    for path, content in outcome["files"].items():
        if path.startswith(IN_MEMORY):
            arrays |= arrays_of(content)
    return table_of(outcome["report"], arrays)


def run_page(name: str, given: Mapping[str, Any]) -> Page:
    """Runs a command that writes a page."""
    outcome = _outcome(name, given, [("out", f"{name}.html")])
    return Page(outcome["text"], outcome["notes"], outcome["run_files"])


def open_core(name: str, layout: str, remote: bool, progress: bool | None) -> _core.OpenModel:
    with ProgressLine("open", progress) as show:
        opened = _core.open_model(
            checked("model", name, is_path=True),
            checked("layout", layout, is_path=True),
            bool(remote),
            show,
        )
    for warning in opened.warnings:
        warnings.warn(warning, CheckpointWarning, stacklevel=4)
    return opened
