#!/usr/bin/env python3
"""Write tests/data/classifiers/<case>/: tiny classifiers, and their outputs on texts and pairs of texts.

    python tools/golden_classifiers.py

A second run gives the same bytes. Needs numpy, torch, transformers and safetensors, but tests do not. Each folder has
config.json and model.safetensors in float16, in the format of transformers 5, and two of them have tokenizer files.
expected.json:
    - texts: a list of {"tokens": ids, "types": token types}; no types: the model has none
    - logits: per text, of eager transformers in float64. All texts run in one batch, padded and masked.
    - ablated: bert and llama: logits as above, with head 0 or 1 of layer 0 zeroed
    - decoded: bert and llama: the label logits decoded from the residual stream before layer 1, per text
    - pair: bert and roberta: {"text", "text_pair", "tokens", "types", "texts", "a_to_b", "b_to_a"}. The first five are the
      input. The last two are the mean attention from a token of one text to all tokens of the other one, per layer and head.
"""

import json
import os
import shutil
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything is built here; nothing may be downloaded

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

DATA = Path(__file__).resolve().parent.parent / "tests" / "data" / "classifiers"
VOCABULARY, PADDING = 40, 0
WORDS = ["the", "play", "is", "long", "short", "good", "bad", "king", "who", "rules", "##s", "##ed", "?", "."]
TEXT, TEXT_PAIR = "Who rules?", "The king ruled. The play is long."

BERT = dict(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
            max_position_embeddings=24, pad_token_id=PADDING)
ROBERTA = BERT | dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, max_position_embeddings=60, type_vocab_size=1)
LLAMA = BERT | dict(num_key_value_heads=1, max_position_embeddings=32)
NAMES = {"id2label": {0: "negative", 1: "neutral", 2: "positive"}, "label2id": {"negative": 0, "neutral": 1, "positive": 2}}

CASES = {  # class, config, token types
    "bert": ("BertForSequenceClassification", BERT | NAMES, True),
    "bert-tokens": ("BertForTokenClassification", BERT | NAMES, True),
    "bert-answers": ("BertForQuestionAnswering", BERT, True),
    "roberta": ("RobertaForSequenceClassification", ROBERTA | NAMES | {"problem_type": "multi_label_classification"}, False),
    "roberta-tokens": ("RobertaForTokenClassification", ROBERTA, False),
    "xlm-roberta": ("XLMRobertaForSequenceClassification", ROBERTA | {"num_labels": 1}, False),
    "distilbert": ("DistilBertForSequenceClassification",
                   dict(vocab_size=VOCABULARY, dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=24,
                        pad_token_id=PADDING, num_labels=2), False),
    "electra": ("ElectraForSequenceClassification", BERT | {"embedding_size": 8, "num_labels": 2}, True),
    "electra-answers": ("ElectraForQuestionAnswering", BERT | {"embedding_size": 8}, True),
    "deberta-v2": ("DebertaV2ForSequenceClassification",
                   BERT | {"type_vocab_size": 2, "relative_attention": True, "pos_att_type": ["c2p", "p2c"],
                           "position_buckets": 4, "norm_rel_ebd": "layer_norm", "share_att_key": True,
                           "pooler_hidden_size": 16, "num_labels": 3}, True),
    "albert": ("AlbertForSequenceClassification", BERT | {"embedding_size": 8, "num_labels": 3}, True),
    "ernie": ("ErnieForSequenceClassification", BERT | {"num_labels": 3, "use_task_id": True}, True),
    "layoutlm": ("LayoutLMForSequenceClassification", BERT | {"num_labels": 3, "max_2d_position_embeddings": 4}, True),
    "rembert": ("RemBertForSequenceClassification", BERT | {"num_labels": 3, "input_embedding_size": 8}, True),
    "big_bird": ("BigBirdForSequenceClassification", BERT | {"num_labels": 3, "attention_type": "original_full"}, True),
    "roformer": ("RoFormerForSequenceClassification", BERT | {"num_labels": 3, "hidden_act": "relu"}, True),
    "gte": ("GteForSequenceClassification", BERT | {"num_labels": 3, "type_vocab_size": 2}, True),
    "mpnet": ("MPNetForSequenceClassification", ROBERTA | {"num_labels": 3}, False),
    "esm": ("EsmForSequenceClassification", ROBERTA | {"num_labels": 3, "mask_token_id": 5,
                                                       "position_embedding_type": "rotary"}, False),
    "modernbert": ("ModernBertForSequenceClassification", BERT | {"num_labels": 3, "classifier_pooling": "mean",
                                                                  "global_attn_every_n_layers": 2, "local_attention": 64,
                                                                  "bos_token_id": 2, "eos_token_id": 3,
                                                                  "cls_token_id": 2, "sep_token_id": 3}, False),
    "modernbert-tokens": ("ModernBertForTokenClassification", BERT | {"num_labels": 3, "bos_token_id": 2, "eos_token_id": 3,
                                                                      "cls_token_id": 2, "sep_token_id": 3}, False),
    "gpt2": ("GPT2ForSequenceClassification",
             dict(vocab_size=VOCABULARY, n_embd=16, n_layer=2, n_head=2, n_positions=24, pad_token_id=PADDING, bos_token_id=3,
                  eos_token_id=3, num_labels=3), False),
    "llama": ("LlamaForSequenceClassification", LLAMA | NAMES, False),
    "llama-reward": ("LlamaForSequenceClassification", LLAMA | {"num_labels": 1}, False),
    "qwen3-tokens": ("Qwen3ForTokenClassification", LLAMA | {"head_dim": 8, "num_labels": 3}, False),
}


def randomize(model: torch.nn.Module) -> None:
    """Draw all weights, biases and norms, so that no part of a model is trivial."""
    generator = torch.Generator().manual_seed(17)
    for name, parameter in sorted(model.named_parameters()):
        values = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        gain = parameter.dim() == 1 and "norm" in name.lower() and name.endswith("weight")
        scale = 0.3 if parameter.dim() == 1 else 1.6 / np.sqrt(parameter.shape[-1])
        parameter.data = (values * scale + (1 if gain else 0)).half().double()


def inputs(typed: bool, special: tuple[int, int]) -> list[dict]:
    """Two texts and a pair of different lengths."""
    generator = np.random.default_rng(3)
    texts = []
    for first, second in ((6, 0), (4, 5), (9, 8)):
        words = lambda count: generator.integers(6, VOCABULARY, count).tolist()
        tokens = [special[0], *words(first), special[1]]
        types = [0] * len(tokens)
        if second:
            tokens += [*words(second), special[1]]
            types += [1] * (second + 1)
        texts.append({"tokens": tokens} | ({"types": types} if typed else {}))
    return texts


def logits_of(model, texts: list[dict], padding: int) -> list:
    """The logits of a batch that is padded on the right and masked."""
    longest = max(len(text["tokens"]) for text in texts)
    padded = lambda values, value: torch.tensor([row + [value] * (longest - len(row)) for row in values])
    batch = {"input_ids": padded([text["tokens"] for text in texts], padding),
             "attention_mask": padded([[1] * len(text["tokens"]) for text in texts], 0)}
    if "types" in texts[0]:
        batch["token_type_ids"] = padded([text["types"] for text in texts], 0)
    with torch.no_grad():
        out = model(**batch)
    logits = torch.stack([out.start_logits, out.end_logits], -1) if "start_logits" in out else out.logits
    found = []
    for row, text in zip(logits, texts):
        found.append((row[: len(text["tokens"])] if row.dim() == 2 else row).tolist())
    return found


def ablated(model, texts: list[dict], padding: int, layer: int, head: int) -> list:
    """The logits when the output of a head is zero."""
    if model.config.model_type == "bert":
        projection = model.bert.encoder.layer[layer].attention.output.dense
    else:
        projection = model.model.layers[layer].self_attn.o_proj
    dim = model.config.hidden_size // model.config.num_attention_heads

    def without_head(_, given):
        changed = given[0].clone()
        changed[..., head * dim : (head + 1) * dim] = 0
        return (changed,)

    hook = projection.register_forward_pre_hook(without_head)
    found = logits_of(model, texts, padding)
    hook.remove()
    return found


def decoded(model, texts: list[dict]) -> list:
    """The label logits decoded from the residual stream before layer 1, per text."""
    found = []
    for text in texts:
        typed = {"token_type_ids": torch.tensor([text["types"]])} if "types" in text else {}
        with torch.no_grad():
            state = model(torch.tensor([text["tokens"]]), output_hidden_states=True, **typed).hidden_states[1]
            if model.config.model_type == "bert":
                found.append(model.classifier(model.bert.pooler(state))[0].tolist())
            else:
                found.append(model.score(model.model.norm(state))[0, -1].tolist())
    return found


def write_bert_tokenizer(folder: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("".join(word + "\n" for word in words))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": true}\n')


def write_roberta_tokenizer(folder: Path) -> None:
    letters = sorted(set("Who rules?The king ruled. The play is long.".replace(" ", "Ġ")))
    vocabulary = {token: at for at, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *letters, "Th", "The", "<mask>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False) + "\n")
    (folder / "merges.txt").write_text("#version: 0.2\nT h\nTh e\n")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer"}\n')


def pair_of(model, folder: Path, tokenizer) -> dict:
    encoded = tokenizer(TEXT, TEXT_PAIR, return_token_type_ids=True)
    texts = [-1 if text is None else text for text in encoded.sequence_ids()]
    typed = {"token_type_ids": torch.tensor([encoded["token_type_ids"]])} if model.config.type_vocab_size > 1 else {}
    with torch.no_grad():
        maps = model(torch.tensor([encoded["input_ids"]]), output_attentions=True, **typed).attentions
    a, b = (np.array(texts) == 0), (np.array(texts) == 1)
    mass = lambda queries, keys: [
        [float(head[queries][:, keys].sum(1).mean()) for head in layer[0].numpy()] for layer in maps]
    return {"text": TEXT, "text_pair": TEXT_PAIR, "tokens": encoded["input_ids"], "types": encoded["token_type_ids"],
            "texts": texts, "a_to_b": mass(a, b), "b_to_a": mass(b, a)}


def write(name: str) -> None:
    class_name, values, typed = CASES[name]
    folder = DATA / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model_class = getattr(transformers, class_name)
    config = model_class.config_class(**values)
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    model = model_class(config).double().eval()
    randomize(model)
    model.half().save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    # Random or float16 copies of rotary frequencies would change the model.
    tensors = {key: tensor for key, tensor in tensors.items() if not key.endswith(("inv_freq", "embed_positions.weight"))}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    model = model_class.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
    special = (0, 2) if values.get("pad_token_id") == 1 else (2, 3)
    texts = inputs(typed, special)
    expected = {"texts": texts, "logits": logits_of(model, texts, values["pad_token_id"])}
    if name in ("bert", "llama"):
        expected["ablated"] = [ablated(model, texts, values["pad_token_id"], 0, head) for head in (0, 1)]
        expected["decoded"] = decoded(model, texts)
    if name == "bert":
        write_bert_tokenizer(folder)
        expected["pair"] = pair_of(model, folder, transformers.BertTokenizer(str(folder / "vocab.txt"), do_lower_case=True))
    if name == "roberta":
        write_roberta_tokenizer(folder)
        expected["pair"] = pair_of(model, folder, transformers.RobertaTokenizer(str(folder / "vocab.json"),
                                                                               str(folder / "merges.txt")))
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    for case in CASES:
        write(case)
        print(case, sum(file.stat().st_size for file in (DATA / case).iterdir()))
