"""Intervals and tests over prompts, compared with NumPy in float64."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnscope as asc

PROMPTS = 12
"""Few enough that all sign patterns can be enumerated."""


@pytest.fixture(scope="module")
def model() -> asc.Model:
    return asc.open(Path(__file__).parents[2] / "examples" / "induction-gpt2")


def prompts_of() -> list[dict[str, Any]]:
    """Return prompts that begin to repeat. Corrupted prompts swap the two answers."""
    random = np.random.default_rng(0)
    lines = []
    for _ in range(PROMPTS):
        clean = random.permutation(64)[:8].tolist()
        corrupted = list(clean)
        corrupted[2], corrupted[5] = corrupted[5], corrupted[2]
        lines.append(
            {
                "clean": clean + clean[:2],
                "corrupted": corrupted + corrupted[:2],
                "correct": clean[2],
                "incorrect": clean[5],
            }
        )
    return lines


def tables_of(
    model: asc.Model, command: str, lines: list[dict[str, Any]], folder: Path
) -> tuple[asc.Table, list[asc.Table]]:
    """Return the table of all prompts, and that of each prompt."""

    def table(name: str, some: list[dict[str, Any]]) -> asc.Table:
        file = folder / f"{name}.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in some))
        if command == "lens":
            return model.lens(prompts=file)
        return model.predict(attribution=True, prompts=file)

    return table("all", lines), [table(str(at), [line]) for at, line in enumerate(lines)]


def sign_flip_p(values: np.ndarray[Any, Any]) -> float:
    signs = np.array(list(itertools.product((1, -1), repeat=len(values))))
    sums = np.abs(signs @ values)
    return float(np.mean(sums >= abs(values.sum()) - 1e-12 * np.abs(values).sum()))


def benjamini_hochberg(p_values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return which hypotheses are rejected at a false discovery rate of 5%."""
    adjusted = np.empty(len(p_values))
    order = np.argsort(p_values)
    ranks = np.arange(1, len(p_values) + 1)
    smallest = np.minimum.accumulate((p_values[order] * len(p_values) / ranks)[::-1])[::-1]
    adjusted[order] = smallest
    return adjusted <= 0.05


def interval(
    parts: np.ndarray[Any, Any], wholes: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], float]:
    """Return a bootstrap interval, and its width."""
    draws = np.random.default_rng(1).integers(PROMPTS, size=(20_000, PROMPTS))
    ends = np.quantile(parts[draws].sum(1) / wholes[draws].sum(1), (0.025, 0.975))
    return ends, float(ends[1] - ends[0])


@pytest.mark.parametrize(
    ("command", "measure", "corrupted_measure"),
    [
        ("lens", "logit_difference", "corrupted_logit_difference"),
        ("predict", "direct_effect", "corrupted_direct_effect"),
    ],
)
@pytest.mark.parametrize("has_corrupted", [True, False])
def test_equals_numpy(
    model: asc.Model,
    tmp_path: Path,
    command: str,
    measure: str,
    corrupted_measure: str,
    has_corrupted: bool,
) -> None:
    lines = prompts_of()
    if not has_corrupted:
        lines = [{k: v for k, v in line.items() if k != "corrupted"} for line in lines]
    table, singles = tables_of(model, command, lines, tmp_path)
    clean = np.array([[row[measure] for row in single] for single in singles]).T
    changes = clean
    if has_corrupted:
        corrupted = [[row[corrupted_measure] for row in single] for single in singles]
        changes = clean - np.array(corrupted).T
    # The last state of the lens is the model's own prediction; direct effects sum to it.
    wholes = changes[-1] if command == "lens" else changes.sum(0)
    assert clean.shape == (len(table), PROMPTS)
    p_values = np.array([sign_flip_p(row) for row in changes])
    np.testing.assert_allclose(table["share_p_value"], p_values, rtol=1e-9)
    assert list(table["share_significant"]) == benjamini_hochberg(p_values).tolist()
    assert set(table["tests"]) == {len(table)}
    assert any(table["share_significant"])
    for row, values, own in zip(table, changes, clean, strict=True):
        assert row["share"] == pytest.approx(values.sum() / wholes.sum(), abs=1e-5)
        for name, (ends, width) in {
            "share": interval(values, wholes),
            measure: interval(own, np.ones(PROMPTS)),
        }.items():
            found = np.array([row[f"{name}_low"], row[f"{name}_high"]])
            # Two percentile bootstraps of 10,000 and 20,000 resamples differ by sampling only.
            np.testing.assert_allclose(found, ends, atol=0.06 * width + 1e-5)
