"""Files of a golden case with one weights file and several configs for it.

    - config.json           the main variant's config
    - variants.json         the other configs, one per line; absent if there are none
    - expected.safetensors  the tensors of every variant: NAME for the main one and VARIANT/NAME for the others

An entry of variants.json:
    - name                  of the variant; "" for the main one
    - spelling              "old": the same variant as spelled in older files
    - set, remove           keys that differ from config.json, and keys that are removed
    - expected, routing, generated   the variant under which the tensors are stored: this one, or another one with equal
                          tensors. `expected` is absent if it is this one. The others are absent if there are no such tensors.

Tensors of routing and generated are named routing.NAME and generated.NAME.

Needs numpy and safetensors.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

CONFIG, VARIANTS, EXPECTED = "config.json", "variants.json", "expected.safetensors"
KINDS = ("expected", "routing", "generated")
Tensors = dict[str, np.ndarray]


def write_config(path: Path, config: dict) -> None:
    path.write_text(json.dumps(config, indent=1) + "\n")


def difference(config: dict, main: dict) -> dict:
    """Return the changes with which `applied` makes `config` from `main`."""
    changes = {key: value for key, value in config.items()
               if key not in main or json.dumps(value) != json.dumps(main[key])}  # 1, 1.0 and true are different
    removed = [key for key in main if key not in config]
    return ({"set": changes} if changes else {}) | ({"remove": removed} if removed else {})


def applied(main: dict, entry: dict) -> dict:
    return {key: value for key, value in (main | entry.get("set", {})).items() if key not in entry.get("remove", ())}


def config_of(folder: Path, name: str = "", spelling: str = "") -> dict:
    """Return a variant's config. Raise KeyError if the variant does not exist."""
    main = json.loads((folder / CONFIG).read_text())
    if not name and not spelling:
        return main
    for entry in json.loads((folder / VARIANTS).read_text()):
        if (entry["name"], entry.get("spelling", "")) == (name, spelling):
            return applied(main, entry)
    raise KeyError(f"{folder}: no variant '{name}' {spelling}")


def tensor_name(variant: str, name: str) -> str:
    return f"{variant}/{name}" if variant else name


def tensors_of(folder: Path, name: str = "", kind: str = "expected") -> Tensors:
    """Return a variant's tensors of a kind: expected, routing or generated. Raise KeyError if it has none."""
    path = folder / VARIANTS
    entries = json.loads(path.read_text()) if path.exists() else []
    entry = next((entry for entry in entries if entry["name"] == name and "spelling" not in entry), {})
    owner = entry.get("expected", name) if kind == "expected" else entry[kind]
    start = tensor_name(owner, "" if kind == "expected" else f"{kind}.")
    others = () if kind != "expected" else (f"{start}routing.", f"{start}generated.")
    return {key.removeprefix(start): value for key, value in load_file(folder / EXPECTED).items()
            if key.startswith(start) and "/" not in key.removeprefix(start) and not key.startswith(others)}


def same(a: Tensors, b: Tensors) -> bool:
    return a.keys() == b.keys() and all(
        a[key].dtype == b[key].dtype and a[key].shape == b[key].shape and a[key].tobytes() == b[key].tobytes() for key in a)


@dataclass
class Variants:
    """Collects a case's variants and writes them. Tensors shared with another variant are written once."""
    configs: dict[tuple[str, str], dict] = field(default_factory=dict)  # by name and spelling
    tensors: dict[str, dict[str, Tensors]] = field(default_factory=dict)  # by kind, then by name
    metadata: dict[str, str] | None = None

    def add_config(self, name: str, config: dict, spelling: str = "") -> None:
        self.configs[name, spelling] = config

    def add_tensors(self, name: str, tensors: Tensors, kind: str = "expected") -> None:
        self.tensors.setdefault(kind, {})[name] = tensors

    def owner(self, name: str, kind: str) -> str:
        """Return the first variant, by name, with these tensors."""
        of_kind = self.tensors[kind]
        return next(other for other in sorted(of_kind) if same(of_kind[other], of_kind[name]))

    def entry(self, name: str, spelling: str) -> dict:
        out = {"name": name} | ({"spelling": spelling} if spelling else {})
        out |= difference(self.configs[name, spelling], self.configs["", ""])
        for kind in () if spelling else KINDS:
            if name in self.tensors.get(kind, {}) and (kind != "expected" or self.owner(name, kind) != name):
                out[kind] = self.owner(name, kind)
        return out

    def write(self, folder: Path) -> None:
        write_config(folder / CONFIG, self.configs["", ""])
        entries = [self.entry(*key) for key in sorted(self.configs)]
        if entries[0] == {"name": ""}:
            del entries[0]
        if entries:
            lines = ",\n".join(json.dumps(entry) for entry in entries)
            (folder / VARIANTS).write_text(f"[\n{lines}\n]\n")
        out = {}
        for kind, of_kind in self.tensors.items():
            for name, tensors in of_kind.items():
                if self.owner(name, kind) == name:
                    prefix = "" if kind == "expected" else f"{kind}."
                    out |= {tensor_name(name, prefix + key): value for key, value in tensors.items()}
        save_file(out, folder / EXPECTED, metadata=self.metadata)
