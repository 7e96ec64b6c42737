"""Written by tools/make_python_sources.py; change python/src instead."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import numpy.typing


version: str = '0.1.0'

def error_kinds() -> list[tuple[str, int]]:
    """Names, and exit codes of the command line."""

def commands() -> list[dict[str, Any]]:
    """Every command, with its parameters and kinds of rows."""

class Report:
    """What a command found."""

    @property
    def command(self) -> str: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def parameters(self) -> dict[str, Any]: ...

    @property
    def models(self) -> list[dict[str, Any]]: ...

    @property
    def skipped(self) -> list[dict[str, Any]]: ...

    @property
    def model_titles(self) -> list[str]: ...

    def __len__(self) -> int: ...

    def row(self, index: int) -> dict[str, Any]: ...

    def text(self, format: str, width: int = 100) -> str: ...

    def column_names(self) -> list[str]: ...

    def column(self, index: int) -> dict[str, Any]: ...

    def arrow_schema(self) -> object: ...

    def arrow_stream(self) -> object: ...

class OpenModel:
    """A model whose files or tensors are kept."""

    @property
    def name(self) -> str: ...

    @property
    def layout(self) -> str: ...

    @property
    def is_remote(self) -> bool: ...

    @property
    def warnings(self) -> list[str]: ...

    @property
    def is_in_memory(self) -> bool: ...

    def check_current(self) -> None:
        """Raises where its path leads to other files than those that are open."""

    @property
    def row_name(self) -> str: ...

    @property
    def facts(self) -> str:
        """Of each of its stacks, as a JSON list."""

def open_model(name: str, layout: str, remote: bool, show_progress: Callable[..., None] | None) -> OpenModel: ...

def open_in_memory(name: str, tensors: Sequence[tuple[str, Any]], config: str | None, tokenizer: str | None, layout: str) -> OpenModel: ...

class RunFiles:
    """What a run reads, and where it writes."""

    def check_output(self, path: str) -> None:
        """Raises UsageError where it is a file that the run read."""

def compute_item(item: str, model: OpenModel, threads: int) -> str:
    """The text of the outcomes of a work item."""

def run(command: str, arguments: Sequence[tuple[str, str]], models: Mapping[str, OpenModel], show_progress: Callable[..., None] | None, elsewhere: Callable[[str, str, Callable[[], bool]], str | None] | None) -> dict[str, Any]:
    """
    Runs a command with texts for its parameters. `models`: open ones, by their names.
    """

def spectrum_of(array: Any, arguments: Sequence[tuple[str, str]]) -> Report: ...

def attention_rank(maps: numpy.typing.NDArray[numpy.float32], energy: float) -> list[int]: ...

def charts(report: Report) -> list[tuple[str, str]]:
    """Names and Vega-Lite specifications."""

def page(report: Report, created: str) -> bytes:
    """The page of a report that has these rows alone."""

class LiveRun:
    """Maps that are measured as they come."""

    def __init__(self, arguments: Sequence[tuple[str, str]], source: str, sequences: int, length: int, tokens_hash: str) -> None: ...

    def add_model(self, name: str, stack: str, architecture: str, parameters: int | None, layers: int | None, width: int | None) -> int:
        """Its number."""

    def wants(self, model: int, layer: int) -> bool: ...

    def put(self, model: int, layer: int, name: str, maps: Any, cross: bool, sinks: bool, queries: Sequence[Sequence[int]], keys: Sequence[Sequence[int]], layer_bytes: int) -> float:
        """
        Maps (N, H, T, S) of one layer, or a part of them. Seconds that it waited for room.
        """

    def wait(self) -> float:
        """Until all is measured: how many seconds."""

    def report(self, notes: Sequence[str]) -> Report: ...

def run_command_line(words: Sequence[str]) -> int:
    """What the program does with these words, its name first; its exit code."""
