"""Which commands run on a live model's device, and which are refused."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnscope import _describe
from attnscope._errors import UnsupportedError

if TYPE_CHECKING:
    from attnscope.live_model._items import LiveItems

WITHOUT_PASS = ("circuits", "diff", "export", "info", "matrix", "similarity", "spectrum", "weights")
"""Commands that only read weights, unless they are given a text."""

ON_TEXT = ("text", "text_file", "text_pair", "tokens", "token_file", "image", "audio", "prompts")
"""Keywords that name what a model runs on."""

COMMON = frozenset({
    "models", "text", "text_pair", "text_file", "tokens", "token_types", "no_special_tokens",
    "token_file", "sequences", "length", "seed", "consecutive", "lines", "score_positions",
    "threads", "memory", "store",
})  # fmt: skip
"""Keywords that every command supports on a live model."""

LIVE: dict[str, frozenset[str]] = {
    "attention": COMMON | {"layers", "energy", "exclude_first_token", "log"},
    "ablate": COMMON | {"layers", "components", "ablation", "induction"},
    "lens": COMMON | {"states", "top"},
}
"""Commands that run on the device, with the keywords that they support there."""


def live_items(
    command: str, given: Mapping[str, Any], models: Sequence[Any]
) -> "LiveItems | None":
    """Return what computes the items of a call on a live model. None: the library does."""
    live = [model for model in models if hasattr(model, "_live_items")]
    if not live:
        return None
    asked = [key for key, value in given.items() if value is not None and value is not False]
    if command in WITHOUT_PASS:
        refused = [key for key in asked if key in ON_TEXT]
        if refused:
            raise _refused(command, refused[0])
        return None
    if command not in LIVE:
        raise _refused(command, "")
    refused = [
        key for key in asked if key in _describe.parameters(command) and key not in LIVE[command]
    ]
    if refused:
        raise _refused(command, refused[0])
    if len(models) > 1:
        raise UnsupportedError(f"{command}: not supported for several models of which one is live")
    if len(live[0]._stacks) > 1:
        raise UnsupportedError(
            f"{command}: not supported on a live model with several stacks, such as an encoder and a "
            "decoder; attnscope.open(module) computes it on the CPU"
        )
    items: LiveItems = live[0]._live_items(given.get("threads"))
    return items


def _refused(command: str, keyword: str) -> UnsupportedError:
    what = f"{keyword} of {command}" if keyword else command
    return UnsupportedError(
        f"{what}: not supported on a live model; attnscope.open(module) computes it on the CPU"
    )
