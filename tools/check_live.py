#!/usr/bin/env python3
"""Compare rows of asc.live(module) with rows of asc.open(folder), for the models of tests/data/forward that transformers has.

    tools/check_live.py BINARY [--all] [NAME…]

By default one model per architecture; --all: every model. Everything runs in float32 on the CPU. BINARY is not used: the package is
imported from build/packages. Losses may differ by 1e-4 relative, effects and KL divergences by 1e-4 of the baseline loss, and ranks by 1. Only
models in REFUSED may be refused.
"""

import json
import os
import pathlib
import sys
import tempfile
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ROOT / f"build/packages/lib/python3.{sys.version_info.minor}/site-packages"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.path.append(str(PACKAGES))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

import attnscope as asc  # noqa: E402

FOLDERS = ROOT / "tests/data/forward"
TOLERANCE = 1e-4
SEQUENCES = [[5, 9, 3, 17, 8, 11, 4], [7, 3, 3, 12, 6, 10, 9]]
EFFECTS = ("loss_increase", "kl", "direct_effect")
EAGER = ("falcon", "falcon-groups", "falcon-groups-all", "falcon-groups-one-norm", "falcon-per-head", "falcon-rw", "falcon-sequential")
UNPACKED = ("llama-bitnet", "bitnet-packed")
# By model: the checks that are refused, and words of the error. Eager attention of Falcon in transformers differs from sdpa, which is the
# default and equals the forward pass of the library.
REFUSED = {**dict.fromkeys(UNPACKED, ((), "weight")),
           **dict.fromkeys(("gemma3n", "gemma3n-two", "gemma3n-twelve"), (("lens", "attention"), "residual stream")),
           **dict.fromkeys(("longformer", "xlnet"), (("attention",), "not supported")),
           **dict.fromkeys(EAGER, (("attention", "induction"), "attention"))}


# A dimension or position with the largest of nearly equal values.
UNSTABLE = ("activation_dimension", "activation_position")
# Live, values are only known where one matrix makes Q, K and V.
OF_LINEAR_MODELS = ("attended_token_effect", "attended_token_effect_error")


class NoLogits(Exception):
    """Raised for models that the library does not run on text, from files either."""


class Differs(Exception):
    """Raised for rows that are not equal."""


def class_of(folder):
    """Return the class of transformers that has the model's logits. None: there is none."""
    config = json.loads((folder / "config.json").read_text())
    for name in config.get("architectures") or ():
        if hasattr(transformers, name):
            return getattr(transformers, name)
    return None


def with_tokenizer(folder, into, vocabulary):
    """Copy a model by links, with a tokenizer whose last token is the mask."""
    for file in folder.iterdir():
        (into / file.name).symlink_to(file)
    (into / "tokenizer.json").write_text(tokenizer_text(vocabulary))


def tokenizer_text(vocabulary):
    words = {f"t{number}": number for number in range(vocabulary - 1)}
    mask = {"id": vocabulary - 1, "content": "[MASK]", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True}
    return json.dumps({"version": "1.0", "added_tokens": [mask], "pre_tokenizer": {"type": "Whitespace"},
                       "model": {"type": "WordLevel", "vocab": words | {"[MASK]": vocabulary - 1}, "unk_token": "t0"}})


def compare(live, file, effects, loss, count):
    """Return the largest deviation in units of the tolerance."""
    worst = 0.0
    if len(live) != len(file):
        raise Differs(f"{len(live)} rows, expected {len(file)}")
    for one, other in zip(live, file, strict=True):
        place = {key: other[key] for key in ("layer", "head", "component", "state") if key in other}
        for name in other:
            a, b = one[name], other[name]
            if isinstance(b, float) and a is not None:
                if name == "top_token_changed":
                    off = 0.0 if abs(a - b) <= 1.01 / count else 9.0
                elif name in effects:
                    off = abs(a - b) / (TOLERANCE * loss)
                elif name.endswith("_error"):
                    off = abs(a - b) / (TOLERANCE * loss)
                else:
                    off = abs(a - b) / (TOLERANCE * abs(b)) if b else abs(a)
                worst = max(worst, off)
                if off > 1:
                    raise Differs(f"{name} is {a:.6g}, expected {b:.6g} at {place}")
            elif a != b and name != "model":
                raise Differs(f"{name} is {a}, expected {b} at {place}")
    return worst


def check_ablate(live, file):
    worst = 0.0
    for how in ("zero", "mean", "resample"):
        given = {"tokens": SEQUENCES, "ablation": how, "components": "all"}
        try:
            expected = file.ablate(**given)
        except asc.Error as error:
            raise NoLogits(error) from None
        first = next(iter(expected))
        worst = max(worst, compare(live.ablate(**given), expected, EFFECTS, first["loss"], first["predicted"]))
    return worst


def check_lens(live, file):
    expected = file.lens(tokens=SEQUENCES)
    losses = [row["loss"] for row in expected]
    return compare(live.lens(tokens=SEQUENCES), expected, ("kl", "entropy"), losses[-1], 0)


def check_attention(live, file):
    live, file = live.attention(tokens=SEQUENCES), file.attention(tokens=SEQUENCES)
    if len(live) != len(file):
        raise Differs(f"{len(live)} rows, expected {len(file)}")
    worst = 0.0
    for one, other in zip(live, file, strict=True):
        for name, b in other.items():
            a = one[name]
            if isinstance(b, float) and a is not None:
                slack = 1.0 if "rank" in name or "columns" in name else 1e-4 * max(1.0, abs(b))
                worst = max(worst, abs(a - b) / slack)
                if abs(a - b) > slack:
                    raise Differs(f"attention: {name} is {a:.6g}, expected {b:.6g} in layer {other['layer']}, head {other['head']}")
            elif isinstance(b, np.ndarray) and isinstance(a, np.ndarray) and a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=1e-4):
                continue
            elif name == "top_columns" and a is not None and b is not None and abs(len(a) - len(b)) == 1:  # as for ranks
                continue
            elif not np.array_equal(a, b) and name not in ("model", *UNSTABLE) and not (a is None and name in OF_LINEAR_MODELS):
                raise Differs(f"attention: {name} is {a}, expected {b} in layer {other['layer']}, head {other['head']}")
    return worst


def check_induction(live, file):
    if not file.info.get("causal", False):
        return 0.0
    given = {"induction": True, "sequences": 2, "length": 12}
    try:
        expected = file.ablate(**given)
    except asc.Error:  # a vocabulary that is too small, for example
        return 0.0
    return compare(live.ablate(**given), expected, ("loss_increase", "induction", "induction_before"), expected[0]["loss"], 1)


CHECKS = {"attention": check_attention, "ablate": check_ablate, "lens": check_lens, "induction": check_induction}


def check(folder, kind):
    module = kind.from_pretrained(folder, dtype=torch.float32, experts_implementation="eager")
    vocabulary = module.get_input_embeddings().weight.shape[0]
    with tempfile.TemporaryDirectory() as temporary:
        with_tokenizer(folder, pathlib.Path(temporary), vocabulary)
        file = asc.open(temporary)
        live = asc.live(module, tokenizer_text(vocabulary))
        return {name: found for name, run in CHECKS.items() if (found := attempt(name, run, live, file, folder.name)) is not None}


def attempt(name, run, live, file, model):
    """Run a check. Return the worst deviation, or None if it is refused as expected."""
    refused, words = REFUSED.get(model, ((), ""))
    try:
        return run(live, file)
    except asc.Error as error:
        if name in refused and words in str(error):
            return None
        raise


def main():
    given = [one for one in sys.argv[2:] if not one.startswith("--")]
    warnings.simplefilter("ignore")
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    known, missing, without, failed, passed, worst = set(), [], [], [], 0, 0.0
    for folder in sorted(FOLDERS.iterdir()):
        config = folder / "config.json"
        if given and folder.name not in given or not config.exists():
            continue
        architecture = json.loads(config.read_text()).get("model_type", folder.name)
        if architecture in known and not given and "--all" not in sys.argv:
            continue
        kind = class_of(folder)
        if kind is None:
            missing.append(folder.name)
            continue
        try:
            found = check(folder, kind)
        except NoLogits:
            without.append(folder.name)
            continue
        except (Differs, asc.Error) as error:
            known.add(architecture)
            if folder.name in UNPACKED and REFUSED[folder.name][1] in str(error):
                continue
            failed.append(folder.name)
            print(f"{folder.name}: {type(error).__name__}: {str(error)[:300]}")
            continue
        except Exception as error:
            known.add(architecture)
            failed.append(folder.name)
            print(f"{folder.name}: {kind.__name__}: {type(error).__name__}: {str(error)[:300]}")
            if "--traceback" in sys.argv:
                raise
            continue
        known.add(architecture)
        passed += 1
        worst = max(worst, 0.0, *found.values())
    print(f"no logits: {', '.join(without)}")
    print(f"not in transformers: {', '.join(missing)}")
    print(f"{passed} models agree, worst deviation {worst:.2g} of the tolerance; {len(failed)} do not: {' '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
