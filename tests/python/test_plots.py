"""Charts as SVG, PNG and HTML, without other packages."""

import base64
import json
import pathlib
import re
import struct
import sys
import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attnscope as asc
from attnscope import _core

TEXT = "To be, or not to be, that is the question"


CHANNELS = {2: 3, 3: 1, 6: 4}
"""By the kind of a PNG: red, green and blue; with a palette; with alpha."""


def kind_of(png: bytes) -> int:
    return png[25]


def pixels_of(png: bytes) -> NDArray[np.uint8]:
    """Decode a PNG with 8 bits per channel (RFC 2083) to red, green, blue and alpha."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, depth, _ = struct.unpack(">IIBB", png[16:26])
    assert depth == 8
    chunks, at = {b"IDAT": b"", b"PLTE": b""}, 8
    while at < len(png):
        size, name = struct.unpack(">I4s", png[at : at + 8])
        assert zlib.crc32(png[at + 4 : at + 8 + size]) == struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0]
        chunks[name] = chunks.get(name, b"") + png[at + 8 : at + 8 + size]
        at += 12 + size
    each = CHANNELS[kind_of(png)]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + each * width)
    out = np.zeros((height, each * width), np.int64)
    above = np.zeros(each * width, np.int64)
    for row, line in enumerate(lines):
        kind, values = int(line[0]), line[1:].astype(np.int64)
        for x in range(each * width):
            left, corner = (out[row, x - each], above[x - each]) if x >= each else (0, 0)
            guess = left + above[x] - corner
            nearest = min((abs(guess - one), place, one) for place, one in enumerate((left, above[x], corner)))[2]
            out[row, x] = (values[x] + [0, left, above[x], (left + above[x]) // 2, nearest][kind]) % 256
        above = out[row]
    found = out.astype(np.uint8).reshape(height, width, each)
    if each == 1:
        found = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)[found[..., 0]]
    if each < 4:
        found = np.concatenate([found, np.full((height, width, 1), 255, np.uint8)], axis=2)
    return found


def drawn(inside: str, width: int = 20, height: int = 10) -> NDArray[np.uint8]:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{inside}</svg>'
    return pixels_of(_core.chart_png(svg, 1.0))


def test_png_of_shapes() -> None:
    image = drawn('<rect width="20" height="10" fill="#ffffff"/><rect x="2" y="3" width="4" height="5" fill="#102030"/>')
    expected = np.full((10, 20, 4), 255, np.uint8)
    expected[3:8, 2:6] = (0x10, 0x20, 0x30, 255)
    assert np.array_equal(image, expected)
    moved = drawn('<g transform="translate(5 1) rotate(90)"><rect width="4" height="3" fill="#f00"/></g>')
    expected = np.zeros((10, 20, 4), np.uint8)
    expected[1:5, 2:5] = (255, 0, 0, 255)
    assert np.array_equal(moved, expected)


def png_of_pixels(pixels: NDArray[np.int64]) -> bytes:
    height, width, _ = pixels.shape
    rects = "".join(
        f'<rect x="{x}" y="{y}" width="1" height="1" fill="#{"".join(f"{one:02x}" for one in pixels[y, x])}"/>'
        for y in range(height)
        for x in range(width)
    )
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{rects}</svg>'
    return _core.chart_png(svg, 1.0)


def test_pngs_have_a_palette_if_colors_hardly_change() -> None:
    few = np.random.default_rng(0).integers(0, 256, (16, 16, 3))
    png = png_of_pixels(few)  # 256 colors
    assert kind_of(png) == 3 and np.array_equal(pixels_of(png)[..., :3], few)
    many = np.random.default_rng(1).integers(0, 256, (30, 30, 3))
    png = png_of_pixels(many)
    assert kind_of(png) == 2 and np.array_equal(pixels_of(png)[..., :3], many)
    close = np.full((40, 20, 3), 100)  # half of the pixels have one color, the others 400 colors
    close[:20, :, 0] += np.arange(20)[:, np.newaxis]
    close[:20, :, 1] += np.arange(20)
    png = png_of_pixels(close)
    change = np.abs(pixels_of(png)[..., :3] - close)
    assert kind_of(png) == 3 and change.max() <= 40 and not change[20:].any()


def test_pngs_of_charts_are_small(gpt2: str) -> None:
    chart = asc.open(gpt2).spectrum("q", values=True).plot()
    assert kind_of(chart.png()) == 3 and len(chart.png()) < 100_000
    assert len(chart.png(1)) < len(chart.png()) < len(chart.png(4))


def test_png_of_lines_paths_and_clips() -> None:
    line = drawn('<line x1="0" x2="20" y1="5" y2="5" stroke="#000000" stroke-width="2" stroke-dasharray="4 4"/>')
    assert [int(alpha) for alpha in line[4, :, 3]] == ([255] * 4 + [0] * 4) * 2 + [255] * 4
    path = drawn('<path d="M2 2h4v4H2zM10 1L14 1l0,8L10-.5" fill="#0000ff" fill-opacity="0.5"/>')
    assert path[3, 3].tolist() in ([0, 0, 255, 128], [0, 0, 255, 127])
    assert path[3, 12, 3] > 0 and path[3, 7, 3] == 0
    clipped = drawn('<svg x="3" y="2" width="4" height="4"><rect x="-9" width="99" height="99" fill="#0f0"/></svg>')
    assert (clipped[..., 3] > 0).sum() == 16 and clipped[2:6, 3:7, 1].min() == 255


def test_png_of_an_image_is_pixelated() -> None:
    rows = b"".join(b"\x00" + bytes(row) for row in ([0, 1], [1, 0]))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    png = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 3, 0, 0, 0))
        + chunk(b"PLTE", bytes([255, 0, 0, 0, 0, 255])) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )  # fmt: skip
    href = "data:image/png;base64," + base64.b64encode(png).decode()
    image = drawn(f'<image x="2" y="0" width="16" height="10" href="{href}" image-rendering="pixelated"/>')
    assert image[2, 4].tolist() == [255, 0, 0, 255] and image[2, 14].tolist() == [0, 0, 255, 255]
    assert image[8, 4].tolist() == [0, 0, 255, 255] and image[8, 14].tolist() == [255, 0, 0, 255]


def test_png_of_texts() -> None:
    def box(inside: str) -> tuple[int, int, int, int]:
        ink = drawn(inside, 120, 30)[..., 3] > 100
        rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
        return int(columns[0]), int(columns[-1]), int(rows[0]), int(rows[-1])

    left, right, top, bottom = box('<text x="10" y="20" font-size="16">HHH</text>')
    assert 10 <= left <= 13 and bottom == 19 and 7 <= top <= 9  # capitals of Inter are 0.73 em high
    assert box('<text x="60" y="20" font-size="16" text-anchor="end">HHH</text>')[1] in (57, 58, 59)
    centered = box('<text x="60" y="20" font-size="16" text-anchor="middle">HHH</text>')
    assert abs(sum(centered[:2]) / 2 - 59.5) < 1
    assert box('<text x="10" y="20" font-size="16">HH<tspan dy="0.25em">H</tspan></text>')[3] > bottom
    assert box('<text x="10" y="20" font-size="16" font-weight="900">HHH</text>')[1] > right
    for letter in "→≈≤≥√␣\u202f−日":  # of no font: other letters stand for them
        drawn(f'<text x="10" y="20" font-size="16">{letter}</text>', 120, 30)


def test_pngs_with_unknown_parts_are_refused() -> None:
    for inside in ("<foreignObject/>", '<rect fill="url(#a)"/>', '<path d="M0 0A1 1 0 0 0 1 1"/>', "<rect"):
        with pytest.raises(RuntimeError, match="cannot draw the chart as PNG"):
            drawn(inside)


@pytest.fixture(scope="module")
def spectrum(gpt2: str) -> asc.Table:
    return asc.spectrum(gpt2, values=True, per_head=True)


def test_plot_is_shown_and_saved(spectrum: asc.Table, tmp_path: pathlib.Path) -> None:
    chart = spectrum.plot()
    assert isinstance(chart, asc.Chart) and chart.name in spectrum.charts
    assert chart._repr_svg_() == chart.svg and chart.svg.startswith("<svg ")
    assert chart._repr_png_() == chart.png()
    bundle = chart._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]) == chart.png() and bundle["image/svg+xml"] == chart.svg
    assert set(chart._repr_mimebundle_(include=["image/png"])) == {"image/png"}
    assert "image/png" not in chart._repr_mimebundle_(exclude=["image/png"])
    for name in ("a.svg", "a.png", "a.html", "a.json", "B.PNG"):
        chart.save(tmp_path / name)
    assert (tmp_path / "a.svg").read_text() == chart.svg
    width, height = struct.unpack(">II", (tmp_path / "a.png").read_bytes()[16:24])
    assert width == 1800 and height > 400
    assert struct.unpack(">I", chart.png(scale=1)[16:20]) == (900,)
    page = (tmp_path / "a.html").read_text()
    assert chart.svg in page and not re.search(r'(href|src)="http', page)
    assert json.loads((tmp_path / "a.json").read_text()) == chart.to_dict() == spectrum.charts[chart.name]


def test_png_shows_the_ground_and_the_lines(spectrum: asc.Table) -> None:
    image = pixels_of(spectrum.plot("spectra-components").png(scale=0.5))
    colors, counts = np.unique(image.reshape(-1, 4), axis=0, return_counts=True)
    assert colors[counts.argmax()].tolist() == [0xFA, 0xFA, 0xF7, 255]
    assert len(colors) > 50  # lines, and texts with smooth edges


def test_plot_needs_no_other_package(spectrum: asc.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("altair", "matplotlib", "PIL", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    assert spectrum.plot().png()
    with pytest.raises(asc.UsageError, match=r"attnscope\[altair\]"):
        spectrum.plot().to_altair()


def test_plot_as_altair(spectrum: asc.Table) -> None:
    altair = pytest.importorskip("altair")
    assert isinstance(spectrum.plot().to_altair(), altair.TopLevelMixin)


def test_pictures_of_matrices(gpt2: str) -> None:
    model = asc.open(gpt2)
    for table in (model.matrix("q", layer=0), model.attention(TEXT, heatmap=(0, 1)), model.similarity("q", head_matrix=(0, 1))):
        chart = table.plot()
        assert "data:image/png" in chart.svg and chart.png().startswith(b"\x89PNG")
    labels = model.attention(TEXT, heatmap=(0, 1)).plot().svg
    assert ">question<" in labels or ">␣question<" in labels or ">qu<" in labels or "est" in labels


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("chart.gif", ValueError, r"expected the extension .svg, .png, .html, .json, not '.gif'"),
        ("chart", ValueError, "the name has none"),
        (3, TypeError, "expected a file name, not int"),
        ("/no/such/folder/a.svg", FileNotFoundError, "cannot write"),
    ],
)
def test_invalid_paths(spectrum: asc.Table, path: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        spectrum.plot().save(path)
    assert isinstance(raised.value, asc.Error)


def test_invalid_names_and_scales(spectrum: asc.Table) -> None:
    chart = spectrum.plot()
    with pytest.raises(KeyError, match="charts: "):
        spectrum.plot("unknown")
    with pytest.raises(TypeError, match="name: expected the name of a chart, not int"):
        spectrum.plot(3)  # type: ignore[arg-type]
    for scale, kind in ((0, ValueError), (-1, ValueError), (float("nan"), ValueError), ("2", TypeError), (None, TypeError)):
        with pytest.raises(kind, match="scale: expected a number"):
            chart.png(scale)  # type: ignore[arg-type]
    with pytest.raises(asc.UsageError, match="scale: the image would have"):
        chart.png(90)


COMPARED: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "spectrum": ("spectrum", {}, {"models-ranks"}),
    "weights": ("weights", {}, {"models-weights-std", "models-weights-excess-kurtosis"}),
    "similarity": ("similarity", {}, {"models-similarity"}),
    "overlap": ("similarity", {"overlap": True}, {"models-overlap"}),
    "circuits": ("circuits", {}, {"models-heads"}),
    "attention": ("attention", {"text": TEXT}, {"models-max-rank"}),
    "induction": ("attention", {"induction": True}, {"models-induction"}),
    "lens": ("lens", {"text": TEXT}, {"models-lens"}),
    "ablate": ("ablate", {"text": TEXT}, {"models-ablation"}),
}


@pytest.mark.parametrize("part", COMPARED)
def test_several_models_have_comparison_charts(part: str, gpt2: str, llama: str) -> None:
    command, keywords, names = COMPARED[part]
    table = getattr(asc, command)([gpt2, llama], **keywords)
    assert {name for name in table.charts if name.startswith("models-")} == names
    chart = table.plot()
    assert chart.name in names and "gpt2" in chart.svg
    assert not any(name.startswith("models-") for name in getattr(asc, command)(gpt2, **keywords).charts)


def test_compared_values_are_those_of_the_rows(gpt2: str, llama: str) -> None:
    table = asc.weights([gpt2, llama])
    lines = table.charts["models-weights-std"]["data"]["values"].splitlines()
    shown = sorted(float(line.split(",")[-1]) for line in lines[1:] if line.split(",")[-1])
    whole = [row["std"] for row in table if row["head"] is None]
    assert len(shown) >= len(whole) > 0
    assert all(any(abs(value - one) <= 1e-3 * abs(one) for value in shown) for one in whole)
