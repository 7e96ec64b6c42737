#!/usr/bin/env python3
"""Make SentencePiece models and a tiktoken file in tests/inputs/text/tokenizers, and what transformers makes of them.

    python tools/make_vocabulary_files.py TEXT

TEXT is Tiny Shakespeare. Two models are trained, BPE with byte fallback and unigram with a few rules for characters. Each class of
transformers reads one of them: a folder has the file, a tokenizer_config.json with the class, and expected.json
(make_tokenizers.py). Needs transformers, sentencepiece, protobuf and tiktoken, but tests do not.
"""

import argparse
import base64
import json
import os
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import sentencepiece
from make_tokenizers import MULTILINGUAL, OUT, expected, write_json
from transformers import AutoTokenizer

RULES = [("\u2460", "1"), ("\u00bd", "1/2"), ("\uff21", "A"), ("\u00a0", " "), ("\u2026", "..."), ("\ufb01", "fi")]
UNIGRAM = dict(model_type="unigram", vocab_size=400, character_coverage=0.99)
PIECES = dict(model_type="bpe", vocab_size=600, byte_fallback=True, character_coverage=0.98, normalization_rule_name="identity",
              user_defined_symbols=["<tool>", "\n\n"])
LATER = 24  # Classes that share a model with another are checked with every 24th text.
FOLDERS = {
    "spm-llama": (PIECES, "tokenizer.model", {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True}, 1),
    "spm-llama-legacy": (PIECES, "tokenizer.model", {"tokenizer_class": "LlamaTokenizer", "legacy": True, "add_eos_token": True}, LATER),
    "spm-gemma": (PIECES, "tokenizer.model", {"tokenizer_class": "GemmaTokenizer", "bos_token": "<s>", "eos_token": "</s>"}, LATER),
    "spm-t5": (UNIGRAM | dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1), "spiece.model", {"tokenizer_class": "T5Tokenizer"}, 1),
    "spm-xlm-roberta": (UNIGRAM, "sentencepiece.bpe.model", {"tokenizer_class": "XLMRobertaTokenizer"}, LATER),
    "spm-albert": (UNIGRAM | dict(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]", "[MASK]"]), "spiece.model",
                   {"tokenizer_class": "AlbertTokenizer"}, LATER),
    "spm-deberta-v2": (UNIGRAM | dict(pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]",
                                      unk_piece="[UNK]"), "spm.model", {"tokenizer_class": "DebertaV2Tokenizer"}, LATER),
}


def train(lines, options, path):
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.tsv"
        rules.write_text("".join(f"{ord(code):X}\t{' '.join(f'{ord(c):X}' for c in text)}\n" for code, text in RULES))
        if "normalization_rule_name" not in options:
            options = options | {"normalization_rule_tsv": str(rules)}
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=str(Path(folder) / "m"),
                                                 minloglevel=2, num_threads=1, **options)
        path.write_bytes((Path(folder) / "m.model").read_bytes())


def write(name, texts):
    tokenizer = AutoTokenizer.from_pretrained(OUT / name)
    write_json(OUT / name / "expected.json", expected(tokenizer._tokenizer, texts))
    print(name, type(tokenizer).__name__, len(tokenizer), "tokens")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path, help="tinyshakespeare.txt")
    prose = parser.parse_args().text.read_text()
    lines = [line for line in prose[:100_000].splitlines() if line] + MULTILINGUAL * 20
    texts = json.loads((OUT / "texts.json").read_text())
    for name, (options, file, config, step) in FOLDERS.items():
        (OUT / name).mkdir(exist_ok=True)
        train(lines, options, OUT / name / file)
        write_json(OUT / name / "tokenizer_config.json", config)
        write(name, texts[::step])

    # A byte-level BPE: the vocabulary of the folder llama3, whose ids are its ranks.
    state = json.loads((OUT / "llama3/tokenizer.json").read_text())["model"]
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(others)}
    folder = OUT / "tiktoken"
    folder.mkdir(exist_ok=True)
    ranked = sorted(state["vocab"].items(), key=lambda item: item[1])
    (folder / "tokenizer.model").write_bytes(b"".join(
        base64.b64encode(bytes(byte_of[letter] for letter in token)) + b" %d\n" % rank for token, rank in ranked))
    count = len(ranked)
    added = {str(count + at): {"content": token, "special": True} for at, token in ((0, "<|begin_of_text|>"), (2, "<|eot_id|>"))}
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "added_tokens_decoder": added,
                                                  "bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"})
    write("tiktoken", texts[::LATER // 4])


if __name__ == "__main__":
    main()
