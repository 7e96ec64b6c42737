#!/usr/bin/env python3
"""Write the expected values of GGUF tokenizer tests into tests/data/gguf-families.

    python tools/make_pre_tokenizers.py

pre_tokenizers.json: hashes of the tokens of difficult texts from Hugging Face's tokenizers, for each pre-tokenizer name of llama.cpp
(tokenizer.ggml.pre). pieces.gguf, pieces.json: a tokenizer like XLM-RoBERTa's in both formats.

Each pre-tokenizer uses the pre-tokenizer and normalizer of the published tokenizer.json. Its vocabulary shows the word boundaries:
it has every byte and every pair of bytes, merged in order. The ids of all texts are hashed to one 64-bit number. Needs tokenizers,
sentencepiece, protobuf and gguf, but tests do not.
"""

import base64
import io
import json
import tempfile
from pathlib import Path

import gguf
import sentencepiece
from make_gguf_files import finish
from sentencepiece.sentencepiece_model_pb2 import ModelProto
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parent.parent
TOKENIZERS = ROOT / "tests/inputs/text/tokenizers"
OUT = ROOT / "tests/data/gguf-families/pre_tokenizers.json"

GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
BYTES = GPT2 | {"use_regex": False}
DIGITS = {"type": "Digits", "individual_digits": True}
NFC = {"type": "NFC"}
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + REST
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + REST
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
O200K = "|".join([rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+{CONTRACTIONS}?",
                  rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*{CONTRACTIONS}?",
                  r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
KIMI = "|".join([r"[\p{Han}]+", rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}&&[^\p{{Han}}]]*[{LOWER}&&[^\p{{Han}}]]+{CONTRACTIONS}?",
                 rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}&&[^\p{{Han}}]]+[{LOWER}&&[^\p{{Han}}]]*{CONTRACTIONS}?",
                 r"\p{N}{1,3}", REST])
SEED = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}" + "\r\n" + r"]+|\s*[" + "\r\n" + r"]+|\s+(?!\S)|\s+"
CJK = "[一-龥ࠀ-一가-퟿]+"
# Code points are escaped if Unicode normalization would change the letter.
LETTERS = ("A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚ"
           "\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4"
           "\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc"
           "\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f"
           "\u2145-\u2149\u214e\u2183\u2184"
           "Ⰰ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃")
WORDS_V3 = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
            "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")


def split(*patterns: str) -> list[dict]:
    return [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False} for pattern in patterns]


V3 = [*split(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", WORDS_V3), BYTES]
# Name: steps, normalizer.
PUBLISHED = {
    "gpt-2": ([GPT2], None), "exaone4": ([GPT2], None), "mpt": ([GPT2], NFC), "modern-bert": ([GPT2], NFC),
    "roberta-bpe": ([GPT2], None), "dbrx": ([*split(LLAMA3), BYTES], None), "smaug-bpe": ([*split(LLAMA3), BYTES], None),
    "chatglm-bpe": ([*split(LLAMA3), BYTES], None), "glm4": ([*split(LLAMA3), BYTES], None),
    "lfm2": ([*split(LLAMA3), BYTES], None),
    "qwen2": ([*split(QWEN2), BYTES], NFC), "stablelm2": ([*split(QWEN2), BYTES], None),
    "hunyuan": ([*split(QWEN2), BYTES], None), "gpt-4o": ([*split(O200K), BYTES], None),
    "llama4": ([*split(O200K), BYTES], None), "minimax-m2": ([*split(O200K), BYTES], None),
    "kimi-k2": ([*split(KIMI), BYTES], None), "seed-coder": ([*split(SEED), BYTES], None),
    "bloom": ([*split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), BYTES], None), "smollm": ([DIGITS, GPT2], None),
    "starcoder": ([DIGITS, GPT2], None), "refact": ([DIGITS, GPT2], None), "command-r": ([DIGITS, GPT2], NFC),
    "falcon": ([{"type": "Punctuation", "behavior": "Contiguous"}, GPT2, DIGITS | {"individual_digits": False},
                *split("[0-9][0-9][0-9]")], None),
    "deepseek-llm": ([*split("[\r\n]", rf"\s?[{LETTERS}]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", CJK), DIGITS, BYTES], None),
    "deepseek-coder": ([*split("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK), DIGITS, BYTES], None),
    "deepseek-v3": (V3, None), "hunyuan-dense": (V3, None),
}


def letters_of_bytes() -> list[str]:
    """Return GPT-2's characters for the 256 bytes."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + others.index(byte)) for byte in range(256)]


def all_words(steps: list[dict], normalizer: dict | None, texts: list[str]) -> str:
    """Return the 64-bit FNV-1a hash of the ids of all texts."""
    letters = letters_of_bytes()
    pairs = [(first, second) for first in letters for second in letters]
    vocabulary = [*letters, *("".join(pair) for pair in pairs)]
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {token: index for index, token in enumerate(vocabulary)}, "merges": pairs}
    tokenizer = Tokenizer.from_str(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}, "post_processor": None, "decoder": None, "model": model}))
    value = 0xCBF29CE484222325
    for text in texts:
        for token in tokenizer.encode(text, add_special_tokens=False).ids:
            for byte in token.to_bytes(4, "little"):
                value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def trained_pieces(texts: list[str]) -> ModelProto:
    """Train a SentencePiece model on all texts, with a small table of character replacements."""
    with tempfile.TemporaryDirectory() as name:
        rules = Path(name, "rules.tsv")
        rules.write_text("FF11\t31\nFF12\t32\nFB01\t66 69\n2026\t2E 2E 2E\n")
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text for text in texts if text.strip()), model_writer=model, vocab_size=900, model_type="unigram",
            normalization_rule_tsv=str(rules), hard_vocab_limit=False, num_threads=1, minloglevel=2)
    proto = ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto


def write_pieces(texts: list[str]) -> None:
    """Write tokenizer.json as transformers 4 did for XLM-RoBERTa, and the GGUF file of llama.cpp's converter."""
    proto = trained_pieces(texts)
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0),
              *((piece.piece, piece.score) for piece in proto.pieces[3:]), ("<mask>", 0.0)]
    charsmap = proto.normalizer_spec.precompiled_charsmap
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    special = {name: index for index, (name, _) in enumerate(pieces) if name in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")}

    def put(name: str) -> dict:
        return {"SpecialToken": {"id": name, "type_id": 0}}

    single = [put("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, put("</s>")]
    whole = {"version": "1.0", "truncation": None, "padding": None,
             "added_tokens": [{"id": index, "content": name, "single_word": False, "lstrip": False, "rstrip": False,
                               "normalized": False, "special": True} for name, index in special.items()],
             "normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
             "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]},
             "post_processor": {"type": "TemplateProcessing", "single": single,
                                "pair": [*single, {"Sequence": {"id": "B", "type_id": 0}}, put("</s>")],
                                "special_tokens": {name: {"id": name, "ids": [special[name]], "tokens": [name]}
                                                   for name in ("<s>", "</s>")}},
             "decoder": space, "model": {"type": "Unigram", "unk_id": 3, "vocab": pieces}}
    Tokenizer.from_str(json.dumps(whole))  # checks that it is valid
    (OUT.parent / "pieces.json").write_text(json.dumps(whole, ensure_ascii=False) + "\n")
    kinds = {"<unk>": gguf.TokenType.UNKNOWN} | {name: gguf.TokenType.CONTROL for name in special if name != "<unk>"}
    writer = gguf.GGUFWriter(OUT.parent / "pieces.gguf", "bert")
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([name for name, _ in pieces])
    writer.add_token_scores([score for _, score in pieces])
    writer.add_token_types([kinds.get(name, gguf.TokenType.NORMAL) for name, _ in pieces])
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_precompiled_charsmap(charsmap)
    for kind, name in (("bos", "<s>"), ("eos", "</s>"), ("unk", "<unk>"), ("pad", "<pad>"), ("mask", "<mask>")):
        getattr(writer, f"add_{kind}_token_id")(special[name])
    finish(writer)


def main() -> None:
    texts = json.loads((TOKENIZERS / "texts.json").read_text())
    out = {}
    for name, (steps, normalizer) in PUBLISHED.items():
        out[name] = all_words(steps, normalizer, texts)
    different = {json.dumps(published) for published in PUBLISHED.values()}
    print(f"{len(out)} names, {len(different)} pre-tokenizers, of which the texts distinguish {len(set(out.values()))}")
    OUT.write_text(json.dumps(out, indent=1) + "\n")
    write_pieces(texts)


if __name__ == "__main__":
    main()
