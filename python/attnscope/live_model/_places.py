"""Where the components of each layer are: the modules named as the tensors of their weights."""

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from attnscope import _core
from attnscope._errors import UnsupportedError
from attnscope._wrapped import unwrapped_name
from attnscope.live_model._hooks import Place

OF_MLP = ("gate", "up", "down", "router", "shared_", "expert", "choice_bias")
"""Beginnings of the roles of tensors of an MLP."""


class LayerPlaces(NamedTuple):
    """The places of one layer's components."""

    query: Place | None  # input of W_Q, or of the first matrix of a query latent
    heads: Place | None  # input of the output projection
    output: Any  # the output projection
    mixer: Place | None
    mlp: tuple[Place, ...]  # outputs that add up to the MLP's
    heads_count: int
    head_size: int  # columns of one head
    facts: dict[str, Any]  # as described by the library


def _top(name: str, below: str) -> str:
    """Return the path of the child of module `below` that contains `name`."""
    rest = name[len(below) + 1 :] if below else name
    child = rest.partition(".")[0]
    return f"{below}.{child}" if below else child


def _owners(module: Any, tensors: Mapping[str, Any]) -> dict[str, str]:
    """Return the path of the module that has each tensor, by the tensor's name in files.

    Tensors of other names, and parts of stacked tensors, are found by their memory.
    """
    at: dict[int, str] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        at.setdefault(_memory_of(tensor), name.rpartition(".")[0])
    paths = {name for name, _ in module.named_modules()}
    out = {}
    for name, tensor in tensors.items():
        path = name.rpartition(".")[0]
        found = path if path in paths else at.get(_memory_of(tensor))
        if found is not None:
            out[name] = unwrapped_name(found)
    return out


def _memory_of(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


class Places:
    """The modules of a model, by layer.

    `tensors`: by name, as the library sees them; `described`: what the library knows about them.
    """

    def __init__(
        self, module: Any, tensors: Mapping[str, Any], described: _core.LivePass
    ) -> None:
        self._modules: dict[str, Any] = {}
        for name, part in module.named_modules():  # of a wrapper and its module: the wrapper
            self._modules.setdefault(unwrapped_name(name), part)
        self._owners = _owners(module, tensors)
        self.facts: dict[str, Any] = json.loads(described.description())
        self._used: dict[tuple[int, bool], int] = {}
        self._names: dict[int, list[tuple[str, str]]] = {}
        for tensor in self.facts["tensors"]:
            if tensor["layer"] is not None:
                own = (tensor["name"], tensor["role"] or "")
                self._names.setdefault(tensor["layer"], []).append(own)
        self.layer_calls = self._layer_calls()
        self.layers = [self._layer(at, facts) for at, facts in enumerate(self.facts["layers"])]

    def path_of(self, tensor: str) -> str | None:
        """Return the path of the innermost module that contains the tensor. None: there is none."""
        path = self._owners.get(tensor)
        return path if path in self._modules else None

    def _norm_path(self, norm: dict[str, Any] | None) -> str | None:
        """Return the path of the module of a norm. A norm without parameters has a name, too."""
        name = norm["module"] if norm else ""
        path = self.path_of(f"{name}.weight") or name
        return path if path and path in self._modules else None

    def _list_entry(self, path: str, innermost: bool = False) -> str:
        """Return the path of the outermost entry of a list of modules around a module."""
        parts = path.split(".")
        for end in sorted(range(len(parts)), reverse=innermost):
            path = ".".join(parts[: end + 1])
            if parts[end].isdecimal() and path in self._modules:
                return path
        return ""

    def _layer_calls(self) -> list[Place] | None:
        """Return the call of a module that is each layer. None: some layers are no module."""
        owners: list[list[str]] = []
        for facts in self.facts["layers"]:
            names = [name for name, _ in self._names.get(len(owners), [])]
            known = (self.path_of(name) for name in (*names, facts["output"], facts["down"]) if name)
            owners.append([path for path in known if path])

        def entries(innermost: bool) -> list[str]:
            found = ([self._list_entry(path, innermost) for path in own] for own in owners)
            return [next(filter(None, own), "") for own in found]

        paths = entries(innermost=False)
        if len(set(paths)) < len(paths):  # in lists of lists, as in ALBERT
            paths = max((paths, entries(innermost=True)), key=lambda one: len(set(one)))
        if "" in paths:
            return None
        return [
            Place(self._modules[path], path, True, paths[:layer].count(path))
            for layer, path in enumerate(paths)
        ]

    @property
    def layer_modules(self) -> list[Any] | None:
        """The module of each layer. None: some layers have no module of their own."""
        modules = [place.module for place in self.layer_calls or ()]
        return modules if modules and len({*map(id, modules)}) == len(modules) else None

    def _place(self, path: str, is_input: bool) -> Place:
        """Return a place. The same path again: its next call, or another module with its weights."""
        module = self._modules[path]
        key = (id(module), is_input)
        call = self._used.get(key, 0)
        self._used[key] = call + 1
        weight = getattr(module, "weight", None)
        alike = [one for one in self._modules.values() if getattr(one, "weight", None) is weight]
        if call > 0 and weight is not None and len(alike) > call:
            return Place(alike[call], path, is_input)
        return Place(module, path, is_input, call)

    def _layer(self, layer: int, facts: dict[str, Any]) -> LayerPlaces:
        query, heads, output = None, None, None
        if facts["attends"]:
            path = self.path_of(facts["output"])
            if path is None:
                raise UnsupportedError(f"layer {layer}: no module has the tensor '{facts['output']}'")
            output = self._modules[path]
            before = self._norm_path(facts["head_norm"])  # of all heads, before the projection
            heads = self._place(before or path, is_input=True)
            of_query = self.path_of(facts["query"] or facts["query_down"] or "")
            if of_query is None:  # in files, W_Q is a part of another matrix
                sibling = f"{path.rpartition('.')[0]}.q_proj"
                of_query = sibling if sibling in self._modules else None
            query = None if of_query is None else self._place(of_query, is_input=True)
        mixer = self._mixer(layer) if facts["mixes"] else None
        mlp = self._mlp(layer, facts) if facts["has_mlp"] else ()
        return LayerPlaces(query, heads, output, mixer, mlp, facts["heads"], facts["value_dim"], facts)

    def place_of(self, layer: int, tensor: str, is_input: bool) -> Place | None:
        """Return the input or output of the module that has a tensor. None: there is none."""
        return self._own_place(layer, self.path_of(tensor), is_input)

    def place_of_norm(
        self, layer: int, norm: dict[str, Any] | None, is_input: bool
    ) -> Place | None:
        """Return the input or output of a layer's norm. None: there is none."""
        return self._own_place(layer, self._norm_path(norm), is_input)

    def _own_place(self, layer: int, path: str | None, is_input: bool) -> Place | None:
        if path is None or self.layer_calls is None:
            return None
        return Place(self._modules[path], path, is_input, self.layer_calls[layer].call)

    def _mixer(self, layer: int) -> Place:
        names = [name for name, role in self._names.get(layer, []) if role == "mixer"]
        paths = [path for path in map(self.path_of, names) if path]
        path = os.path.commonprefix([f"{path}." for path in paths]).rpartition(".")[0]
        if path not in self._modules:
            raise UnsupportedError(f"layer {layer}: no module has its mixer")
        return self._place(path, is_input=False)

    def _mlp(self, layer: int, facts: dict[str, Any]) -> tuple[Place, ...]:
        if not facts["has_experts"]:
            if facts["down"] is None:  # of cross-attention, which has no MLP
                return ()
            path = self.path_of(facts["down"])
            if path is None:
                raise UnsupportedError(f"layer {layer}: no module has the tensor '{facts['down']}'")
            return (self._place(path, is_input=False),)
        roles = self._names.get(layer, [])
        paths = [self.path_of(name) for name, role in roles if role.startswith(OF_MLP)]
        known = [path for path in paths if path]
        if not known:
            raise UnsupportedError(f"layer {layer}: no module has the tensors of its experts")
        entry = self._list_entry(known[0])
        writes = [self.path_of(name) for name, role in roles if "down" in role]
        tops = {_top(path, entry) for path in writes if path} or {_top(known[0], entry)}
        norm = self._norm_path(facts["mlp_norm"])
        if len(tops) > 1 and norm is not None:  # of the sum of their outputs
            return (self._place(norm, is_input=True),)
        return tuple(self._place(path, is_input=False) for path in sorted(tops))
