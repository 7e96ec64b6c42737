#!/usr/bin/env python3
"""Make tests/data/adapters: tiny base models, adapters by PEFT, and all tensors that change when PEFT merges them.

    VENV/bin/python tools/golden_adapters.py

If the base is tied, merged.safetensors always contains the head. Needs torch, transformers and peft.
"""

import pathlib
import shutil

from safetensors.torch import save_file

from adapter_cases import CASES, TYPE_CASES, WITH_EXPERTS, make_adapter, make_base, merged_files, merged_tensors

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests/data/adapters"
# Each other case takes the same code path as one of these. check_adapters.py runs all cases.
NOT_KEPT = {"gaussian", "eva", "orthogonal", "excluded_by_regex", "bias_lora_only", "scaled_by_half", "pissa_patterns", "dots"}
KEPT_TYPES = {"dora_transposed", "dora_embedding", "dora_pissa", "parameters", "experts", "experts_transposed", "adalora_reduced", "loha",
              "lokr_both", "lokr", "ia3", "ia3_transposed", "vera_not_saved", "oft", "oft_embedding", "oft_constrained", "boft_blocks",
              "lora_bert", "norms_bert", "only_tied_tokens"}

shutil.rmtree(DATA, ignore_errors=True)
kept_cases = {name: case for name, case in CASES.items() if name not in NOT_KEPT and (name not in TYPE_CASES or name in KEPT_TYPES)}
for name in dict.fromkeys(base for base, *_ in kept_cases.values()):
    make_base(name, DATA / f"base-{name}")
    (DATA / f"base-{name}/generation_config.json").unlink(missing_ok=True)
for number, (name, (base, *_)) in enumerate(CASES.items()):
    if name not in kept_cases:
        continue
    make_adapter(name, DATA / f"base-{base}", DATA / name, seed=number)
    before, after = merged_tensors(DATA / f"base-{base}", DATA / name)
    if base in WITH_EXPERTS:
        before, after = merged_files(DATA / f"base-{base}", DATA / name)
    kept = {key for key, value in before.items() if not value.equal(after[key])}
    if base == "tied":
        kept.add("lm_head.weight")
    save_file({key: after[key].clone().contiguous() for key in sorted(kept)}, DATA / name / "merged.safetensors")
    (DATA / name / "base.txt").write_text(f"base-{base}\n")
