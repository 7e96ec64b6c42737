"""What a table shows besides its rows: charts, pages and views of attention maps."""

from collections.abc import Callable
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from attnscope import _core
from attnscope._chart import Chart
from attnscope._charts import chart_of_picture, charts_of, named_chart
from attnscope._errors import UsageError
from attnscope._guidance import Named, guided
from attnscope._head_view import Heads, HeadView, Maps, head_view, place_of
from attnscope._matrix_pictures import pictures_of
from attnscope._page import Page
from attnscope._picture import Picture

if TYPE_CHECKING:
    from attnscope._table import Table

OF_PAGES = ("spectrum", "weights", "similarity", "circuits", "attention")
"""Commands whose rows a report can show."""


@guided
class Drawn:
    """The part of a table that draws it."""

    _report: _core.Report
    _origin: Literal["run", "filter", "pickle"]
    _maps_of: Callable[[int | None], Maps] | None
    """Returns the attention maps of the first text. The layer: the one needed at least."""

    if TYPE_CHECKING:  # of tables

        @property
        def command(self) -> str: ...
        @property
        def notes(self) -> list[str]: ...
        @property
        def _is_whole(self) -> bool: ...
        @cached_property
        def _picture_values(self) -> str | None: ...

    @cached_property
    def charts(self) -> dict[str, dict[str, Any]]:
        """Vega-Lite specifications, including data, of the charts that a report has for these rows.

        `plot()` shows the first one by default. A table of selected columns has no charts.
        """
        return Named({name: chart.to_dict() for name, chart in self._charts.items()})

    @cached_property
    def _charts(self) -> dict[str, Chart]:
        if not self._is_whole:
            return {}
        if self._pictures:
            charts = map(chart_of_picture, self._pictures)
            return {chart.name: chart for chart in charts}
        try:
            return charts_of(self._report)
        except RuntimeError as error:
            if self._origin == "run":
                raise
            raise UsageError(f"these rows have no charts: {error}") from None

    @cached_property
    def _pictures(self) -> list[Picture]:
        """The rows as images, if they are the rows of matrices."""
        values = self._picture_values
        if values is None or not self._is_whole:
            return []
        return list(pictures_of(cast("Table", self), values))

    def page(self) -> Page:
        """Return a report page that has only these rows."""
        if self.command not in OF_PAGES or self._pictures:
            raise UsageError(f"{self.command}: rows with these keywords have no page")
        if not self._is_whole:
            raise UsageError("a table of selected columns has no page")
        created = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        content = np.frombuffer(_core.page(self._report, created), np.uint8)
        return Page(content, self.notes, None)

    def plot(self, name: str | None = None) -> Chart:
        """Return one of `charts` as an image, which a notebook displays and `save` writes.

        `name`: the chart's name or a unique suffix of it (default: the first chart).
        """
        if not self._is_whole:
            raise UsageError("a table of selected columns has no chart: plot the whole table")
        if not self._charts:
            raise UsageError(f"{self.command}: rows with these keywords have no chart")
        return named_chart(self._charts, name)

    def view(
        self,
        layer: int | str | None = None,
        head: Heads | None = None,
        *,
        part: str = "all",
        tokens: Any = None,
    ) -> HeadView:
        """Return an interactive view of heads: lines from each token to the tokens it attends to.

        Only for rows of `attention`. It shows the first text. If the call did not keep its maps
        (`maps=True`), the model runs again. For maps from elsewhere, pass `tokens`.

        - layer, head: what is shown first; `head` can be a list (default: 0). Also one text: "L3H2"
        - part: for a pair of texts, "a_to_b", "b_to_a", "a_to_a" or "b_to_b" (default: all)
        - tokens: the text of each token; for cross-attention, a pair: those of queries and keys
        """
        layer, head = place_of(layer, head)
        return head_view(self._maps(layer), layer, head, part, tokens, is_grid=False)

    def grid(
        self, layer: int | str | None = None, head: Heads | None = None, *, tokens: Any = None
    ) -> HeadView:
        """Return an interactive view of the maps of all heads. Click a map to see its tokens.

        The keywords are those of `view`.
        """
        layer, head = place_of(layer, head)
        return head_view(self._maps(None), layer, head, "all", tokens, is_grid=True)

    def _maps(self, layer: Any) -> Maps:
        if self.command != "attention":
            raise UsageError(f"{self.command}: only rows of attention have maps")
        if self._maps_of is None:
            raise UsageError("this table has no attention maps: call attention with maps=True")
        return self._maps_of(layer)
