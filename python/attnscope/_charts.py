"""The charts of a report's rows."""

import json
from typing import Any

from attnscope import _core
from attnscope._errors import UsageKeyError

OF_ONE_HEAD = ("head-among-heads", "attention-heads-of-layer")
"""Charts that depend on a selection in the report; here they show the first head or layer."""


def charts_of(report: _core.Report) -> dict[str, dict[str, Any]]:
    """Return the Vega-Lite specifications that have data, by name."""
    # A report's overview repeats charts of other views. Keep the later name, from that view.
    names = {text: name for name, text in _core.charts(report) if _has_data(text)}
    ordered = sorted(names.items(), key=lambda entry: _place(entry[1]))
    return {name: json.loads(text) for text, name in ordered}


def named_chart(charts: dict[str, dict[str, Any]], name: str | None) -> dict[str, Any]:
    """Return the chart with this name, or with this unique suffix. None: the first chart."""
    if name is None:
        return next(iter(charts.values()))
    if name not in charts:
        ends = [chart for chart in charts if chart.endswith(f"-{name}")]
        if len(ends) != 1:
            raise UsageKeyError(f"{name}; charts: {', '.join(ends or charts)}")
        name = ends[0]
    return charts[name]


def _has_data(chart: str) -> bool:
    """Return whether a specification has data: more than the header line of its table."""
    data = json.loads(chart).get("data", {}).get("values")
    return not isinstance(data, str) or data.count("\n") > 1


def _place(chart: str) -> int:
    """Return the sort key: charts that compare models first, charts of one head last."""
    return -1 if chart.startswith("models-") else int(chart.endswith(OF_ONE_HEAD))
