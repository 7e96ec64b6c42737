"""Matrices as images: weights, cosine similarities, the attention map of a head."""

import json
import struct
import zlib
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The report's color scales, from the smallest value to the largest.
AROUND_ZERO = "#8a2f0b #c4622d #e5a57f #f2d9c9 #f0f1ec #cfe0ec #8eb8d9 #3e7fb8 #14477f".split()
FROM_ZERO = "#f1f3ec #dce9de #b2d8ca #7cc0ba #4ba2af #2d81a4 #255e92 #233b78 #1b1b4b".split()
MOST_LABELS = 48  # tokens along one side
MOST_PIXELS = 1024  # along one side


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)


def reduced(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Downscale a matrix to at most MOST_PIXELS per side. Return it and the block size.

    Each pixel is the mean of a square block. Incomplete blocks at the right and bottom are dropped.
    """
    side = -(-max(values.shape) // MOST_PIXELS)
    if side == 1:
        return values, 1
    height, width = (max(1, size // side) for size in values.shape)
    squares = values[: height * side, : width * side].reshape(height, -1, width, side)
    return squares.mean(axis=(1, 3)), side


@dataclass
class Picture:
    """A matrix, one pixel per value."""

    title: str
    values: NDArray[np.float64]
    """(height, width), finite or NaN. NaN is transparent."""
    signed: bool
    """Whether the color scale diverges from 0."""
    row_title: str
    column_title: str
    labels: list[str] | None = None
    """Names of the rows, which are also the names of the columns."""

    @property
    def colours(self) -> list[str]:
        return AROUND_ZERO if self.signed else FROM_ZERO

    @property
    def high(self) -> float:
        """The value of the last color. In a diverging scale, 0.1% of the values may exceed it."""
        finite = self.values[np.isfinite(self.values)]
        if not finite.size:
            return 1.0
        return float(np.quantile(np.abs(finite), 0.999) if self.signed else finite.max()) or 1.0

    @property
    def low(self) -> float:
        return -self.high if self.signed else 0.0

    def png(self) -> bytes:
        """Encode as PNG with 8-bit red, green, blue and alpha channels."""
        stops = np.array([_rgb(colour) for colour in self.colours], dtype=np.float64)
        share = (self.values - self.low) / (self.high - self.low)
        at = np.clip(np.nan_to_num(share), 0, 1) * (len(stops) - 1)
        pixels = np.empty((*self.values.shape, 4), dtype=np.uint8)
        for channel in range(3):
            pixels[..., channel] = np.interp(at, np.arange(len(stops)), stops[:, channel]) + 0.5
        pixels[..., 3] = np.where(np.isfinite(self.values), 255, 0)
        height, width = self.values.shape
        lines = np.zeros((height, 1 + 4 * width), dtype=np.uint8)
        lines[:, 1:] = pixels.reshape(height, -1)
        header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
        return (
            b"\x89PNG\r\n\x1a\n"
            + _chunk(b"IHDR", header)
            + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6))
            + _chunk(b"IEND", b"")
        )

    def chart(self) -> dict[str, Any]:
        """Return a Vega-Lite specification: an image with axes and a color legend."""
        height, width = self.values.shape
        scale = max(1, min(18, 360 // max(height, width)))
        axes = {
            "x": self._axis("x", width, self.column_title),
            "y": self._axis("y", height, self.row_title),
        }
        colour = {
            "field": "value",
            "type": "quantitative",
            "title": None,
            "scale": {"domain": [self.low, self.high], "range": self.colours},
        }
        picture = {
            "url": "data:image/png;base64," + b64encode(self.png()).decode(),
            "left": 0,
            "right": width,
            "top": 0,
            "bottom": height,
        }
        ends = [{"x": 0, "y": 0, "value": self.low}, {"x": 0, "y": 0, "value": self.high}]
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "title": self.title,
            "width": width * scale,
            "height": height * scale,
            "layer": [
                {
                    "data": {"values": [picture]},
                    "mark": {"type": "image", "aspect": False, "smooth": False},
                    "encoding": {
                        "x": axes["x"] | {"field": "left"},
                        "x2": {"field": "right"},
                        "y": axes["y"] | {"field": "top"},
                        "y2": {"field": "bottom"},
                        "url": {"field": "url"},
                    },
                },
                {
                    "data": {"values": ends},
                    "mark": {"type": "point", "opacity": 0},
                    "encoding": {
                        "x": axes["x"] | {"field": "x"},
                        "y": axes["y"] | {"field": "y"},
                        "color": colour,
                    },
                },
            ],
        }

    def _axis(self, side: str, size: int, title: str) -> dict[str, Any]:
        axis: dict[str, Any] = {"grid": False, "ticks": False, "domain": False}
        if side == "x":
            axis["orient"] = "top"
        if self.labels is not None and size <= MOST_LABELS:
            # Each name is centered on its row or column.
            names = json.dumps(self.labels)
            axis |= {
                "values": [at + 0.5 for at in range(size)],
                "labelExpr": f"{names}[floor(datum.value)]",
                "labelAngle": -90 if side == "x" else 0,
                "labelOverlap": False,
            }
        domain = [0, size] if side == "x" else [size, 0]
        scale = {"domain": domain, "nice": False}
        return {"type": "quantitative", "title": title, "axis": axis, "scale": scale}
