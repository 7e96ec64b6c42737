"""Measures the attention of a model every N steps of its training."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnscope._commands import attention, spectrum
from attnscope._errors import Error, NumericalError, UsageError
from attnscope._guidance import guided
from attnscope._modules import module_in
from attnscope._sharded import refuse_sharded
from attnscope._table import Table
from attnscope._values import Layers
from attnscope.callbacks._collapse import FEWEST_KEYS, Collapse, uniform_entropy
from attnscope.callbacks._probe import Capture, Probe

OF_MATRICES = ("effective_rank", "stable_rank", "spectral_norm")
"""Fields of `spectrum` that are logged for each matrix."""


@guided
class Monitor:
    """Measures a model every `every` steps, and keeps the results of all steps.

    - every: steps between measurements
    - layers: layers to measure (default: the first, the middle and the last)
    - matrix: weight matrices whose spectra are measured, for models that `attnscope.open` opens
      (default: W_Q and W_K). Empty: none
    - inputs: input on which attention is measured: the keywords of the model's forward call
      (default: the first batch of the training, without labels)
    - sequences: number of sequences of that batch to use
    - length: number of tokens of these sequences to use
    - threads: threads of the analysis (default: all processors)

    Attributes:

    - history: one dict per measured step: `step` and all scalars
    """

    def __init__(
        self,
        every: int = 100,
        *,
        layers: Layers | None = None,
        matrix: Sequence[str] | str = ("q", "k"),
        inputs: Mapping[str, Any] | None = None,
        sequences: int = 2,
        length: int = 64,
        threads: int | None = None,
    ) -> None:
        for name, value in (("every", every), ("sequences", sequences), ("length", length)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name}: expected a number from 1, not {value!r}")
        self.every = every
        self.history: list[dict[str, float]] = []
        self._layers = layers
        self._matrix = matrix
        self._inputs = inputs
        self._sequences = sequences
        self._length = length
        self._threads = threads
        self._collapse = Collapse()
        self._is_on = True
        self._probe: Probe | None = None
        self._capture: Capture | None = None

    def before_step(self, model: Any) -> None:
        """Keep the first training batch as the input of all measurements."""
        if self._probe is not None or self._capture is not None:
            return
        if self._inputs is not None:
            self._probe = Probe(module_in(model), dict(self._inputs))
        else:
            self._capture = Capture(model, self._sequences, self._length)

    def after_step(self, model: Any, step: int) -> dict[str, float] | None:
        """Measure the model if the step is a multiple of `every`. Return its scalars, or None.

        An error ends the measurements with a warning, but not the training.
        """
        if self._capture is not None:
            self._probe = self._probe or self._capture.probe
            self._capture.stop()
            self._capture = None
        if step % self.every or not self._is_on:
            return None
        try:
            return self.measure(model, step)
        except Error as error:
            self._is_on = False
            warnings.warn(f"step {step}: no more measurements in this run: {error}", stacklevel=2)
            return None

    def measure(self, model: Any, step: int) -> dict[str, float]:
        """Measure the model now. Return the scalars, by names such as `attention/entropy/layer_0`.

        A model whose maps hold NaN is reported by a warning, so that the training can continue.
        """
        refuse_sharded(model)
        if self._probe is None:
            self.before_step(model)
        if self._probe is None:
            raise UsageError("inputs: missing: no training batch was seen before this step")
        scalars: dict[str, float] = {}
        try:
            scalars |= self._of_attention(step)
            scalars |= self._of_weights()
        except NumericalError as error:
            warnings.warn(f"step {step}: attention was not measured: {error}", stacklevel=2)
        self.history.append({"step": step, **scalars})
        return scalars

    def _chosen(self) -> Any:
        assert self._probe is not None
        if self._layers is not None:
            return self._layers
        config = getattr(self._probe.module, "config", None)
        count = getattr(config, "num_hidden_layers", None)
        return [0, count // 2, count - 1] if isinstance(count, int) and count > 0 else None

    def _of_attention(self, step: int) -> dict[str, float]:
        assert self._probe is not None
        module, inputs = self._probe
        table = attention(module, inputs, layers=self._chosen(), threads=self._threads, name="model")
        scalars: dict[str, float] = {}
        layers: dict[str, dict[str, Any]] = {}
        for facts in table.models:
            uniform, keys = self._uniform(table, bool(facts.get("causal")))
            rows = [row for row in table if row["model"] == facts["name"]]
            stack = facts.get("stack") or ""
            for layer in sorted({row["layer"] for row in rows}):
                name = f"{stack}.layer_{layer}" if stack else f"layer_{layer}"
                found = _layer_values([row for row in rows if row["layer"] == layer])
                share = found["entropy"] / uniform if keys >= FEWEST_KEYS else None
                layers[name] = {**found, "entropy_share": share}
                values = {**found, "entropy_share": found["entropy"] / uniform}
                for field, value in values.items():
                    if value is not None and field != "collapsed":
                        scalars[f"attention/{field}/{name}"] = float(value)
        for kind, count in self._collapse.check(step, layers).items():
            scalars[f"attention/{kind}_collapsed_layers"] = float(count)
        return scalars

    def _uniform(self, table: Table, causal: bool) -> tuple[float, int]:
        """Return the entropy of uniform attention, and the smallest number of keys."""
        assert self._probe is not None
        mask = self._probe.inputs.get("attention_mask")
        if mask is not None and mask.ndim == 2:
            lengths = [int(one) for one in (mask != 0).sum(-1).tolist()]
        else:
            lengths = [int(table.parameters["length"])]
        return max(uniform_entropy(lengths, causal), 1e-9), min(lengths)

    def _of_weights(self) -> dict[str, float]:
        assert self._probe is not None
        matrices = [self._matrix] if isinstance(self._matrix, str) else list(self._matrix)
        parts = (part for _, part in self._probe.module.named_modules())
        module = next((part for part in parts if _has_config(part)), None)
        if not matrices or module is None:
            return {}
        table = spectrum(module, matrix=matrices, layers=self._chosen(), threads=self._threads)
        return {
            f"spectrum/{field}/layer_{row['layer']}/{row['matrix']}": float(row[field])
            for row in table
            for field in OF_MATRICES
            if row[field] is not None
        }


def _has_config(part: Any) -> bool:
    return hasattr(getattr(part, "config", None), "to_json_string")


def _layer_values(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the means over heads, the lowest entropy of a head, and the fields of the layer."""
    heads = [row for row in rows if row["head"] is not None]
    layer = next(row for row in rows if row["head"] is None)
    entropies = [row["entropy"] for row in heads]
    return {
        "entropy": float(np.mean(entropies)),
        "min_entropy": float(np.min(entropies)),
        "sink_mass": float(np.mean([row["sink_mass"] for row in heads])),
        "energy_rank": float(np.mean([row["energy_rank"] for row in heads])),
        "max_rank": layer["mean_max_rank"],
        "energy_columns": layer["mean_energy_columns"],
        "collapsed": layer["collapsed"],
    }


