#!/usr/bin/env python3
"""Train one of the two small example models from a text file, on the CPU.

    python tools/train_example.py gpt2  --text tinyshakespeare.txt --out examples/shakespeare-gpt2
    python tools/train_example.py llama --text tinyshakespeare.txt --out examples/shakespeare-llama

The first 90% of the text trains the tokenizer and the model. The last 10% is
held out and determines which weights are kept. The output folder has bfloat16
safetensors, config.json and tokenizer.json. The last printed line is JSON.
"""

import argparse
import copy
import json
import math
import time
from pathlib import Path

import numpy
import tokenizers
import torch
import torch.nn.functional as F
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                          LlamaForCausalLM, PreTrainedTokenizerFast)

END_OF_TEXT = "<|endoftext|>"
VOCAB_SIZE = 1024
CONTEXT = 256
LAYERS, WIDTH, HEADS, KV_HEADS, LLAMA_MLP = 6, 192, 6, 2, 512

# No dropout: with few passes over the data, it slows learning more than it
# reduces overfitting. GPT-2 learns slowly with AdamW alone, so its blocks are
# trained with Muon, which needs fewer tokens for the same loss.
DEFAULTS = {
    "gpt2": {"optimizer": "muon", "schedule": "trapezoid", "bfloat16": True,
             "batch": 4, "steps": 2000, "lr": 2e-3, "weight_decay": 0.1, "dropout": 0.0},
    "llama": {"optimizer": "adamw", "schedule": "cosine", "bfloat16": False,
              "batch": 8, "steps": 1200, "lr": 2e-3, "weight_decay": 0.5, "dropout": 0.0},
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architecture", choices=sorted(DEFAULTS))
    parser.add_argument("--text", type=Path, required=True, help="UTF-8 text to train on")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--optimizer", choices=["adamw", "muon"])
    parser.add_argument("--schedule", choices=["cosine", "trapezoid"])
    parser.add_argument("--bfloat16", action=argparse.BooleanOptionalAction,
                        help="multiply matrices in bfloat16 while training")
    parser.add_argument("--batch", type=int, help=f"windows of {CONTEXT} tokens per step")
    parser.add_argument("--steps", type=int, help="length of the learning-rate schedule")
    parser.add_argument("--lr", type=float, help="peak learning rate")
    parser.add_argument("--weight-decay", type=float)
    parser.add_argument("--dropout", type=float)
    parser.add_argument("--eval-every", type=int, default=100)
    parser.add_argument("--patience", type=int, default=4,
                        help="evaluations without improvement before stopping")
    arguments = parser.parse_args()
    for name, value in DEFAULTS[arguments.architecture].items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    return arguments


def split_text(path):
    text = path.read_bytes().decode("utf-8")  # bytes first: preserves line endings
    cut = len(text) * 9 // 10
    return text[:cut], text[cut:]


def train_tokenizer(text):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE, special_tokens=[END_OF_TEXT], show_progress=False,
        # All 256 bytes, so that any input can be encoded.
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def unigram_loss(train_ids, held_out_ids):
    """Return the loss of a unigram model with add-one smoothing, in nats per predicted token."""
    counts = torch.bincount(train_ids, minlength=VOCAB_SIZE).double() + 1
    log_probabilities = (counts / counts.sum()).log()
    return -log_probabilities[held_out_ids[1:]].mean().item()


@torch.no_grad()
def start_near(model):
    """Initialize GPT-2's heads to attend to nearby tokens.

    With the usual initialization, every head stays close to uniform attention on this
    little text, and the model learns hardly more than a bigram model. The positions
    are too small compared with the tokens, and random positions do not represent
    distances. Therefore positions start as larger sinusoids, for which a shift is a
    rotation of the hidden dimensions. The key weights of head h start as its query
    weights rotated by h tokens, so head h first attends h tokens back. All of these
    weights are trained as usual. Initializing keys from queries follows Trockman and
    Kolter, "Mimetic Initialization of Self-Attention Layers" (2023).
    """
    half, head_width = WIDTH // 2, WIDTH // HEADS
    model.transformer.wte.weight.normal_(0, 0.07)
    frequencies = 100 ** (-torch.arange(half) / half)
    angles = torch.arange(CONTEXT)[:, None] * frequencies
    positions = torch.cat([angles.sin(), angles.cos()], 1)
    model.transformer.wpe.weight.copy_(0.1 * math.sqrt(2) * positions)
    for block in model.transformer.h:
        queries, keys, _ = block.attn.c_attn.weight.split(WIDTH, 1)
        queries.normal_(0, 0.08)
        for head in range(HEADS):
            columns = slice(head * head_width, (head + 1) * head_width)
            on_sines, on_cosines = queries[:, columns].split(half)
            turn = (head * frequencies)[:, None]
            keys[:half, columns] = turn.cos() * on_sines - turn.sin() * on_cosines
            keys[half:, columns] = turn.sin() * on_sines + turn.cos() * on_cosines


def build_model(architecture, dropout, end_of_text_id):
    shared = {"vocab_size": VOCAB_SIZE, "bos_token_id": end_of_text_id,
              "eos_token_id": end_of_text_id, "tie_word_embeddings": True}
    if architecture == "gpt2":
        model = GPT2LMHeadModel(GPT2Config(
            n_positions=CONTEXT, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
            embd_pdrop=dropout, attn_pdrop=dropout, resid_pdrop=dropout, **shared))
        start_near(model)
        return model
    return LlamaForCausalLM(LlamaConfig(
        max_position_embeddings=CONTEXT, hidden_size=WIDTH, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, intermediate_size=LLAMA_MLP,
        attention_dropout=dropout, **shared))


def build_optimizers(model, optimizer, lr, weight_decay):
    # Biases and norm gains are vectors; decaying them does not reduce overfitting.
    vectors = [p for p in model.parameters() if p.dim() < 2]
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    muons = []
    if optimizer == "muon":  # the matrices of the blocks; embeddings stay with AdamW
        embeddings = [m.weight for m in model.modules() if isinstance(m, torch.nn.Embedding)]
        blocks = [p for p in matrices if not any(p is e for e in embeddings)]
        matrices = embeddings
        # Scales updates to the usual size of AdamW's, so that both use the same learning rate.
        muons = [torch.optim.Muon(blocks, lr=lr, weight_decay=weight_decay, momentum=0.95,
                                  adjust_lr_fn="match_rms_adamw")]
    return [torch.optim.AdamW([{"params": matrices, "weight_decay": weight_decay},
                               {"params": vectors, "weight_decay": 0.0}],
                              lr=lr, betas=(0.9, 0.95)), *muons]


def learning_rate(step, schedule, steps, peak):
    """Return the learning-rate schedule, after a linear warm-up.

    "cosine" decays to a twentieth of the peak along a cosine. "trapezoid" stays at the peak
    for the first 60% of the steps, then decays linearly to 0."""
    warm_up = min(50 if schedule == "trapezoid" else 100, steps // 10 + 1)
    if step < warm_up:
        return peak * (step + 1) / warm_up
    if schedule == "trapezoid":
        hold = steps * 6 // 10
        return peak * min(1.0, (steps - step) / (steps - hold))
    progress = (step - warm_up) / max(1, steps - warm_up)
    return peak * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * progress)))


def sample_batch(ids, batch, generator):
    starts = torch.randint(len(ids) - CONTEXT, (batch,), generator=generator)
    windows = ids[starts[:, None] + torch.arange(CONTEXT + 1)]
    return windows[:, :-1], windows[:, 1:]


def token_loss(model, inputs, targets, reduction="mean"):
    logits = model(input_ids=inputs, use_cache=False).logits.float()
    return F.cross_entropy(logits.reshape(-1, VOCAB_SIZE), targets.reshape(-1), reduction=reduction)


@torch.no_grad()
def held_out_loss(model, ids):
    """Return the loss in nats per token over the whole held-out part.

    Windows do not overlap, but each shares one token with the next, so every token
    except the first is predicted exactly once.
    """
    model.eval()
    full = (len(ids) - 1) // CONTEXT
    windows = ids[:full * CONTEXT + 1].unfold(0, CONTEXT + 1, CONTEXT)
    total = sum(token_loss(model, w[:, :-1], w[:, 1:], "sum").item() for w in windows.split(16))
    rest = ids[full * CONTEXT:]
    if len(rest) > 1:
        total += token_loss(model, rest[None, :-1], rest[None, 1:], "sum").item()
    return total / (len(ids) - 1)


def train(model, train_ids, held_out_ids, arguments):
    """Train float32 weights. Return the best ones, their step and the last step."""
    optimizers = build_optimizers(model, arguments.optimizer, arguments.lr, arguments.weight_decay)
    precision = torch.autocast("cpu", torch.bfloat16, enabled=arguments.bfloat16)
    generator = torch.Generator().manual_seed(arguments.seed)
    best_loss, best_step, best_state = math.inf, 0, None
    began = time.monotonic()
    for step in range(arguments.steps):
        model.train()
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, arguments.schedule, arguments.steps, arguments.lr)
        with precision:
            loss = token_loss(model, *sample_batch(train_ids, arguments.batch, generator))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()

        done = step + 1
        if done % arguments.eval_every and done != arguments.steps:
            continue
        with precision:
            held_out = held_out_loss(model, held_out_ids)
        print(f"step {done:5d}  train batch {loss.item():.3f}  held out {held_out:.4f}  "
              f"{time.monotonic() - began:.0f} s", flush=True)
        if held_out < best_loss:
            best_loss, best_step = held_out, done
            best_state = copy.deepcopy(model.state_dict())
        elif done - best_step >= arguments.patience * arguments.eval_every:
            break
    return best_state, best_step, done


def save(model, tokenizer, out):
    model.to(torch.bfloat16).save_pretrained(out)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END_OF_TEXT,
                            eos_token=END_OF_TEXT, unk_token=END_OF_TEXT,
                            model_max_length=CONTEXT).save_pretrained(out)


def main():
    arguments = parse_arguments()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(arguments.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(arguments.seed)

    train_text, held_out_text = split_text(arguments.text)
    tokenizer = train_tokenizer(train_text)
    train_ids = torch.tensor(tokenizer.encode(train_text).ids)
    held_out_ids = torch.tensor(tokenizer.encode(held_out_text).ids)
    print(f"{len(train_ids)} training tokens, {len(held_out_ids)} held out", flush=True)

    model = build_model(arguments.architecture, arguments.dropout,
                        tokenizer.token_to_id(END_OF_TEXT))
    began = time.monotonic()
    best_state, best_step, last_step = train(model, train_ids, held_out_ids, arguments)
    seconds = time.monotonic() - began
    model.load_state_dict(best_state)
    save(model, tokenizer, arguments.out)

    # Measured on the written file: bfloat16 weights, float32 arithmetic.
    saved = AutoModelForCausalLM.from_pretrained(arguments.out, dtype=torch.float32)
    loss = held_out_loss(saved, held_out_ids)
    first_token = tokenizer.decode([held_out_ids[0].item()])
    predicted_bytes = len(held_out_text.encode()) - len(first_token.encode())
    print(json.dumps({
        "model": arguments.architecture,
        "parameters": sum(p.numel() for p in saved.parameters()),
        "train_tokens": len(train_ids),
        "held_out_tokens": len(held_out_ids),
        "held_out_loss": round(loss, 4),
        "unigram_loss": round(unigram_loss(train_ids, held_out_ids), 4),
        "bits_per_byte": round(loss * (len(held_out_ids) - 1) / math.log(2) / predicted_bytes, 4),
        "kept_step": best_step,
        "steps": last_step,
        "seconds": round(seconds),
        "seed": arguments.seed,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__,
                     "tokenizers": tokenizers.__version__, "numpy": numpy.__version__},
    }))


if __name__ == "__main__":
    main()
