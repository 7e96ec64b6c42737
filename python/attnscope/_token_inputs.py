"""Token ids that a caller passes in the place of a text: the output of a tokenizer, or an array."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnscope._errors import UsageError
from attnscope._values import sequences_of


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _are_ids(value: Any) -> bool:
    """Return whether the value is a list or array of integers, or several of them."""
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        return value.ndim > 0 and "int" in str(value.dtype)
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(map(_is_whole, value)) or all(_are_ids(one) for one in value)


def _kept(rows: list[Any], mask: Any) -> list[list[int]]:
    """Return the values of each row without those of padding."""
    plain = [[int(one) for one in row] for row in rows]
    if mask is None:
        return plain
    masks = sequences_of(mask)
    if [len(row) for row in plain] != [len(one) for one in masks]:
        raise UsageError("text: attention_mask has another shape than input_ids")
    return [
        [one for one, is_kept in zip(row, of_row, strict=True) if is_kept]
        for row, of_row in zip(plain, masks, strict=True)
    ]


def with_tokens(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords with `tokens` instead of `text`, if the text is the output of a tokenizer.

    Padding is removed. Texts are returned unchanged.
    """
    text = given.get("text")
    if "tokens" not in given:
        return dict(given)
    if isinstance(text, Mapping) and "input_ids" in text:
        mask = text.get("attention_mask")
        ids = _kept(sequences_of(text["input_ids"]), mask)
        types = text.get("token_type_ids")
        kinds = [] if types is None else _kept(sequences_of(types), mask)
    elif _are_ids(text):
        ids, kinds = _kept(sequences_of(text), None), []
    else:
        return dict(given)
    if given["tokens"] is not None:
        raise UsageError("tokens: not supported if text has token ids")
    found = dict(given) | {"text": None, "tokens": ids}
    if any(map(any, kinds)) and given.get("token_types") is None:
        if len(kinds) > 1:
            raise UsageError("text: several sequences with token_type_ids: pass pairs of texts")
        found["token_types"] = kinds[0]
    return found
