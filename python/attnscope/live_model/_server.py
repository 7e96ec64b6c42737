"""The page of a live model: `LiveModel.serve`."""

import html
import weakref
from collections.abc import Callable
from typing import Any

from attnscope import _core
from attnscope.live_model._items import LiveItems


class ServedItems:
    """Computes the items of a server, which runs for a long time: it uses the module only meanwhile."""

    def __init__(self, items: LiveItems) -> None:
        self._items = items

    def __call__(self, model: str, item: str, stopped: Callable[[], bool]) -> str | None:
        with self._items:
            return self._items(model, item, stopped)


class Server:
    """A running server of a live model's page. `stop()` ends it, as the end of Python does.

    A notebook shows a link to the page.
    """

    def __init__(self, core: _core.OpenModel, items: Any, arguments: list[tuple[str, str]]) -> None:
        self._server = _core.Server(core, arguments, items)
        self._end = weakref.finalize(self, self._server.stop)

    @property
    def address(self) -> str:
        """The address of the page."""
        return self._server.address

    def stop(self) -> None:
        """End the server and its running jobs."""
        self._end()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = self.address if self._end.alive else "stopped"
        return f"<attnscope.Server {state}>"

    def _repr_html_(self) -> str:
        address = html.escape(self.address, quote=True)
        return f'<a href="{address}" target="_blank">{address}</a>'  # pages must not frame it
