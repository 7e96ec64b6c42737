#!/usr/bin/env python3
"""Make tests/inputs/text/tokenizers: four small tokenizers, and the outputs of the `tokenizers` package for 500 texts.

They are trained on an English text given as argument (Tiny Shakespeare) and the lines below. The expected ids and texts are
computed by the package, never by attnscope. The same versions write the same bytes.
"""

import argparse
import json
from pathlib import Path

from tokenizer_texts import tokenizer_texts
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "tests/inputs/text/tokenizers"

MULTILINGUAL = [
    "Les élèves français étaient déjà arrivés à l'école, où l'été commençait.",
    "Größere Übungen für die Straßenbahn: Äpfel, Öl und süße Früchte.",
    "El niño comió piñas y jalapeños mañana por la mañana, ¿verdad?",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "我能吞下玻璃而不伤身体。今天天气很好，我们去公园吧。",
    "いろはにほへと ちりぬるを 私はガラスを食べられます。",
    "나는 유리를 먹을 수 있어요. 그래도 아프지 않아요.",
    "أنا قادر على أكل الزجاج و هذا لا يؤلمني.",
    "אני יכול לאכול זכוכית וזה לא מזיק לי.",
    "मैं काँच खा सकता हूँ और मुझे उससे कोई चोट नहीं पहुंचती.",
    "ฉันกินกระจกได้ แต่มันไม่ทำให้ฉันเจ็บ",
    "Tôi có thể ăn thủy tinh mà không hại gì.",
    "😀 😃 🎉 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 ❤️ 🇩🇪",
    "for (int row = 0; row < rows; ++row) { sum += a[row] * 2.5e-3; }  // 100%",
]
# The pattern of Llama 3. GPT-4's differs only in the lengths of numbers.
LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def gpt2(lines):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        lines,
        trainers.BpeTrainer(
            vocab_size=500,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return tokenizer


def bert(lines):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(
        lines,
        trainers.WordPieceTrainer(
            vocab_size=700,
            special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
            show_progress=False,
        ),
    )
    ids = {token: tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]")}
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=list(ids.items())
    )
    return tokenizer


def llama(lines):
    """Make a tokenizer like Llama 1 and 2 converted from SentencePiece: no pre-tokenizer, `▁` for spaces, byte fallback."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=400, limit_alphabet=120, show_progress=False)
    )
    model = json.loads(trained.to_str())["model"]
    spellings = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    spellings += sorted(model["vocab"], key=model["vocab"].get)
    tokenizer = Tokenizer(
        models.BPE(
            vocab={spelling: id for id, spelling in enumerate(spellings)},
            merges=[tuple(merge) for merge in model["merges"]],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s>:0 $A:0", pair="<s>:0 $A:0 <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    return tokenizer


def llama3(lines):
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        lines,
        trainers.BpeTrainer(
            vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        ),
    )
    # Long words without the merges to build them, which `ignore_merges` finds as whole tokens.
    state = json.loads(tokenizer.to_str())
    for word in ("Coriolanus", "Ġgentleman", "Ġï¼ļ", "ðŁĺĢ"):
        state["model"]["vocab"].setdefault(word, len(state["model"]["vocab"]))
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.add_special_tokens(
        ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    )
    begin = "<|begin_of_text|>"
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single=f"{begin}:0 $A:0",
                pair=f"{begin}:0 $A:0 {begin}:1 $B:1",
                special_tokens=[(begin, tokenizer.token_to_id(begin))],
            ),
        ]
    )
    return tokenizer


def runs(ids):
    """Compress runs of four or more equal ids to pairs: `[7, 7, 7, 7, 9]` becomes `[[7, 4], 9]`."""
    out = []
    for id in ids:
        if out and isinstance(out[-1], list) and out[-1][0] == id:
            out[-1][1] += 1
        elif len(out) >= 3 and out[-3:] == [id] * 3:
            out[-3:] = [[id, 4]]
        else:
            out.append(id)
    return out


def expected(tokenizer, texts):
    """Return the outputs of the package.

    Special tokens around a text are the same for every text. A decoded text is null if it equals the text. If keeping special
    tokens in the text changes the decoded text, that version is listed by the text's index."""
    encode = lambda text, special: tokenizer.encode(text, add_special_tokens=special).ids
    probe, whole = encode("citizen", False), encode("citizen", True)
    at = next(at for at in range(len(whole)) if whole[at : at + len(probe)] == probe)
    first, last = whole[:at], whole[at + len(probe) :]
    ids, decoded, kept = [], [], {}
    for index, text in enumerate(texts):
        plain, whole = encode(text, False), encode(text, True)
        assert whole == first + plain + last, text
        ids.append(runs(plain))
        skipped, unskipped = tokenizer.decode(whole), tokenizer.decode(plain, skip_special_tokens=False)
        decoded.append(None if skipped == text else skipped)
        if unskipped != skipped:
            kept[str(index)] = unskipped
    return {"first": first, "last": last, "ids": ids, "decoded": decoded, "decoded_with_special": kept}


def write_json(path, value):
    path.write_text(json.dumps(value, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path, help="tinyshakespeare.txt")
    prose = parser.parse_args().text.read_text()
    lines = prose[:300_000].splitlines() + MULTILINGUAL * 20
    texts = tokenizer_texts(prose, MULTILINGUAL)
    OUT.mkdir(parents=True, exist_ok=True)
    write_json(OUT / "texts.json", texts)
    for make in (gpt2, bert, llama, llama3):
        tokenizer = make(lines)
        folder = OUT / make.__name__
        folder.mkdir(exist_ok=True)
        state = json.loads(tokenizer.to_str())
        (folder / "tokenizer.json").write_text(json.dumps(state, ensure_ascii=False, separators=(",", ":")))
        write_json(folder / "expected.json", expected(tokenizer, texts))
        print(make.__name__, tokenizer.get_vocab_size(), "tokens", (folder / "expected.json").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
