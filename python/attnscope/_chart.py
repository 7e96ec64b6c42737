"""Charts: images that a notebook displays and that can be saved."""

import html
import json
import os
from base64 import b64encode
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attnscope import _core
from attnscope._errors import UsageError, UsageTypeError
from attnscope._guidance import Hinted, guided
from attnscope._files import write
from attnscope._values import Path

if TYPE_CHECKING:
    import altair

SCALE = 2  # pixels of a PNG per unit of the SVG: sharp on screens with a high pixel density


@guided
class Chart(Hinted):
    """A chart of a table. A notebook displays it; `save` writes it as SVG, PNG or HTML.

    The image needs no other package. It is the image that `attnscope report --charts` writes.
    """

    _hints = {
        **dict.fromkeys(("show", "display", "open"), "the chart as the last line of a notebook cell, or chart.save('chart.png')"),
        **dict.fromkeys(("savefig", "write", "to_png", "to_svg", "to_html"), "chart.save('chart.png')"),
    }

    def __init__(self, name: str, title: str, svg: str, vega_lite: dict[str, Any]) -> None:
        self.name = name
        """Name among the charts of the table."""
        self.title = title
        self.svg = svg
        """The image as an SVG document."""
        self._vega_lite = vega_lite
        self._pngs: dict[float, bytes] = {}

    def png(self, scale: float = SCALE) -> bytes:
        """Return the image as PNG. `scale`: pixels per unit of the SVG, which is 900 wide."""
        if isinstance(scale, bool) or not isinstance(scale, (int, float, np.number)):
            raise UsageTypeError(f"scale: expected a number, not {type(scale).__name__}")
        if not 0 < scale <= 100:
            raise UsageError(f"scale: expected a number above 0, up to 100, not {scale}")
        if scale not in self._pngs:
            self._pngs[scale] = _core.chart_png(self.svg, float(scale))
        return self._pngs[scale]

    @cached_property
    def html(self) -> str:
        """The image in an HTML document."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{html.escape(self.title)}</title>"
            "<style>body { margin: 0 } svg { max-width: 100%; height: auto }</style></head>\n"
            f"<body>{self.svg}</body></html>\n"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the chart as a Vega-Lite specification that includes its data."""
        return self._vega_lite

    def to_altair(self) -> "altair.Chart":
        """Return the chart as an Altair chart, for changes. Needs Altair."""
        try:
            import altair
        except ImportError:
            raise UsageError(
                'to_altair needs Altair, which is not installed: pip install "attnscope[altair]"'
            ) from None
        return altair.Chart.from_dict(self._vega_lite)

    def save(self, path: Path) -> None:
        """Write the chart. The extension of the path selects the format: .svg, .png, .html, .json.

        A .json file contains the Vega-Lite specification.
        """
        contents: dict[str, Callable[[], bytes]] = {
            ".svg": lambda: self.svg.encode(),
            ".png": self.png,
            ".html": lambda: self.html.encode(),
            ".json": lambda: (json.dumps(self._vega_lite, indent=2) + "\n").encode(),
        }
        save(path, contents)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_png_(self) -> bytes:
        return self.png()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return SVG, and PNG for notebooks and documents that cannot show SVG."""
        made: dict[str, Callable[[], str]] = {
            "image/svg+xml": lambda: self.svg,
            "image/png": lambda: b64encode(self.png()).decode(),
            "text/plain": lambda: repr(self),
        }
        return {
            kind: make()
            for kind, make in made.items()
            if (not include or kind in include) and not (exclude and kind in exclude)
        }

    def __repr__(self) -> str:
        return f"<attnscope.Chart {self.name!r}; .save('chart.svg')>"


def save(path: Path, contents: dict[str, Callable[[], bytes]]) -> None:
    """Write a file in the format of its extension. `contents`: what makes it, by extension."""
    try:
        name = os.fsdecode(os.fspath(path))
    except TypeError:
        raise UsageTypeError(f"path: expected a file name, not {type(path).__name__}") from None
    extension = os.path.splitext(name)[1].lower()
    if extension not in contents:
        found = f"not {extension!r}" if extension else "but the name has none"
        raise UsageError(f"path: expected the extension {', '.join(contents)}, {found}")
    write(name, np.frombuffer(contents[extension](), np.uint8))
