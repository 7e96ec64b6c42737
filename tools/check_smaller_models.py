#!/usr/bin/env python3
"""Loads what `shrink` and `diff --lora` write in stock transformers and PEFT, and compares it with attnscope's own run.

    tools/check_smaller_models.py BINARY

For tiny models of each family and form: loading leaves out and adds no weight, logits are those that attnscope
computes of the folder, also with a cache; where nothing is cut, they are the model's own. Needs torch, transformers
and peft; exits 77 (skipped) with a line where they are missing.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

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
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM
except ImportError as error:
    print(f"torch, transformers and peft are not all here ({error}): nothing was checked")
    sys.exit(77)

BINARY = sys.argv[1]
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
OF_STACKS = {"layers": "without=0", "width": "width=50", "ranks": "ranks=0.q:6,1.up:9,1.down:5"}
OF_EXPERTS = "ranks=0.q:6,2.o:9,1.k:5"  # whose layers have no MLP of their own
SEVERAL = ("hidden,width", "heads,kv-heads,width", "head-width,hidden", "layers,width")
WHOLE = {"hidden": "hidden=48", "latent": "latent=16+16"}
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
            elif "embed" not in name and "shared" not in name and "wte" not in name and "wpe" not in name:
                weight.mul_(4)  # attention that is not even
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


def check(name, form, choice, folder, text, ids, scratch, original):
    plan, out = scratch / "plan.json", scratch / f"{name}-{choice}"
    asked = ("--by", choice, "--keep", "0.85") if form == "several" else ("--set", choice)
    for words in (("plan", folder, "--token-file", text, "--length", CONTEXT, *asked, "-o", plan),
                  ("shrink", folder, plan, "--token-file", text, "-o", out, "--shard-size", "40K")):
        ran = run(*words)
        if ran.returncode == 5:
            return "cannot"
        if ran.returncode:
            raise ValueError(ran.stderr.strip())
    model, x = load(out), torch.tensor([ids])
    theirs, ours = model(x).logits[0], logits_of(out, ids, scratch)
    scale = max(1.0, theirs.std().item())
    difference = (theirs - ours).abs().max().item()
    if difference > 1e-3 * scale:
        raise ValueError(f"logits differ from attnscope's by {difference:.2g}")
    first = model(x[:, :-3], use_cache=True)
    rest = model(x[:, -3:], past_key_values=first.past_key_values).logits[0]
    if (rest - theirs[-3:]).abs().max().item() > 1e-3 * scale:
        raise ValueError("logits with a cache differ")
    planned = json.loads(plan.read_text())["models"][0]["plan"]
    if form != "ranks" and planned["parameters_after"] != model.num_parameters():
        raise ValueError(f"{model.num_parameters()} parameters, not {planned['parameters_after']}")
    held = 2 * sum(elements(part, len(ids)) for part in first.past_key_values.layers)
    if "sliding_window" not in MODELS[name][1] and held != planned["kv_cache_bytes_per_token_after"]:
        raise ValueError(f"{held} bytes of cache a token, not {planned['kv_cache_bytes_per_token_after']}")
    if choice == WHOLE.get(form):
        whole = (theirs - original(x).logits[0]).abs().max().item()
        if whole > 3e-4 * scale:
            raise ValueError(f"nothing is cut, and logits differ by {whole:.2g}")
    return "ok"


def words_tokenizer(folder):
    """Words w2, w3, … for the ids, and an end after each text."""
    vocabulary = {"<s>": 0, "</s>": 1} | {f"w{at}": at for at in range(2, VOCABULARY)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<s>"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.save(str(folder / "tokenizer.json"))


def check_stack(name, stack, choice, folder, texts, scratch):
    plan, out = scratch / "plan.json", scratch / f"{name}-{stack}-{choice}"
    for words in (("plan", f"{folder}:{stack}", *texts, "--set", choice, "-o", plan),
                  ("shrink", folder, plan, *texts, "-o", out, "--shard-size", "40K")):
        ran = run(*words)
        if ran.returncode:
            raise ValueError(ran.stderr.strip())
    model = load(out, AutoModelForSeq2SeqLM)
    source, target = [*range(5, 19), 1], [0, *range(30, 21, -1)]
    theirs = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])).logits[0]
    ours = logits_of(f"{out}:decoder", source, scratch, "--target-tokens", ",".join(map(str, target)))
    difference = (theirs - ours).abs().max().item()
    if difference > 1e-3 * max(1.0, theirs.std().item()):
        raise ValueError(f"logits differ from attnscope's by {difference:.2g}")
    planned = json.loads(plan.read_text())["models"][0]["plan"]
    computed = model._keys_to_ignore_on_save or ()  # Marian's positions, which no file holds
    count = sum(weight.numel() for place, weight in model.named_parameters() if place not in computed)
    if not choice.startswith("ranks") and planned["parameters_after"] != count:
        raise ValueError(f"{count} parameters, not {planned['parameters_after']}")


def check_encoder_decoders(scratch):
    rng, texts = np.random.default_rng(3), ("--text-file", scratch / "sources.txt", "--target-file", scratch / "targets.txt")
    lines = [[f"w{at}" for at in rng.integers(2, VOCABULARY, rng.integers(6, 14))] for _ in range(90)]
    texts[1].write_text("".join(" ".join(line) + "\n" for line in lines))
    texts[3].write_text("".join(" ".join(line[::-1]) + "\n" for line in lines))
    count = 0
    for name, (kind, values) in ENCODER_DECODERS.items():
        make(scratch / name, kind, values, AutoModelForSeq2SeqLM)
        words_tokenizer(scratch / name)
        for stack in ("encoder", "decoder"):
            for form, choice in OF_STACKS.items():
                if form == "width" and "t5" in name:
                    continue  # one key for both stacks
                try:
                    check_stack(name, stack, choice, scratch / name, texts, scratch)
                    count += 1
                except (ValueError, OSError, RuntimeError) as error:
                    faults.append(f"{name}:{stack} {choice}: {str(error)[:300]}")
        print(f"{name}: encoder, decoder")
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
    plan, tuned, adapter = scratch / "plan.json", scratch / f"{name}-tuned", scratch / f"{name}-lora"
    for words in (("plan", folder, "--token-file", text, "--length", CONTEXT, "--set", ranks_of(name), "-o", plan),
                  ("shrink", folder, plan, "--token-file", text, "-o", tuned),
                  ("diff", folder, tuned, "--lora", adapter, "--lora-energy", "0.999999999")):
        if words[0] == "diff":
            change_the_rest(tuned)
        ran = run(*words)
        if ran.returncode:
            raise ValueError(ran.stderr.strip())
    x, wanted = torch.tensor([ids]), load(tuned)
    model = PeftModel.from_pretrained(load(folder), adapter).eval()
    keys = set(load_file(adapter / "adapter_model.safetensors"))
    if keys != set(get_peft_model_state_dict(model)):
        raise ValueError("the adapter's keys are not those of PEFT")
    for kind, made in (("", model), ("merged: ", model.merge_and_unload())):
        difference = (made(x).logits - wanted(x).logits).abs().max().item()
        if difference > 1e-3 * max(1.0, wanted(x).logits.std().item()):
            raise ValueError(f"{kind}logits differ by {difference:.2g}")


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
            for form, choice in cases:
                try:
                    if check(model, form, choice, scratch / model, text, ids, scratch, original) == "ok":
                        done.append(form)
                except (ValueError, OSError, RuntimeError) as error:
                    faults.append(f"{model} {choice}: {str(error)[:300]}")
            try:
                check_adapter(model, scratch / model, text, ids, scratch)
            except (ValueError, OSError, RuntimeError) as error:
                faults.append(f"{model} adapter: {str(error)[:300]}")
            count += len(done)
            print(f"{model}: {', '.join(dict.fromkeys(done))}")
        count += check_encoder_decoders(scratch)
    for fault in faults:
        print("fault:", fault)
    print(f"{count} smaller models were loaded")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
