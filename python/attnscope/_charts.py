"""The charts of a report's rows."""

import json

import numpy as np

from attnscope import _core
from attnscope._chart import Chart
from attnscope._errors import UsageKeyError, UsageTypeError
from attnscope._matrix_pictures import file_name
from attnscope._picture import Picture

OF_ONE_HEAD = ("head-among-heads", "attention-heads-of-layer")
"""Charts that depend on a selection in the report; here they show the first head or layer."""


def charts_of(report: _core.Report) -> dict[str, Chart]:
    """Return the charts that have data, by name."""
    # A report's overview repeats charts of other views. Keep the later name, from that view.
    files = {file.vega_lite: file for file in _core.charts(report) if _has_data(file.vega_lite)}
    ordered = sorted(files.values(), key=lambda file: _place(file.name))
    return {file.name: chart_of(file) for file in ordered}


def chart_of(file: _core.ChartFile) -> Chart:
    return Chart(file.name, file.title, file.svg, json.loads(file.vega_lite))


def chart_of_picture(picture: Picture) -> Chart:
    """Return the chart of a matrix. NaN is drawn as 0."""
    rows, columns = picture.values.shape
    description = {
        "title": picture.title,
        "rows": rows,
        "columns": columns,
        "signed": picture.signed,
        "limit": picture.high,
        **({} if picture.labels is None else {"labels": picture.labels}),
    }
    values = np.nan_to_num(np.ascontiguousarray(picture.values, dtype=np.float32))
    svg = _core.image_svg(json.dumps(description), values).decode()
    return Chart(file_name(picture.title), picture.title, svg, picture.chart())


def named_chart(charts: dict[str, Chart], name: str | None) -> Chart:
    """Return the chart with this name, or with this unique suffix. None: the first chart."""
    if name is None:
        return next(iter(charts.values()))
    if not isinstance(name, str):
        raise UsageTypeError(f"name: expected the name of a chart, not {type(name).__name__}")
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
