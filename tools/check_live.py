#!/usr/bin/env python3
"""Compare rows of asc.live(module) with rows of asc.open(folder), for the models of tests/data that transformers has.

    tools/check_live.py BINARY [--all] [--only=CHECK,…] [NAME…]

By default one model per architecture, and of the checks in BY_LAYERS one per model in turn; --all: every check of every model. Everything runs in float32 on the CPU. BINARY is not used: the package is
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

DATA = ROOT / "tests/data"
TOLERANCE = 1e-4
SEQUENCES = [[5, 9, 3, 17, 8, 11, 4], [7, 3, 3, 12, 6, 10, 9]]
EFFECTS = ("loss_increase", "kl", "direct_effect")
EAGER = ("falcon", "falcon-groups", "falcon-groups-all", "falcon-groups-one-norm", "falcon-per-head", "falcon-rw", "falcon-sequential")
UNPACKED = ("llama-bitnet", "bitnet-packed")
# By model: the checks that are refused, and words of the error. Eager attention of Falcon in transformers differs from sdpa, which is the
# default and equals the forward pass of the library.
REFUSED = {**dict.fromkeys(UNPACKED, ((), "weight")),
           **dict.fromkeys(("gemma3n", "gemma3n-two", "gemma3n-twelve"), (("lens", "attention", "predict", "activations", "prompts", "directions", "patching", "paths"), "residual stream")),
           "longformer": (("attention",), "not supported"), "xlnet": (("attention", "directions"), "not supported"),
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


def agree(live, file, what, loss=1.0):
    """Compare rows of any command. Return the largest deviation in units of the tolerance, relative to each value and to `loss`."""
    if len(live) != len(file):
        raise Differs(f"{what}: {len(live)} rows, expected {len(file)}")
    worst = 0.0
    for one, other in zip(live, file, strict=True):
        for name, b in other.items():
            a = one[name]
            if isinstance(b, float) and a is not None:
                slack = 10 if name.endswith("_error") else 1  # of a ratio with a small denominator
                worst = max(worst, abs(a - b) / (slack * TOLERANCE * max(abs(b), loss)))
                if worst > 1:
                    raise Differs(f"{what}: {name} is {a:.6g}, expected {b:.6g} in {other}")
            elif isinstance(b, np.ndarray) and isinstance(a, np.ndarray) and a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-4):
                continue
            elif not np.array_equal(a, b) and name != "model":
                raise Differs(f"{what}: {name} is {a}, expected {b}")
    return worst


def expected_or_none(run):
    """Return the rows of files. None: the model does not support this."""
    try:
        return run()
    except asc.Error:
        return None


def check_predict(live, file):
    worst = 0.0
    mask = int(live.module.get_input_embeddings().weight.shape[0]) - 1
    tokens = SEQUENCES if file.info.get("causal", False) else [[5, 9, mask, 17, 8, 11, 4], [7, 3, 12, 6, mask]]
    for given in ({"tokens": [*tokens, tokens[0][:4]], "top": 3}, {"tokens": tokens, "perplexity": True}, {"tokens": tokens[0], "generate": 4}):
        expected = expected_or_none(lambda: file.predict(**given))
        if expected is not None:
            worst = max(worst, agree(live.predict(**given), expected, f"predict {list(given)[1]}"))
    return worst


NAMES = ("resid_pre", "resid_mid", "resid_post", "q", "k", "v", "pattern", "z", "attn_out", "mlp_out", "mlp_pre", "mlp_pre_linear", "mlp_post", "final_norm", "logits")
# Activations that every module has.
EVERYWHERE = ("resid_pre", "resid_post", "final_norm")


def check_activations(live, file):
    """Compare each activation, and logits with an edit of it. Those that no module has are refused by name."""
    worst = 0.0
    for name in NAMES:
        expected = expected_or_none(lambda: file.run(tokens=SEQUENCES[0], activations=name))
        if expected is None:
            continue
        try:
            found = live.run(tokens=SEQUENCES[0], activations=name)
        except asc.UnsupportedError as error:
            if name in str(error) and name not in EVERYWHERE or name == "pattern" and "eager attention" in str(error):
                continue
            raise
        one, other = found.arrays[name], expected.arrays[name]
        off = float(np.abs(one - other).max() / (TOLERANCE * max(1.0, float(np.abs(other).max())))) if one.shape == other.shape else 9.0
        worst = max(worst, off)
        if off > 1:
            raise Differs(f"activation {name} deviates by {off:.3g} tolerances, shapes {one.shape} and {other.shape}")
        if name in ("final_norm", "logits"):
            continue
        edit = {"tokens": SEQUENCES[0], "edits": asc.Edit(name, scale=1.5)}
        expected = expected_or_none(lambda: file.predict(**edit))
        try:
            if expected is not None:
                worst = max(worst, agree(live.predict(**edit), expected, f"edit of {name}"))
        except asc.UnsupportedError as error:
            if f"'{name}' of layer" not in str(error) or "can be read" not in str(error):
                raise
    return worst


def prompts_text():
    words = [{"clean": "t5 t9 t3", "corrupted": "t5 t9 t7", "correct": "t8", "incorrect": "t11"},
             {"clean": "t4 t3 t6 t12", "corrupted": "t4 t2 t6 t12", "correct": "t10", "incorrect": "t1"}]
    return "".join(json.dumps(one) + "\n" for one in words)


def check_prompts(live, file):
    worst = 0.0
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as written:
        written.write(prompts_text())
        written.flush()
        for run in (lambda one: one.ablate(prompts=written.name), lambda one: one.ablate(prompts=written.name, ablation="mean"),
                    lambda one: one.lens(prompts=written.name), lambda one: one.predict(prompts=written.name, attribution=True)):
            expected = expected_or_none(lambda: run(file))
            if expected is not None:
                worst = max(worst, agree(run(live), expected, "prompts"))
    expected = expected_or_none(lambda: file.lens(tokens=SEQUENCES[0], grid=True))
    return worst if expected is None else max(worst, agree(live.lens(tokens=SEQUENCES[0], grid=True), expected, "grid"))


PROMPT = {"clean": "t5 t9 t3", "corrupted": "t5 t9 t7", "correct": "t8", "incorrect": "t11"}
PATCHED = ["resid_pre", "attention", "mixer", "mlp", "heads"]


def patch(live, file, given, without):
    """Compare effects of patching between two prompts. `without`: what replaces arguments if no module has q, k or v."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as written:
        written.write(json.dumps(PROMPT))
        written.flush()
        given = {"prompts": written.name, **given}
        expected = expected_or_none(lambda: file.ablate(**given))
        if expected is None:
            return 0.0
        try:
            found = live.ablate(**given)
        except asc.UnsupportedError as error:
            if not without or not any(f"'{name}' of layer" in str(error) for name in ("q", "k", "v")):
                raise
            given |= without
            found, expected = live.ablate(**given), file.ablate(**given)
    gap = abs(expected[0]["clean_metric"] - expected[0]["corrupted_metric"])
    left_out = [] if gap > 0.05 else ["denoising_effect", "noising_effect"]  # ratios with a small denominator
    found, expected = ([{name: row[name] for name in row if name not in left_out} for row in table] for table in (found, expected))
    return agree(found, expected, f"patching {list(given)[1]}", max(1.0, 1.0 / gap) if gap > 0.05 else 1.0)


def check_patching(live, file):
    kinds = [*PATCHED, "q", "k", "v"]
    given = {"patch_positions": "each", "components": kinds, "patching": "denoising"}
    return patch(live, file, given, {"components": PATCHED})


def check_paths(live, file):
    given = {"sender": "each-layer", "patching": "noising"}
    worst = patch(live, file, given, {"receiver": "logits"})
    return max(worst, patch(live, file, {"sender": "L0H0,L0H1", "receiver": "logits", "metric": "kl"}, {}))


def check_experts(live, file):
    tokens = [*SEQUENCES, SEQUENCES[0][:4]]
    expected = expected_or_none(lambda: file.experts(tokens=tokens))
    return 0.0 if expected is None else agree(live.experts(tokens=tokens), expected, "experts")


def check_directions(live, file):
    expected = expected_or_none(lambda: file.directions(tokens=SEQUENCES, layers=[0]))
    return 0.0 if expected is None else agree(live.directions(tokens=SEQUENCES, layers=[0]), expected, "directions")


def check_labels(live, file):
    tokens = [*SEQUENCES, SEQUENCES[0][:4]]
    worst = agree(live.predict(tokens=tokens), file.predict(tokens=tokens), "labels")
    for run in (lambda one: one.ablate(tokens=tokens, label="0", components="all"), lambda one: one.lens(tokens=tokens, label="0")):
        expected = expected_or_none(lambda: run(file))
        if expected is not None:
            worst = max(worst, agree(run(live), expected, "label"))
    return worst


TARGET = {"tokens": SEQUENCES[0], "target_tokens": [0, 5, 9, 3]}


def check_targets(live, file):
    expected = expected_or_none(lambda: file.predict(**TARGET))
    if expected is None:
        raise NoLogits
    worst = agree(live.predict(**TARGET), expected, "predict")
    for given in (TARGET | {"perplexity": True}, {"tokens": SEQUENCES[0], "generate": 4}):
        expected = expected_or_none(lambda: file.predict(**given))
        if expected is not None:
            worst = max(worst, agree(live.predict(**given), expected, "predict"))
    for how in ("zero", "mean"):
        given = TARGET | {"ablation": how, "components": "all"}
        worst = max(worst, agree(live.ablate(**given), file.ablate(**given), f"ablate {how}"))
    for given in (TARGET, TARGET | {"grid": True}):
        expected = expected_or_none(lambda: file.lens(**given))
        if expected is not None:
            worst = max(worst, agree(live.lens(**given), expected, "lens"))
    return worst


CHECKS = {"attention": check_attention, "ablate": check_ablate, "lens": check_lens, "induction": check_induction, "predict": check_predict,
          "activations": check_activations, "prompts": check_prompts, "experts": check_experts, "directions": check_directions,
          "patching": check_patching, "paths": check_paths}
# Checks of commands that run by the layers of a model. They are slow.
BY_LAYERS = ("predict", "activations", "prompts", "experts", "directions", "patching", "paths")
# Checks of the models in each folder of tests/data.
OF_FOLDERS = {"forward": CHECKS, "classifiers": {"labels": check_labels}, "encoder_decoders": {"targets": check_targets}}


def check(folder, kind):
    module = kind.from_pretrained(folder, dtype=torch.float32, experts_implementation="eager")
    vocabulary = module.get_input_embeddings().weight.shape[0]
    with tempfile.TemporaryDirectory() as temporary:
        with_tokenizer(folder, pathlib.Path(temporary), vocabulary)
        file = asc.open(temporary)
        live = asc.live(module, tokenizer_text(vocabulary))
        return {name: found for name, run in chosen(folder) if (found := attempt(name, run, live, file, folder.name)) is not None}


def chosen(folder):
    """Return the checks of a model: those named with --only=NAME,…; all for named models and with --all; else one of BY_LAYERS."""
    checks = OF_FOLDERS[folder.parent.name]
    only = next((one[len("--only="):].split(",") for one in sys.argv if one.startswith("--only=")), None)
    if only is None:
        is_whole = "--all" in sys.argv or any(not one.startswith("--") for one in sys.argv[2:])
        turn = BY_LAYERS[sum(folder.name.encode()) % len(BY_LAYERS)]
        only = [name for name in checks if is_whole or name not in BY_LAYERS or name == turn]
    return [(name, run) for name, run in checks.items() if name in only]


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
    for folder in (one for group in OF_FOLDERS for one in sorted((DATA / group).iterdir())):
        config = folder / "config.json"
        if given and not {folder.name, f"{folder.parent.name}/{folder.name}"} & {*given} or not config.exists():
            continue
        architecture = folder.parent.name + "/" + json.loads(config.read_text()).get("model_type", folder.name)
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
