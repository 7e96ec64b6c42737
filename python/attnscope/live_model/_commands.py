"""Which commands run on a live model's device, and which are refused."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnscope import _describe
from attnscope._errors import UnsupportedError

if TYPE_CHECKING:
    from attnscope.live_model._items import LiveItems

WITHOUT_PASS = ("circuits", "diff", "export", "info", "matrix", "similarity", "spectrum", "weights")
"""Commands that only read weights, unless they are given a text."""

ON_TEXT = ("text", "text_file", "text_pair", "tokens", "token_file", "image", "audio", "prompts",
           "chat")
"""Keywords that name what a model runs on."""

COMMON = frozenset({
    "models", "text", "text_pair", "text_file", "tokens", "token_types", "no_special_tokens",
    "token_file", "sequences", "length", "seed", "consecutive", "lines", "score_positions",
    "threads", "memory", "store", "chat", "chat_template", "no_generation_prompt", "chat_date",
})  # fmt: skip
"""Keywords that every command supports on a live model."""

TARGETS = frozenset({"stack", "target", "target_tokens", "target_file"})

ON_DEVICE: dict[str, frozenset[str]] = {
    "attention": COMMON | {"layers", "energy", "exclude_first_token", "log"},
    "ablate": COMMON | {"layers", "components", "ablation", "induction"},
    "lens": COMMON | {"states", "top"},
    "report": COMMON | {"layers", "maps", "view", "layer", "head", "charts"},
}
"""Commands whose items are computed on the device, with the keywords that they support there."""

BY_LAYERS: dict[str, frozenset[str]] = {
    "attention": COMMON | {
        "edits", "energy", "exclude_first_token", "heatmap", "layers", "log", "maps", "maps_of",
    },
    "ablate": COMMON | TARGETS | {
        "layers", "components", "ablation", "prompts", "label", "heads", "pairs", "cumulative",
        "patch_positions", "metric", "patching", "sender", "receiver", "through_mlps",
        "freeze_norms", "induction",
    },
    "directions": COMMON | {
        "all_tokens", "copying", "directions", "head", "layers", "matrix", "names", "pairs", "top",
    },
    "experts": COMMON | {"experts", "energy", "layers"},
    "lens": COMMON | TARGETS | {"states", "top", "prompts", "label", "grid", "edits", "tuned_lens"},
    "predict": COMMON | TARGETS | {
        "activations", "against", "attribution", "dtype", "edits", "generate", "heads", "label",
        "layers", "perplexity", "positions", "prompts", "save", "stride", "token", "top",
    },
}  # fmt: skip
"""Commands that the library computes with layers that run on the device, and their keywords."""


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
    used = [key for key in asked if key in _describe.parameters(command)]
    several = len(live[0]._stacks) > 1
    on_device = not several and ON_DEVICE.get(command, frozenset()).issuperset(used)
    if command == "lens" and {"attn_out", "mlp_out"}.intersection(_names(given.get("states"))):
        on_device = False
    if not on_device:
        supported = BY_LAYERS.get(command, ON_DEVICE.get(command, frozenset()))
        refused = [key for key in used if key not in supported]
        if refused or command not in BY_LAYERS:
            raise _refused(command, refused[0] if supported and refused else "")
    if len(models) > 1:
        raise UnsupportedError(f"{command}: not supported for several models of which one is live")
    items: LiveItems = live[0]._live_items(given.get("threads"))
    items.computes_items = on_device
    return items


def _names(given: Any) -> list[str]:
    """Return the names of a keyword that takes a text or a list."""
    if given is None:
        return []
    return given.split(",") if isinstance(given, str) else [str(one) for one in given]


def _refused(command: str, keyword: str) -> UnsupportedError:
    what = f"{keyword} of {command}" if keyword else command
    return UnsupportedError(
        f"{what}: not supported on a live model; attnscope.open(module) computes it on the CPU"
    )
