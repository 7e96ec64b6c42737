"""From the keywords of a call to a command's run, and from its report to a table."""

import os
import warnings
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from attnscope import _core, _describe
from attnscope._elsewhere import Elsewhere
from attnscope._errors import CheckpointWarning, error_of
from attnscope._files import write
from attnscope._page import Page
from attnscope._progress import ProgressLine
from attnscope._safetensors import arrays_of
from attnscope._signals import in_files
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


def _arguments(command: str, given: Mapping[str, Any]) -> tuple[Arguments, dict[str, _core.OpenModel]]:
    """The texts of all keywords, and the models among them that are open."""
    arguments: Arguments = []
    open_models: dict[str, _core.OpenModel] = {}
    for parameter in _describe.parameters(command).values():
        value = given.get(parameter["name"])
        if parameter["type"] != "models":
            text = text_of(parameter, value)
            if text is not None:
                text = checked(parameter["name"], text, parameter["type"] == "file")
                arguments.append((parameter["name"], text))
            continue
        for model in _models_of(value) if value is not None else []:
            name = checked("models", name_of(model), is_path=True)
            arguments.append(("models", name))
            if not is_open(model):
                continue
            open_models[name] = model._core
            if model._core.layout and given.get("layout") is None:
                arguments.append(("layout", model._core.layout))
    return arguments, open_models


def _in_any_folder(path: str) -> str:
    """For processes whose working folder is another one. Names on the hub stay as they are."""
    return os.path.abspath(path) if os.path.exists(path) else path


def _elsewhere(
    executor: Executor | None,
    given: Mapping[str, Any],
    arguments: Arguments,
    open_models: Mapping[str, _core.OpenModel],
) -> AbstractContextManager[Elsewhere | None]:
    """None: items are computed in this process."""
    if executor is None:
        return nullcontext()
    if not callable(getattr(executor, "submit", None)):
        kind = type(executor).__name__
        raise TypeError(f"executor: one of concurrent.futures is needed, not {kind}")
    if any(model.is_in_memory for model in open_models.values()):
        raise TypeError("a model in memory cannot be sent elsewhere: save it, and open its path")
    layout = _in_any_folder(dict(arguments).get("layout", ""))

    def files_of(model: str) -> ModelFiles:
        opened = open_models.get(model)
        remote = given.get("remote") if opened is None else opened.is_remote
        return ModelFiles(_in_any_folder(model), layout, bool(remote))

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
                name, arguments + more, open_models, show, elsewhere
            )
    if elsewhere is not None:
        elsewhere.warn(stacklevel=4)
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
