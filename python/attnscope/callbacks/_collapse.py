"""Warnings for attention that collapses during training. docs/metrics.md defines the thresholds."""

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

ENTROPY_SHARE = 0.1
"""A layer's entropy has collapsed if its mean over heads is below this share of uniform attention's."""

FEWEST_KEYS = 16
"""Texts with fewer keys cannot be judged, as for the field `collapsed`."""


class CollapseWarning(UserWarning):
    """Warns that the attention of a layer has collapsed."""


def uniform_entropy(lengths: Iterable[int], causal: bool) -> float:
    """Return the entropy of uniform attention in nats, as a mean over queries and then sequences."""
    def of(length: int) -> float:
        return math.lgamma(length + 1) / length if causal else math.log(length)

    each = [of(length) for length in lengths]
    return sum(each) / len(each)


class Collapse:
    """Warns once per layer and kind of collapse, and again after the layer has recovered."""

    def __init__(self) -> None:
        self._warned: set[tuple[str, str]] = set()

    def check(self, step: int, layers: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
        """Return the number of collapsed layers of each kind.

        `layers`: by the layer's name, `entropy_share` and `collapsed`. None: cannot be judged.
        """
        counts = {"entropy": 0, "rank": 0}
        for layer, values in layers.items():
            share, collapsed = values["entropy_share"], values["collapsed"]
            has_collapsed = {
                "entropy": share is not None and share < ENTROPY_SHARE,
                "rank": bool(collapsed),
            }
            for kind, is_so in has_collapsed.items():
                counts[kind] += is_so
                if not is_so:
                    self._warned.discard((kind, layer))
                elif (kind, layer) not in self._warned:
                    self._warned.add((kind, layer))
                    warnings.warn(_message(kind, layer, step, values), CollapseWarning, stacklevel=2)
        return counts


def _message(kind: str, layer: str, step: int, values: Mapping[str, Any]) -> str:
    if kind == "entropy":
        return (
            f"step {step}: attention entropy of {layer} has collapsed to {values['entropy']:.3f} nats, "
            f"{100 * values['entropy_share']:.1f}% of uniform attention (threshold: "
            f"{100 * ENTROPY_SHARE:.0f}%): lower the learning rate, or normalize queries and keys"
        )
    return (
        f"step {step}: attention maps of {layer} have collapsed to rank one (mean max_rank "
        f"{values['max_rank']:.2f}, energy columns {values['energy_columns']:.2f}; threshold: 2)"
    )
