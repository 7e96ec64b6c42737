"""Measures on the device. Each function names the C++ function with the same definition.

Reductions are in float32. Only the results, one number per position, leave the device.
"""

from typing import Any, NamedTuple


class Softmax(NamedTuple):
    """Logits minus their maximum (n, V), and the logarithm of the sum of their exponentials."""

    shifted: Any
    largest: Any  # (n, 1): the maximum
    log_sum: Any  # (n,), of the shifted logits


def softmax_of(logits: Any) -> Softmax:
    """`softmax_sum` of the C++ forward pass, with few passes over the vocabulary."""
    logits = logits.float()
    largest = logits.amax(-1, keepdim=True)
    shifted = logits - largest
    return Softmax(shifted, largest, shifted.exp().sum(-1).log())


class CleanLogits(NamedTuple):
    """Logits of the unmodified model, one row per scored position: `CleanLogits` in
    attnscope/interventions/ablation.cpp."""

    probabilities: Any  # (n, V)
    mean_log: Any  # (n,): the mean of log p under p
    top: Any  # (n, 1)
    loss: Any  # (n,)


def clean_logits(logits: Any, tokens: Any) -> CleanLogits:
    """`clean_logits` and `loss_of` in attnscope/interventions/ablation.cpp. Token -1: loss 0."""
    found = softmax_of(logits)
    probabilities = (found.shifted - found.log_sum[:, None]).exp()
    mean_log = _row_products(probabilities, found.shifted) - found.log_sum
    top = logits.argmax(-1, keepdim=True)
    return CleanLogits(probabilities, mean_log, top, _losses_of(found, tokens))


def _row_products(one: Any, other: Any) -> Any:
    """Return the inner product (n,) of each row."""
    return (one[:, None] @ other[:, :, None])[:, 0, 0]


def _losses_of(found: Softmax, tokens: Any) -> Any:
    own = found.shifted.gather(-1, tokens.clamp(min=0)[:, None])[:, 0]
    return (found.log_sum - own).masked_fill(tokens < 0, 0.0)


def losses(log_probabilities: Any, tokens: Any) -> Any:
    """Return the negative log-likelihood of each token (n,), nats. Token -1: 0."""
    found = -log_probabilities.gather(-1, tokens.clamp(min=0)[:, None])[:, 0]
    return found.masked_fill(tokens < 0, 0.0)


def compared(clean: CleanLogits, logits: Any, tokens: Any) -> Any:
    """Return loss, KL(clean || changed) and whether the top token changed: (3, n).

    `compare_logits` in attnscope/interventions/ablation.cpp.
    """
    found = softmax_of(logits)
    kl = clean.mean_log - _row_products(clean.probabilities, found.shifted) + found.log_sum
    changed = found.shifted.gather(-1, clean.top)[:, 0] < 0
    return _stacked(_losses_of(found, tokens), kl.clamp(min=0), changed)


def _stacked(*rows: Any) -> Any:
    import torch

    return torch.stack([row.float() for row in rows])


def row_scales(stream: Any, norm: dict[str, Any]) -> Any:
    """Return the divisor of a norm for each row (n, 1): `normed_row` of the C++ forward pass."""
    stream = stream.float()
    if norm["centered"]:
        stream = stream - stream.mean(-1, keepdim=True)
    return (stream.square().mean(-1, keepdim=True) + norm["epsilon"]).sqrt()


def through_norm(norm: dict[str, Any] | None, given: Any, directions: Any) -> Any:
    """Map directions (n, D) back through a norm with a frozen scale: `through_norm` in
    attnscope/interventions/linear_unembedding.cpp."""
    if norm is None:
        return directions
    gains = directions.new_tensor(norm["gains"]) if norm["gains"] else 1.0
    out = gains * directions / row_scales(given, norm)
    return out - out.mean(-1, keepdim=True) if norm["centered"] else out


def through_linear(module: Any, given: Any, directions: Any) -> Any:
    """Map directions (n, D) back through a linear module: `LinearHead::through_output`.

    `given`: inputs (n, columns) of the module, for modules whose weight is not a matrix.
    """
    import torch

    weight: Any = getattr(module, "weight", None)
    if isinstance(module, torch.nn.Linear) and weight is not None and weight.is_floating_point():
        return directions @ weight.float()
    if type(module).__name__ == "Conv1D":  # of GPT-2: its weight is transposed
        return directions @ weight.float().T
    with torch.enable_grad():
        start = given.detach().requires_grad_()
        output = module(start)
        return torch.autograd.grad(output, start, directions.to(output.dtype))[0].float()


def ranks_of(tokens: Any, logits: Any) -> Any:
    """Return the rank (n,) of each token, from 1: `rank_of` in attnscope/forward/logits.cpp."""
    return 1 + (logits > logits.gather(-1, tokens[:, None])).sum(-1)


def lens_reading(logits: Any, final: Any, tokens: Any) -> Any:
    """Return loss, entropy, KL(final || this), whether the top tokens agree, and rank: (5, n).

    `reading_of` in attnscope/features/lens/logit_lens.cpp. Token -1: loss 0 and rank 0.
    """
    scores, of_final = logits.log_softmax(-1), final.log_softmax(-1)
    entropy = -(scores.exp() * scores).sum(-1)
    kl = (of_final.exp() * (of_final - scores)).sum(-1).clamp(min=0)
    agreeing = ranks_of(final.argmax(-1), logits) == 1
    ranks = ranks_of(tokens.clamp(min=0), logits).masked_fill(tokens < 0, 0)
    return _stacked(losses(scores, tokens), entropy, kl, agreeing, ranks)


def induction_scores(maps: Any, block: int) -> Any:
    """Return each map's mean attention from a repeated token to the token after its first
    occurrence: (N, H) for maps (N, H, T, T). `induction_of` in
    attnscope/interventions/induction_ablation.cpp."""
    after_first = maps.float().diagonal(offset=1 - block, dim1=2, dim2=3)
    return after_first[..., 1 : block + 1].mean(-1)
