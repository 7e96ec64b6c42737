#!/usr/bin/env python3
"""Loads what `shrink` and `diff --lora` write in stock transformers and PEFT, and compares it with attnscope's own run.

    tools/check_smaller_models.py BINARY

For tiny models of each family and form, and for a trained one: loading leaves out and adds no weight, logits are
those that attnscope computes of the folder, also with a cache; where nothing is cut, they are the model's own. Needs
torch, transformers and peft; exits 77 (skipped) with a line where they are missing.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from functools import partial

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
try:
    import numpy as np
    import torch
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM
except ImportError as error:
    print(f"torch, transformers and peft are not all here ({error}): nothing was checked")
    sys.exit(77)

BINARY = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parent.parent
TOLERANCE = 1e-4  # of logits whose deviation is 1 or more; of others that share of theirs. Float32 leaves a tenth
VOCABULARY, CONTEXT = 96, 64
SMALL = dict(vocab_size=VOCABULARY, num_hidden_layers=3, bos_token_id=0, eos_token_id=0, pad_token_id=None)
LLAMA = dict(SMALL, hidden_size=48, intermediate_size=80, num_attention_heads=6, num_key_value_heads=2, head_dim=8,
             max_position_embeddings=CONTEXT)
MODELS = {
    "llama": ("llama", dict(LLAMA, tie_word_embeddings=True)),
    "llama-biased": ("llama", dict(LLAMA, attention_bias=True, mlp_bias=True)),
    "mistral": ("mistral", dict(LLAMA, sliding_window=None)),
    "qwen2": ("qwen2", dict(LLAMA, tie_word_embeddings=True)),
    "qwen3": ("qwen3", LLAMA),
    "phi3": ("phi3", {name: value for name, value in LLAMA.items() if name != "head_dim"}),
    "gemma": ("gemma", LLAMA),
    "gemma2": ("gemma2", dict(LLAMA, query_pre_attn_scalar=8, sliding_window=16)),
    "mixtral": ("mixtral", dict(LLAMA, num_local_experts=4, num_experts_per_tok=2, sliding_window=None)),
    "qwen3_moe": ("qwen3_moe", dict(LLAMA, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=20)),
    "gpt2": ("gpt2", dict(vocab_size=VOCABULARY, n_layer=3, n_embd=48, n_head=6, n_positions=CONTEXT, bos_token_id=0,
                          eos_token_id=0)),
}
FORMS = {
    "layers": "without=1", "width": "width=50", "hidden": "hidden=36", "head-width": "head-width=4",
    "kv-heads": "kv-heads=1", "heads": "heads=4", "latent": "latent=8+10", "experts": "experts=3",
    "ranks": "ranks=0.q:6,2.up:9,1.down:5",
}
# Encoder-decoders, whose stacks are made smaller one by one.
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
OF_STACKS = {"layers": "without=0", "width": "width=50", "ranks": "ranks=0.q:6,1.up:9,1.down:5"}
OF_EXPERTS = "ranks=0.q:6,2.o:9,1.k:5"  # whose layers have no MLP of their own
SEVERAL = ("hidden,width", "heads,kv-heads,width", "head-width,hidden", "layers,width")
WHOLE = {"hidden": "hidden=48", "latent": "latent=16+16"}
# Of examples/shakespeare-llama, whose logits vary by 4; it is stored in bfloat16, but written in float32.
TRAINED = ("without=2", "width=384", "hidden=144", "head-width=16", "kv-heads=1", "heads=4", "latent=32+32")
TRAINED_WHOLE = ("hidden=192", "latent=64+64")
faults = []


def run(*words):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, check=False)


def make(folder, kind, values, loader=AutoModelForCausalLM):
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **values)
    config.dtype = "float32"
    model = loader.from_config(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 1:
                weight.add_(0.1 * torch.randn_like(weight))
            elif "t5" not in kind and not any(part in name for part in ("embed", "shared", "wte", "wpe")):
                weight.mul_(4)  # attention that is not even, as that of T5 is, which does not scale scores
    model.save_pretrained(folder, max_shard_size="60KB")
    return model


def shard(path, tokens):
    header = np.zeros(256, np.int32)
    header[:3] = 20240520, 1, len(tokens)
    path.write_bytes(header.tobytes() + np.asarray(tokens, np.uint16).tobytes())


def load(folder, loader=AutoModelForCausalLM):
    model, info = loader.from_pretrained(folder, dtype=torch.float32, output_loading_info=True,
                                                       attn_implementation="eager")
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info.get(kind):
            raise ValueError(f"{kind}: {sorted(map(str, info[kind]))[:4]}")
    return model.eval()


def logits_of(folder, ids, scratch, *target):
    saved = scratch / "run.safetensors"
    ran = run("predict", folder, "--tokens", ",".join(map(str, ids)), *target, "--save", saved, "--format", "json")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    return torch.tensor(load_file(saved)["logits"])


def expect_same(what, found, wanted):
    difference, most = (found - wanted).abs().max().item(), TOLERANCE * min(1.0, wanted.std().item())
    if not difference <= most:
        raise ValueError(f"{what}: logits differ by {difference:.2g}, more than {most:.2g}")


def planned_and_made(given, folder, texts, asked, out, scratch, *form):
    """The facts of the plan whose model lies in `out` then; none for a form that the model cannot take."""
    plan = scratch / "plan.json"
    for words in (("plan", given, *texts, *asked, "-o", plan), ("shrink", folder, plan, *texts, "-o", out, *form)):
        ran = run(*words)
        if ran.returncode == 5:
            return None
        if ran.returncode:
            raise ValueError(ran.stderr.strip())
    return json.loads(plan.read_text())["models"][0]["plan"]


def check(name, form, choice, folder, text, ids, scratch, original):
    out, length = scratch / f"{name}-{choice}", ("--length", CONTEXT)
    asked = ("--by", choice, "--keep", "0.85") if form == "several" else ("--set", choice)
    planned = planned_and_made(folder, folder, ("--token-file", text), (*asked, *length), out, scratch, "--shard-size", "40K")
    if planned is None:
        return "cannot"
    model, x = load(out), torch.tensor([ids])
    theirs = model(x).logits[0]
    expect_same("in attnscope", logits_of(out, ids, scratch), theirs)
    first = model(x[:, :-3], use_cache=True)
    expect_same("with a cache", model(x[:, -3:], past_key_values=first.past_key_values).logits[0], theirs[-3:])
    if form != "ranks" and planned["parameters_after"] != model.num_parameters():
        raise ValueError(f"{model.num_parameters()} parameters, not {planned['parameters_after']}")
    held = 2 * sum(elements(part, len(ids)) for part in first.past_key_values.layers)
    if "sliding_window" not in MODELS[name][1] and held != planned["kv_cache_bytes_per_token_after"]:
        raise ValueError(f"{held} bytes of cache a token, not {planned['kv_cache_bytes_per_token_after']}")
    if choice == WHOLE.get(form):
        expect_same("nothing is cut", theirs, original(x).logits[0])
        before, after = planned["mean_nll_before"], planned["mean_nll_after"]
        if not abs(after - before) <= 1e-5 * before:
            raise ValueError(f"nothing is cut, and the loss is {after}, not {before}")
    return "ok"


def words_tokenizer(folder):
    """Words w3, w4, … for the ids, a mask, and an end after each text."""
    vocabulary = {"<s>": 0, "</s>": 1, "[MASK]": 2} | {f"w{at}": at for at in range(3, VOCABULARY)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<s>"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.save(str(folder / "tokenizer.json"))


def check_count(model, planned, choice):
    # Marian's positions, which no file holds; BERT's bias of its head, which the files have twice, and one is unused.
    computed = {*(model._keys_to_ignore_on_save or ()), "cls.predictions.decoder.bias"}
    count = sum(weight.numel() for place, weight in model.named_parameters() if place not in computed)
    if not choice.startswith("ranks") and planned["parameters_after"] != count:
        raise ValueError(f"{count} parameters, not {planned['parameters_after']}")


def check_stack(name, stack, choice, folder, texts, scratch):
    out = scratch / f"{name}-{stack}-{choice}"
    planned = planned_and_made(f"{folder}:{stack}", folder, texts, ("--set", choice), out, scratch, "--shard-size", "40K")
    model = load(out, AutoModelForSeq2SeqLM)
    source, target = [*range(5, 19), 1], [0, *range(30, 21, -1)]
    ours = logits_of(f"{out}:decoder", source, scratch, "--target-tokens", ",".join(map(str, target)))
    theirs = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])).logits[0]
    expect_same("in attnscope", ours, theirs)
    check_count(model, planned, choice)


def check_masked(name, choice, folder, texts, scratch):
    out, ids = scratch / f"{name}-{choice}", [*range(5, 19), 1]
    planned = planned_and_made(folder, folder, texts, ("--set", choice), out, scratch)
    model = load(out, AutoModelForMaskedLM)
    expect_same("in attnscope", logits_of(out, ids, scratch), model(torch.tensor([ids])).logits[0])
    check_count(model, planned, choice)


def check_trained(choice, text, scratch):
    """Of figures that are rounded to float32 alone, though the model's own are bfloat16's."""
    folder, out, ids = ROOT / "examples" / "shakespeare-llama", scratch / f"trained-{choice}", list(range(5, 69))
    fitted = ("--sequences", 4, "--held-out-sequences", 1, "--set", choice)
    planned_and_made(folder, folder, ("--text-file", text), fitted, out, scratch, "--dtype", "F32")
    theirs = load(out)(torch.tensor([ids])).logits[0]
    expect_same("in attnscope", logits_of(out, ids, scratch), theirs)
    if choice in TRAINED_WHOLE:
        expect_same("nothing is cut", theirs, load(folder)(torch.tensor([ids])).logits[0])


def tried(cases):
    """How many hold, of names and what is to be called."""
    count = 0
    for name, check_one in cases:
        try:
            check_one()
            count += 1
        except (ValueError, OSError, RuntimeError) as error:
            faults.append(f"{name}: {str(error)[:300]}")
    return count


def check_with_texts(scratch):
    """Encoder-decoders and models that fill masks, which are fitted to words."""
    rng, texts = np.random.default_rng(3), ("--text-file", scratch / "sources.txt", "--target-file", scratch / "targets.txt")
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
    return count


def ranks_of(model):
    return OF_EXPERTS if "num_experts_per_tok" in MODELS[model][1] else FORMS["ranks"]


def elements(layer, tokens):
    """Of keys and values of one token."""
    return (layer.keys.numel() + layer.values.numel()) // tokens


def change_the_rest(folder):
    """What a fine-tune changes beside matrices: the embedding, tied or not, and norms."""
    model = load(folder)
    for name, weight in model.named_parameters():
        if weight.ndim == 1 and "bias" not in name or weight is model.get_input_embeddings().weight:
            weight.add_(0.05 * torch.randn_like(weight))
    model.save_pretrained(folder)


def check_adapter(name, folder, text, ids, scratch):
    tuned, adapter = scratch / f"{name}-tuned", scratch / f"{name}-lora"
    asked = ("--set", ranks_of(name), "--length", CONTEXT)
    planned_and_made(folder, folder, ("--token-file", text), asked, tuned, scratch)
    change_the_rest(tuned)
    ran = run("diff", folder, tuned, "--lora", adapter, "--lora-energy", "0.999999999")
    if ran.returncode:
        raise ValueError(ran.stderr.strip())
    x, wanted = torch.tensor([ids]), load(tuned)
    model = PeftModel.from_pretrained(load(folder), adapter).eval()
    keys = set(load_file(adapter / "adapter_model.safetensors"))
    if keys != set(get_peft_model_state_dict(model)):
        raise ValueError("the adapter's keys are not those of PEFT")
    expect_same("loaded", model(x).logits, wanted(x).logits)
    expect_same("merged", model.merge_and_unload()(x).logits, wanted(x).logits)


@torch.no_grad()
def main():
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, 3000)
    count = 0
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        text, ids = scratch / "text.bin", tokens[:24].tolist()
        shard(text, tokens)
        for model, (kind, values) in MODELS.items():
            original = make(scratch / model, kind, values)
            cases = [*{**FORMS, "ranks": ranks_of(model)}.items(), *WHOLE.items(), *(("several", of) for of in SEVERAL)]
            done = []

            def check_form(form, choice, own=model, original=original, done=done):
                if check(own, form, choice, scratch / own, text, ids, scratch, original) == "ok":
                    done.append(form)

            tried((f"{model} {case[1]}", partial(check_form, *case)) for case in cases)
            tried([(f"{model} adapter", partial(check_adapter, model, scratch / model, text, ids, scratch))])
            count += len(done)
            print(f"{model}: {', '.join(dict.fromkeys(done))}")
        count += check_with_texts(scratch)
        prose = scratch / "prose.txt"
        prose.write_text((ROOT / "docs" / "metrics.md").read_text())
        count += tried((f"shakespeare-llama {choice}", partial(check_trained, choice, prose, scratch))
                       for choice in (*TRAINED, *TRAINED_WHOLE))
    for fault in faults:
        print("fault:", fault)
    print(f"{count} smaller models were loaded")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
