"""Running a command: from the keywords of a call to a report, and from the report to a table."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from attnscope import _core, _describe
from attnscope._executor import Elsewhere
from attnscope._errors import CheckpointWarning, UsageError, UsageTypeError, error_of
from attnscope._files import write
from attnscope.live_model._commands import live_items
from attnscope._maps_source import maps_source
from attnscope._page import Page
from attnscope._progress import ProgressLine
from attnscope._safetensors import arrays_of, by_text
from attnscope._media_inputs import in_files
from attnscope._table import Table
from attnscope._token_inputs import with_tokens
from attnscope._values import IN_MEMORY, checked, split_pairs, texts_of
from attnscope._worker import ModelFiles

Arguments = list[tuple[str, str]]

PAIR = "diff"
"""The command that compares two models, which can be the same one."""


class _Open:
    """A model that is open for one call."""

    def __init__(self, core: _core.OpenModel) -> None:
        self._core = core


def _models_of(given: Any, tokenizer: Any) -> list[Any]:
    """Return models and paths. Modules are opened."""
    models = list(given) if isinstance(given, (list, tuple)) else [given]
    return [_opened(model, tokenizer) for model in models]


def _opened(model: Any, tokenizer: Any) -> Any:
    # Not at the top, because these modules need this one.
    from attnscope._memory import in_memory, is_in_memory, open_in_memory

    if is_in_memory(model):
        return _Open(open_in_memory(in_memory(model, None, tokenizer, None), ""))
    if tokenizer is None:
        return model
    source = getattr(model, "_memory", None)
    if source is None:
        raise UsageTypeError("tokenizer: only supported for weights in memory")
    memory = in_memory(source.tensors, source.config, tokenizer, source.name)
    return _Open(open_in_memory(memory, model._core.layout))


def paired(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords with the models of a pair as a list. `other`: the second one."""
    keywords = dict(given)
    first = keywords.pop("self") if "self" in keywords else keywords["models"]
    other = keywords.pop("other")
    if other is not None:
        if isinstance(first, (list, tuple)):
            raise UsageTypeError("other: not supported with a list of models")
        first = [first, other]
    return keywords | {"models": first}


def is_open(model: Any) -> bool:
    return isinstance(getattr(model, "_core", None), _core.OpenModel)


def name_of(model: Any) -> str:
    if is_open(model):
        return str(model._core.name)
    try:
        return os.fsdecode(os.fspath(model))
    except TypeError:
        kind = type(model).__name__
        raise UsageTypeError(f"expected a model, a path or a Hugging Face hub name, not {kind}") from None


class _OpenModels:
    """The open models of one call, each under a unique name.

    Two models opened with the same path can differ, because the file can change in between. The
    second one is named "MODEL#2" in arguments and in rows.
    """

    def __init__(self, given: Sequence[Any]) -> None:
        self.models = list(given)
        self.by_text: dict[str, _core.OpenModel] = {}
        self._texts: dict[int, str] = {}  # by id() of the model
        # Paths that the library opens itself during the call.
        self._places = {_place_of(name_of(model)) for model in given if not is_open(model)}

    def text_of(self, model: _core.OpenModel, is_again: bool = False) -> str:
        """Return the name of the model. `is_again`: the other model of a pair, under its own name."""
        if id(model) not in self._texts or is_again:
            text, number = model.name, 1
            while _place_of(text) in self._places or (number > 1 and os.path.exists(text)):
                number += 1
                text = f"{model.name}#{number}"
            self._places.add(_place_of(text))
            self.by_text[text] = model
            self._texts[id(model)] = text
        return self._texts[id(model)]

    def find(self, text: str) -> tuple[_core.OpenModel, str] | None:
        """Return the model with this name, and the suffix ":STACK" if the name selects a stack."""
        if text in self.by_text:
            return self.by_text[text], ""
        whole, _, stack = text.rpartition(":")
        return (self.by_text[whole], f":{stack}") if whole in self.by_text else None


def _place_of(name: str) -> str:
    """Return a path that is equal for all names of the same file, as in the library."""
    return os.path.realpath(name)


def _arguments(command: str, given: Mapping[str, Any]) -> tuple[Arguments, _OpenModels]:
    """Return the text of every keyword, and the open models among them."""
    arguments: Arguments = []
    parameters = _describe.parameters(command).values()
    models = [
        model
        for parameter in parameters
        if parameter["type"] == "models" and given.get(parameter["name"]) is not None
        for model in _models_of(given[parameter["name"]], given.get("tokenizer"))
    ]
    for model in models:
        checked("models", name_of(model), is_path=True)
    if command == PAIR and len(models) == 2 and not is_open(models[1]):
        # The library would drop a path that is given twice.
        if not is_open(models[0]) and _place_of(name_of(models[0])) == _place_of(name_of(models[1])):
            layout = given.get("layout")
            described = "" if layout is None else os.fsdecode(layout)
            models[1] = _Open(open_core(name_of(models[1]), described, bool(given.get("remote")), None))
    open_models = _OpenModels(models)
    for parameter in parameters:
        value = given.get(parameter["name"])
        if parameter["type"] != "models":
            for text in texts_of(parameter, value):
                text = checked(parameter["name"], text, parameter["type"] == "file")
                arguments.append((parameter["name"], text))
            continue
        for at, model in enumerate(models):
            is_again = command == PAIR and at == 1
            text = open_models.text_of(model._core, is_again) if is_open(model) else name_of(model)
            arguments.append(("models", text))
        # This layout would also apply to the paths that the library opens. Open models already have
        # their own.
        layouts = {model._core.layout if is_open(model) else "" for model in models}
        if given.get("layout") is None and len(layouts) == 1 and layouts != {""}:
            arguments.append(("layout", layouts.pop()))
    return arguments, open_models


def _in_any_folder(path: str) -> str:
    """Return a path that is valid in any working folder. Hub names are returned unchanged."""
    return os.path.abspath(path) if os.path.exists(path) else path


def _elsewhere(
    name: str,
    executor: Executor | None,
    given: Mapping[str, Any],
    arguments: Arguments,
    open_models: _OpenModels,
) -> AbstractContextManager[Any]:
    """Wrap the executor. None: items are computed in this process."""
    live = live_items(name, given, open_models.models)
    if live is not None:
        if executor is not None:
            raise UsageTypeError("executor: not supported with a live model, which runs on its own device")
        return live
    if executor is None:
        return nullcontext()
    if not callable(getattr(executor, "submit", None)):
        kind = type(executor).__name__
        raise UsageTypeError(f"executor: expected a concurrent.futures executor, not {kind}")
    if given.get("edits") is not None:
        raise UsageTypeError("executor: not supported with edits")
    if any(model.is_in_memory for model in open_models.by_text.values()):
        raise UsageTypeError("executor: a model in memory cannot be sent to workers: save it and open its path")
    layout = _in_any_folder(dict(arguments).get("layout", ""))

    def files_of(model: str) -> ModelFiles:
        found = open_models.find(model)
        if found is None:
            return ModelFiles(_in_any_folder(model), layout, bool(given.get("remote")))
        opened, stack = found
        described = _in_any_folder(opened.layout)
        return ModelFiles(_in_any_folder(opened.name) + stack, described, opened.is_remote)

    return Elsewhere(executor, files_of, given.get("threads") or 1)


@contextmanager
def _errors_for_memory(models: _OpenModels) -> Iterator[None]:
    """Name the keyword that a model in memory needs, instead of missing files."""
    try:
        yield
    except UsageError as error:
        is_missing = str(error.problem).startswith("has no tokenizer")
        memory = [name for name, model in models.by_text.items() if model.is_in_memory]
        if not memory or not is_missing or error.file not in (None, *memory):
            raise
        problem, hint = "has no tokenizer", "pass tokenizer= to this call or to open, or token ids with tokens"
        own = memory[0].partition("/")[2]
        parts = {"parameter": "tokenizer", "problem": problem, "hint": hint}
        raise error_of("usage", f"{own}: {problem} ({hint})", parts) from None


def _outcome(name: str, given: Mapping[str, Any], more: Arguments) -> dict[str, Any]:
    """Run a command and write its files, except those to keep in memory. Return the outcome."""
    keywords = split_pairs(with_tokens(given))
    wanted = keywords.pop("progress", None)
    executor = keywords.pop("executor", None)
    if "self" in keywords:
        keywords["models"] = keywords.pop("self")
    with in_files(keywords) as keywords:
        arguments, open_models = _arguments(name, keywords)
        with (
            ProgressLine(name, wanted) as show,
            _elsewhere(name, executor, keywords, arguments, open_models) as elsewhere,
        ):
            with _errors_for_memory(open_models):
                layers = getattr(elsewhere, "layers", None)  # of a live model
                items = None if layers is not None and not elsewhere.computes_items else elsewhere
                outcome: dict[str, Any] = _core.run(
                    name, arguments + more, open_models.by_text, show, items, layers
                )
    if executor is not None:
        elsewhere.warn(stacklevel=5)
        for model in open_models.by_text.values():  # after the run: errors from workers take precedence
            model.check_current()
    for warning in outcome["warnings"]:
        warnings.warn(warning, CheckpointWarning, stacklevel=5)
    for path, content in outcome["files"].items():
        if not path.startswith(IN_MEMORY):
            write(path, content)
    return outcome


def table_of(report: _core.Report, arrays: dict[str, Any] | None = None) -> Table:
    """Return the table of a report. Raise NumericalError if everything was skipped."""
    if len(report) or not report.skipped:
        return Table(report, arrays or {})
    first = report.skipped[0]
    where = f"{first['model']}: " if first["model"] else ""
    raise error_of(
        "numerical",
        f"{where}no matrix could be analyzed ({first['reason']})",
        {"layer": first["layer"], "problem": "no matrix could be analyzed", "hint": first["reason"]},
    )


def run(name: str, given: Mapping[str, Any]) -> Table:
    """Run a command that returns rows. `given`: all keywords, by name."""
    if name == "attention":
        # Not at the top, because this module needs tables.
        from attnscope.live_model._maps import attention_of_live, live_model_in

        live = live_model_in(given)
        if live is not None:
            return attention_of_live(live, given, _run_rows)
    return _run_rows(name, given)


def _run_rows(name: str, given: Mapping[str, Any]) -> Table:
    model = _model_of_arrays(given)
    if model is not None:
        given = {key: value for key, value in given.items() if key != "self"} | {"models": model}
    outcome = _outcome(name, given, [])
    arrays: dict[str, Any] = {}
    for path, content in outcome["files"].items():
        if path.startswith(IN_MEMORY):
            arrays |= by_text(arrays_of(content))
    table = table_of(outcome["report"], arrays)
    if model is not None and isinstance(arrays.get("tokens"), np.ndarray):
        table.tokens = model._core.token_texts(arrays["tokens"].ravel().tolist())
    if name == "attention":
        table._maps_of = maps_source(table, given, model)
    return table


def _model_of_arrays(given: Mapping[str, Any]) -> Any:
    """Return the open model of a call that keeps arrays in memory. None: the call keeps none."""
    if not any(given.get(name) is True for name in _describe.BESIDE):
        return None
    models = _models_of(given.get("self", given.get("models")), given.get("tokenizer"))
    if len(models) != 1:
        return None
    if is_open(models[0]):
        return models[0]
    layout = given.get("layout")
    described = "" if layout is None else os.fsdecode(layout)
    return _Open(open_core(name_of(models[0]), described, bool(given.get("remote")), None))


def run_page(name: str, given: Mapping[str, Any]) -> Page:
    """Run a command that returns a page."""
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
