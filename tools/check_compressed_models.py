#!/usr/bin/env python3
"""Load the output of `shrink` and `diff --lora` in stock transformers and PEFT, and compare it with attnscope's own run.

    tools/check_compressed_models.py BINARY

This checks tiny models of each family with each compression method, and one trained model. Loading must neither miss nor
add a weight. The logits must equal those of attnscope on the same folder, also with a KV cache. If nothing is removed, they
must equal those of the original model. Each model supports exactly the methods in a table. Needs torch, transformers and
peft. Exits with 77 (skipped) and prints a line if they are missing.
"""

import json
import pathlib
import sys
import tempfile
from functools import partial
from typing import NamedTuple

from tiny_models import (CONTEXT, GPT2, LLAMA, MODELS, SAME_LOSS, VOCABULARY, WITHOUT_HEAD_DIM, expect_same, load, make, run,
                         shard)

import numpy as np
import torch
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForMaskedLM, AutoModelForSeq2SeqLM

from written_adapters import OWN_ADAPTERS, check_experts, check_fixed_rank, check_own_adapter, check_whole_change

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORMS = {
    "depth": "remove-layers=1", "mlp": "mlp=50", "hidden-size": "hidden-size=36", "head-dim": "head-dim=4",
    "kv-heads": "kv-heads=1", "heads": "heads=4", "mla": "mla=8+10", "experts": "experts=3",
    "low-rank": "low-rank=0.q:6,2.up:9,1.down:5",
}
# Encoder-decoders, whose stacks are compressed separately.
T5 = dict(vocab_size=VOCABULARY, d_model=48, d_kv=8, d_ff=80, num_layers=3, num_decoder_layers=2, num_heads=6, bos_token_id=0,
          pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, relative_attention_num_buckets=8)
BART = dict(vocab_size=VOCABULARY, d_model=48, encoder_layers=3, decoder_layers=2, encoder_attention_heads=6,
            decoder_attention_heads=6, encoder_ffn_dim=80, decoder_ffn_dim=72, max_position_embeddings=CONTEXT, pad_token_id=0,
            bos_token_id=0, eos_token_id=1, forced_eos_token_id=1, decoder_start_token_id=0)
ENCODER_DECODERS = {
    "t5": ("t5", T5), "t5-gated": ("t5", dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
    "umt5": ("umt5", T5), "bart": ("bart", BART), "mbart": ("mbart", BART), "marian": ("marian", BART),
    "pegasus": ("pegasus", BART),
}
BERT = dict(vocab_size=VOCABULARY, hidden_size=48, num_hidden_layers=3, num_attention_heads=6, intermediate_size=80,
            max_position_embeddings=CONTEXT)
MASKED = {
    "bert": ("bert", BERT), "bert-untied": ("bert", dict(BERT, tie_word_embeddings=False)), "roberta": ("roberta", BERT),
    "distilbert": ("distilbert", dict(vocab_size=VOCABULARY, dim=48, n_layers=3, n_heads=6, hidden_dim=80,
                                      max_position_embeddings=CONTEXT)),
}
OF_STACKS = {"depth": "remove-layers=0", "mlp": "mlp=50", "low-rank": "low-rank=0.q:6,1.up:9,1.down:5"}
OF_EXPERTS = {"low-rank": "low-rank=0.q:6,2.o:9,1.k:5"}  # their layers have no MLP of their own
ASKED = {  # if it differs from FORMS
    "mixtral": OF_EXPERTS, "qwen3_moe": OF_EXPERTS, "deepseek_v3": {"low-rank": "low-rank=0.o:6,2.up:9,1.down:5"},
    "deepseek_v3-groups": {"experts": "experts=4"},
}
SEVERAL = ("hidden-size,mlp", "heads,kv-heads,mlp", "head-dim,hidden-size", "depth,mlp")
WHOLE = {"hidden-size": "hidden-size=48", "mla": "mla=16+16"}
LITTLE_CACHE = "0.3"  # an MLA cache with only rotary key dimensions
# The methods that each model must support, and no others: see docs/plan.md.
DENSE = {"depth", "mlp", "low-rank"}
ROTARY = DENSE | {"hidden-size", "head-dim", "kv-heads", "heads", "mla"}
TAKES = {
    "llama": ROTARY, "llama-biased": ROTARY - {"mla"}, "mistral": ROTARY, "qwen2": ROTARY,
    "qwen3": DENSE | {"hidden-size", "heads"}, "phi3": DENSE | {"hidden-size", "kv-heads", "heads"},
    "gemma": DENSE | {"hidden-size", "kv-heads", "heads"}, "gemma2": DENSE | {"heads"}, "gemma3": DENSE | {"heads"},
    "phi": DENSE | {"heads"}, "mixtral": {"depth", "experts", "low-rank"}, "qwen3_moe": {"depth", "experts", "low-rank"},
    "deepseek_v3": DENSE, "gpt2": DENSE,
}
# The same models with tied instead of untied heads or vice versa, other biases and experts, and the methods that these affect.
VARIANTS = {
    "llama-attention-biased": ("llama", dict(LLAMA, attention_bias=True), ("mla",)),
    "mistral-tied": ("mistral", dict(LLAMA, sliding_window=None, tie_word_embeddings=True), ("hidden-size", "mla")),
    "qwen2-untied": ("qwen2", LLAMA, ("hidden-size", "mla")),
    "phi3-tied": ("phi3", dict(WITHOUT_HEAD_DIM, tie_word_embeddings=True), ("hidden-size", "kv-heads")),
    "deepseek_v3-groups": ("deepseek_v3", dict(MODELS["deepseek_v3"][1], first_k_dense_replace=1, moe_intermediate_size=20,
                                               n_routed_experts=6, n_group=2, topk_group=1, num_experts_per_tok=1),
                           ("depth", "experts")),
    "gpt2-untied": ("gpt2", dict(GPT2, tie_word_embeddings=False), ("depth", "mlp")),
}
ONE_FILE = {"llama-biased": ("mlp", "kv-heads"), "gpt2": ("mlp", "low-rank")}
# For examples/shakespeare-llama, whose logits have a range of 4. It is stored in bfloat16, but written in float32.
TRAINED = ("remove-layers=2", "mlp=384", "hidden-size=144", "head-dim=16", "kv-heads=1", "heads=4", "mla=32+32")
TRAINED_WHOLE = ("hidden-size=192", "mla=64+64")
UNSUPPORTED, NOT_REACHABLE = 5, 6  # exit codes
REFUSED = "refused"
faults = []


def logits_of(folder, ids, scratch, *target):
    saved = scratch / "run.safetensors"
    ran = run("predict", folder, "--tokens", ",".join(map(str, ids)), *target, "--save", saved, "--format", "json")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    return torch.tensor(load_file(saved)["logits"])


def planned(given, texts, asked, plan):
    """Return whether the model supports the request."""
    ran = run("plan", given, *texts, *asked, "-o", plan)
    if ran.returncode not in (0, UNSUPPORTED):
        raise ValueError(ran.stderr.strip())
    return ran.returncode == 0


def made(folder, texts, plan, out, *words):
    """Write the compressed model. Return the plan's summary."""
    ran = run("shrink", folder, plan, *texts, "-o", out, *words)
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    return json.loads(plan.read_text())["models"][0]["plan"]


def planned_and_made(given, folder, texts, asked, out, scratch, *words):
    if not planned(given, texts, asked, scratch / "plan.json"):
        raise ValueError("cannot be planned")
    return made(folder, texts, scratch / "plan.json", out, *words)


def cached_bytes(cache, tokens):
    """Return the 16-bit bytes per token in all layers. Check that each layer caches all tokens, or its sliding window minus one."""
    elements = 0
    for layer in cache.layers:
        held = min(tokens, layer.sliding_window - 1) if layer.is_sliding else tokens
        if layer.keys.shape[-2] != held:
            raise ValueError(f"the cache has {layer.keys.shape[-2]} tokens, expected {held}")
        elements += (layer.keys.numel() + layer.values.numel()) // held
    return 2 * elements


class Subject(NamedTuple):
    """A model, and the data for calibrating and running its compressed versions."""
    folder: pathlib.Path
    original: torch.nn.Module
    text: pathlib.Path
    ids: list[int]
    scratch: pathlib.Path


def parts_of(form, choice):
    return choice.split(",") if form == "several" else [form]


def asked_of(name):
    return FORMS | ASKED.get(name, {})


def cases_of(name, forms):
    """Return pairs of a method and its setting."""
    return [case for case in (*asked_of(name).items(), *WHOLE.items(), ("mla", LITTLE_CACHE)) if case[0] in forms]


def check_loaded(form, choice, facts, out, subject):
    model, x = load(out), torch.tensor([subject.ids])
    theirs = model(x).logits[0]
    expect_same("in attnscope", logits_of(out, subject.ids, subject.scratch), theirs)
    first = model(x[:, :-3], use_cache=True)
    expect_same("with a cache", model(x[:, -3:], past_key_values=first.past_key_values).logits[0], theirs[-3:])
    # The expert-selection bias is in the files, but is not a model parameter.
    count = model.num_parameters() + sum(weight.numel() for place, weight in model.named_buffers() if "correction" in place)
    if form != "low-rank" and facts["parameters_after"] != count:
        raise ValueError(f"{count} parameters, not {facts['parameters_after']}")
    held = cached_bytes(first.past_key_values, len(subject.ids))
    if held != facts["kv_cache_bytes_per_token_after"]:
        raise ValueError(f"{held} bytes of cache per token, expected {facts['kv_cache_bytes_per_token_after']}")
    if choice == WHOLE.get(form):
        expect_same("nothing removed", theirs, subject.original(x).logits[0])
        before, after = facts["mean_nll_before"], facts["mean_nll_after"]
        if not abs(after - before) <= SAME_LOSS:
            raise ValueError(f"nothing removed, but the loss is {after} instead of {before}")


def check_form(subject, takes, form, choice, sharded=True):
    out, plan = subject.scratch / f"{subject.folder.name}-{choice}", subject.scratch / "plan.json"
    texts = ("--calibration-token-file", subject.text)
    asked = (("--method", choice, "--keep", "0.85") if form == "several"
             else ("--method", form, "--kv-bytes", choice) if choice == LITTLE_CACHE else ("--set", choice))
    can = planned(subject.folder, texts, (*asked, "--length", CONTEXT), plan)
    if can != takes.issuperset(parts_of(form, choice)):
        raise ValueError("can be planned" if can else "cannot be planned")
    if not can:
        return REFUSED
    facts = made(subject.folder, texts, plan, out, *(("--shard-size", "40K") if sharded else ()))
    if (out / "model.safetensors.index.json").exists() != sharded:
        raise ValueError("written to one file" if sharded else "written to several files")
    check_loaded(form, choice, facts, out, subject)
    return None


def check_menu(subject, takes):
    ran = run("plan", subject.folder, "--calibration-token-file", subject.text, "--length", CONTEXT, "--format", "json", "--quiet")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    forms = {row["method"] for row in json.loads(ran.stdout)["rows"]}
    if forms != takes:
        raise ValueError(f"the comparison of methods differs in {', '.join(forms ^ takes)}")


def check_fewest_experts(subject):
    """Check the minimum: the score of an expert group is the sum of its two best experts, so a group needs at least two."""
    asked = ("--method", "experts", "--keep", "0.75")
    ran = run("plan", subject.folder, "--calibration-token-file", subject.text, "--length", CONTEXT, *asked, "--quiet")
    if ran.returncode != NOT_REACHABLE:
        raise ValueError(f"exit code {ran.returncode}: {ran.stderr.strip()}")


def words_tokenizer(folder):
    """Write a tokenizer with words w3, w4, … for the ids, a mask token, and an end token after each text."""
    vocabulary = {"<s>": 0, "</s>": 1, "[MASK]": 2} | {f"w{at}": at for at in range(3, VOCABULARY)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<s>"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.save(str(folder / "tokenizer.json"))


def check_count(model, facts, choice):
    # Marian's positions are in no file. BERT's head bias is in the files twice, and one copy is unused.
    computed = {*(model._keys_to_ignore_on_save or ()), "cls.predictions.decoder.bias"}
    count = sum(weight.numel() for place, weight in model.named_parameters() if place not in computed)
    if not choice.startswith("low-rank") and facts["parameters_after"] != count:
        raise ValueError(f"{count} parameters, not {facts['parameters_after']}")


def check_stack(name, stack, choice, folder, texts, scratch):
    out = scratch / f"{name}-{stack}-{choice}"
    facts = planned_and_made(f"{folder}:{stack}", folder, texts, ("--set", choice), out, scratch, "--shard-size", "40K")
    model = load(out, AutoModelForSeq2SeqLM)
    source, target = [*range(5, 19), 1], [0, *range(30, 21, -1)]
    ours = logits_of(f"{out}:decoder", source, scratch, "--target-tokens", ",".join(map(str, target)))
    theirs = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])).logits[0]
    expect_same("in attnscope", ours, theirs)
    check_count(model, facts, choice)


def check_masked(name, choice, folder, texts, scratch):
    out, ids = scratch / f"{name}-{choice}", [*range(5, 19), 1]
    facts = planned_and_made(folder, folder, texts, ("--set", choice), out, scratch)
    model = load(out, AutoModelForMaskedLM)
    expect_same("in attnscope", logits_of(out, ids, scratch), model(torch.tensor([ids])).logits[0])
    check_count(model, facts, choice)


def check_refused(given, texts, choice, scratch):
    if planned(given, texts, ("--set", choice), scratch / "plan.json"):
        raise ValueError("can be planned")


def check_trained(choice, text, scratch):
    """Check the trained example, written in float32 although it is stored in bfloat16."""
    folder, out, ids = ROOT / "examples" / "shakespeare-llama", scratch / f"trained-{choice}", list(range(5, 69))
    fitted = ("--sequences", 4, "--eval-sequences", 1, "--set", choice)
    planned_and_made(folder, folder, ("--calibration-file", text), fitted, out, scratch, "--dtype", "F32")
    theirs = load(out)(torch.tensor([ids])).logits[0]
    expect_same("in attnscope", logits_of(out, ids, scratch), theirs)
    if choice in TRAINED_WHOLE:
        expect_same("nothing removed", theirs, load(folder)(torch.tensor([ids])).logits[0])


def tried(cases):
    """Run the cases, pairs of a name and a function. Return how many models were loaded."""
    count = 0
    for name, check_one in cases:
        try:
            count += check_one() is not REFUSED
        except (ValueError, OSError, RuntimeError) as error:
            faults.append(f"{name}: {str(error)[:300]}")
    return count


def check_with_texts(scratch):
    """Check encoder-decoders and masked-language models, which are calibrated on text files."""
    rng, texts = np.random.default_rng(3), ("--calibration-file", scratch / "sources.txt", "--calibration-target-file", scratch / "targets.txt")
    lines = [[f"w{at}" for at in rng.integers(3, VOCABULARY, rng.integers(6, 14))] for _ in range(90)]
    texts[1].write_text("".join(" ".join(line) + "\n" for line in lines))
    texts[3].write_text("".join(" ".join(line[::-1]) + "\n" for line in lines))
    count = 0
    for name, (kind, values) in ENCODER_DECODERS.items():
        make(scratch / name, kind, values, AutoModelForSeq2SeqLM)
        words_tokenizer(scratch / name)
        count += tried((f"{name}:{stack} {choice}", partial(check_stack, name, stack, choice, scratch / name, texts, scratch))
                       for stack in ("encoder", "decoder") for choice in OF_STACKS.values())
        print(f"{name}: encoder, decoder")
    for name, (kind, values) in MASKED.items():
        make(scratch / name, kind, values, AutoModelForMaskedLM)
        words_tokenizer(scratch / name)
        count += tried((f"{name} {choice}", partial(check_masked, name, choice, scratch / name, texts[:2], scratch))
                       for choice in OF_STACKS.values())
        print(f"{name}: {', '.join(OF_STACKS)}")
    tried((f"{given} {choice}", partial(check_refused, scratch / given, texts if ":" in given else texts[:2], choice, scratch))
          for given in ("t5:encoder", "bart:decoder", "bert", "distilbert")
          for form, choice in FORMS.items() if form not in OF_STACKS)
    return count


def check_adapters(name, subject):
    folder, scratch, x = subject.folder, subject.scratch, torch.tensor([subject.ids])
    tuned, adapter = scratch / f"{name}-tuned", scratch / f"{name}-lora"
    asked = ("--set", asked_of(name)["low-rank"], "--length", CONTEXT)
    make_tuned = partial(planned_and_made, folder, folder, ("--calibration-token-file", subject.text), asked, tuned, scratch)
    if not tried([(f"{name} for an adapter", make_tuned)]):
        return
    cases = {"fixed rank": partial(check_fixed_rank, folder, tuned, adapter.with_suffix(".rank"), x),
             "all changed weights": partial(check_whole_change, folder, tuned, adapter, x)}
    if "experts" in TAKES[name]:
        cases["with experts"] = partial(check_experts, folder, scratch / f"{name}-experts", adapter.with_suffix(".experts"), x)
    if name in OWN_ADAPTERS:
        cases["by PEFT"] = partial(check_own_adapter, name, folder, scratch)
    tried((f"{name} adapter {case}", check_one) for case, check_one in cases.items())


def check_decoders(text, ids, scratch):
    def subject_of(name, kind, values, **words):
        return Subject(scratch / name, make(scratch / name, kind, values, **words), text, ids, scratch)

    def forms(subject, takes, cases, **words):
        return tried((f"{subject.folder.name} {case[1]}", partial(check_form, subject, takes, *case, **words)) for case in cases)

    count = 0
    for name, (kind, values) in MODELS.items():
        subject = subject_of(name, kind, values)
        count += forms(subject, TAKES[name], [*cases_of(name, FORMS), *(("several", of) for of in SEVERAL)])
        tried([(f"{name} menu", partial(check_menu, subject, TAKES[name]))])
        check_adapters(name, subject)
        print(f"{name}: {', '.join(form for form in FORMS if form in TAKES[name])}")
    for name, (kind, values, of) in VARIANTS.items():
        subject = subject_of(name, kind, values)
        count += forms(subject, set(of), cases_of(name, of))
        if "n_group" in values:
            tried([(f"{name} fewest experts", partial(check_fewest_experts, subject))])
        print(f"{name}: {', '.join(of)}")
    for name, of in ONE_FILE.items():
        subject = subject_of(f"{name}-one-file", *MODELS[name], shard_size="1GB")
        count += forms(subject, set(of), cases_of(name, of), sharded=False)
        print(f"{name} in one file: {', '.join(of)}")
    return count


@torch.no_grad()
def main():
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, 3000)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        text = scratch / "text.bin"
        shard(text, tokens)
        count = check_decoders(text, tokens[:24].tolist(), scratch)
        count += check_with_texts(scratch)
        prose = scratch / "prose.txt"
        prose.write_text((ROOT / "docs" / "metrics.md").read_text())
        count += tried((f"shakespeare-llama {choice}", partial(check_trained, choice, prose, scratch))
                       for choice in (*TRAINED, *TRAINED_WHOLE))
    for fault in faults:
        print("fault:", fault)
    print(f"{count} compressed models were loaded")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
