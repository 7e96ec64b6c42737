"""Attention statistics in float64 NumPy: an independent implementation of docs/metrics.md, "Attention maps"."""

import numpy as np

TOP_COLUMNS = 8
COLLAPSED_KEYS = 16  # maps with fewer keys are not tested for rank collapse
LEAST_UNATTENDED = 1e-6  # smaller values are rounding errors
ROUNDING = 1e-12  # a threshold that is missed by this share counts as reached
FIELDS = ("energy_rank", "energy_columns", "first_column_share", "entropy", "sink_mass", "previous_token", "current_token",
          "mean_distance", "learned_sink_mass")


def fewest(values: np.ndarray, share: float) -> tuple[int, float]:
    """Return how many of the descending `values` are needed for this share of their sum, and the margin as a share of the sum."""
    sums = np.cumsum(values)
    if sums.size == 0 or sums[-1] == 0:
        return 0, 1.0
    wanted = share * sums[-1] * (1 - ROUNDING)
    return int(np.sum(sums < wanted)) + 1, float(np.min(np.abs(sums - wanted)) / sums[-1])


def measure(weights: np.ndarray, energy: float, exclude_first_token: bool) -> dict:
    """Compute the statistics of one map (T, T). `clear`: margin by which its rank and its energy columns are unambiguous."""
    weights = weights.astype(np.float64)
    length = weights.shape[0]
    queries, keys = np.indices(weights.shape)
    ranked = weights.copy()
    if exclude_first_token:
        ranked[:, 0] = 0
    rank, clear_rank = fewest(np.linalg.svd(ranked, compute_uv=False) ** 2, energy)
    squares = np.sum(ranked**2, axis=0)
    order = np.argsort(-squares, kind="stable")
    if exclude_first_token:
        order = order[order != 0]
    columns, clear_columns = fewest(squares[order], energy)
    learned_sink_mass = 1 - weights.sum() / length
    logarithms = np.log(np.where(weights > 0, weights, 1))
    return {
        "energy_rank": rank,
        "energy_columns": columns,
        "top_columns": order[:min(columns, TOP_COLUMNS)].tolist(),
        "first_column_share": squares[order[0]] / squares[order].sum() if columns else None,
        "entropy": -(weights * logarithms).sum() / length,
        "sink_mass": weights[:, 0].mean(),
        "previous_token": np.diagonal(weights, -1).mean() if length > 1 else None,
        "current_token": np.diagonal(weights).mean(),
        "mean_distance": (weights * np.abs(queries - keys)).sum() / length,
        "learned_sink_mass": learned_sink_mass if learned_sink_mass >= LEAST_UNATTENDED else 0.0,
        "clear": min(clear_rank, clear_columns),
    }


def patch_distance(weights: np.ndarray, rows: int, columns: int) -> float | None:
    """Compute the patch distance of a map (T, T) whose last rows and columns are patches."""
    patches = rows * columns
    weights = weights[-patches:, -patches:].astype(np.float64)
    places = np.stack(np.divmod(np.arange(patches), columns), axis=1).astype(np.float64)
    away = np.linalg.norm(places[:, None] - places[None, :], axis=2)
    given = weights.sum(axis=1)
    if not given.any():
        return None
    return float(((weights * away).sum(axis=1)[given > 0] / given[given > 0]).mean())


def diagonality(weights: np.ndarray) -> float | None:
    """Return how close the weights of a map (T, S) are to the line from its first to its last corner."""
    if weights.shape[1] < 2:
        return None
    rows, columns = ((np.arange(size) + 0.5) / size for size in weights.shape)
    away = np.abs(rows[:, None] - columns[None, :])
    return float((1 - (weights * away).sum(axis=1) / away.max(axis=1)).mean())


def monotonicity(weights: np.ndarray) -> float | None:
    """Return the share of pairs of rows whose centers of mass are in row order. Equal centers count one half."""
    if min(weights.shape) < 2:
        return None
    centres = (weights * np.arange(weights.shape[1])).sum(axis=1) / weights.sum(axis=1)
    earlier, later = np.triu_indices(len(centres), 1)
    steps = centres[later] - centres[earlier]
    return float(np.where(np.abs(steps) <= 1e-6 * weights.shape[1], 0.5, steps > 0).mean())


def measure_across(weights: np.ndarray, energy: float) -> dict:
    """Compute the statistics of one cross-attention map (T, S)."""
    weights = weights.astype(np.float64)
    queries, keys = weights.shape
    squares = np.sum(weights**2, axis=0)
    even = np.full(weights.shape, 1 / keys)
    return {
        "energy_rank": fewest(np.linalg.svd(weights, compute_uv=False) ** 2, energy)[0],
        "energy_columns": fewest(np.sort(squares)[::-1], energy)[0],
        "first_column_share": squares.max() / squares.sum(),
        "entropy": -(weights * np.log(np.where(weights > 0, weights, 1))).sum() / queries,
        "sink_mass": weights[:, 0].mean(),
        "uniform_sink_mass": 1 / keys,
        "diagonality": diagonality(weights),
        "uniform_diagonality": diagonality(even),
        "monotonicity": monotonicity(weights),
    }


def even_map(visible: np.ndarray) -> np.ndarray:
    """Return the uniform attention map (T, T): the same weight on every visible key."""
    return visible / visible.sum(axis=1, keepdims=True)


def repeated(weights: np.ndarray, back: int) -> float:
    """Return the mean weight of queries in the second half on the key `back` positions earlier."""
    half = weights.shape[0] // 2
    return float(np.mean([weights[query, query - back] for query in range(half, weights.shape[0])]))


def mean_with_error(values: list) -> tuple[float | None, float | None]:
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if known.size == 0:
        return None, None
    return known.mean(), known.std(ddof=1) / np.sqrt(known.size) if known.size > 1 else None


def most_frequent(tops: list[list[int]], columns: float) -> list[int]:
    times: dict[int, int] = {}
    for top in tops:
        for column in top:
            times[column] = times.get(column, 0) + 1
    wanted = int(np.clip(np.floor(columns + 0.5), 1, TOP_COLUMNS))
    return sorted(times, key=lambda column: (-times[column], column))[:wanted]


def rows_of(maps: np.ndarray, energy: float, exclude_first_token: bool) -> tuple[list[dict], float]:
    """Compute the rows of a model from maps (sequences, layers, heads, T, T), and their smallest margin."""
    rows, clear = [], 1.0
    for layer in range(maps.shape[1]):
        found = [[measure(head, energy, exclude_first_token) for head in sequence[layer]] for sequence in maps]
        clear = min(clear, min(head["clear"] for sequence in found for head in sequence))
        # A position that no head of any sequence attends to is masked.
        even = measure(even_map((maps[:, layer] > 0).any(axis=(0, 1))), energy, exclude_first_token)
        for head in range(maps.shape[2]):
            row = {"layer": layer, "head": head, "sequences": len(maps)}
            for name in FIELDS:
                row[name], row[name + "_error"] = mean_with_error([sequence[head][name] for sequence in found])
                if name in ("sink_mass", "previous_token"):
                    row["uniform_" + name] = even[name]
            row["top_columns"] = most_frequent([sequence[head]["top_columns"] for sequence in found], row["energy_columns"])
            rows.append(row)
        row = {"layer": layer, "head": None, "sequences": len(maps),
               "max_rank": max(row["energy_rank"] for row in rows if row["layer"] == layer)}
        for name, values in (("mean_max_rank", [max(head["energy_rank"] for head in heads) for heads in found]),
                             ("mean_energy_columns", [np.mean([head["energy_columns"] for head in heads]) for heads in found])):
            row[name], row[name + "_error"] = mean_with_error(values)
        row["uniform_energy_columns"] = even["energy_columns"]
        judged = energy == 0.9 and maps.shape[-1] - exclude_first_token >= COLLAPSED_KEYS
        row["collapsed"] = bool(row["mean_max_rank"] < 2 and row["mean_energy_columns"] < 2) if judged else None
        rows.append(row)
    return rows, clear
