"""500 texts that reveal differences between tokenizers in every detail."""

import random
import unicodedata

# Written as escapes if an editor would hide or reorder them.
CHOSEN = [
    "", " ", "  ", "   ", " " * 17, " " * 100, "\n", "\n\n", "\n\n\n", "\r\n", "\r", "\t", "\t\t", " \n", "\n ", " \t \n ",
    "a", " a", "a ", " a ", "  a", "a  ", "  a  b   c    d", "a\n", "a\n\n", "a \n b", "a\tb", "a\r\nb", "trailing   ", "   leading",
    "Hello, world!", "hello world", "HELLO WORLD", "HeLLo WoRLd", "First Citizen:\nBefore we proceed any further, hear me speak.",
    "All:\nSpeak, speak.", "I'm you're he's they'll we've I'd can't", "I'M YOU'RE HE'S THEY'LL WE'VE I'D CAN'T", "'s 't 're 've 'm 'll 'd",
    "'S 'T 'RE",
    "don\u2019t \u201cquote\u201d \u2018it\u2019 \u2014 or \u2013 that\u2026", "o'clock rock'n'roll ''' '''' '", "it's'nt",
    "\u017ft 'll\u017f 'S\u017f",
    "0", "1", "12", "123", "1234", "12345", "1234567890", "3.14159", "-1.5e-10", "1,000,000", "0x1F", "1st 2nd 3rd",
    "\u00bd \u00b2 \u2460 \u2167 \u0663\u0664\u0665",
    "1 2  3   4", "2024-05-20T12:34:56Z", "192.168.0.1", "\u096a\u0968", "\U0001d7d8\U0001d7d9\U0001d7da",
    "caf\u00e9", "cafe\u0301", "\u00c5ngstr\u00f6m A\u030angstro\u0308m", "na\u00efve r\u00e9sum\u00e9 \u00fcber stra\u00dfe STRASSE",
    "\u0130stanbul \u0131 I i \u0130", "\u01c5 \u01c4 \u01c6",
    "\ufb01ne \ufb03 \ufb05", "\u1e9e \u00df ss SS", "e\u0301\u0301\u0301", "\u0301", "\u0301a", " \u0301",
    "Z\u0351\u036b\u0343a\u0329\u034dl\u0321\u0353g\u0348o",
    "\u1ea5\u1ea7\u1ea9\u1eab\u1ead", "a\u0302\u0301a\u0302\u0300", "\u00e0\u00e8\u00ec\u00f2\u00f9",
    "\u0160koda \u017elu\u0165ou\u010dk\u00fd k\u016f\u0148", "\u0141\u00f3d\u017a \u0105\u0119",
    "\u03b1\u03b2\u03b3 \u0391\u0392\u0393 \u03c2\u03c3\u03a3", "\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "\u0451 \u0435\u0308 \u0439 \u0438\u0306",
    "\u0531\u0532 \u10d0\u10d1\u10d2",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\u4f60\u597d world \u4e16\u754c", "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8",
    "\uff76\uff9e \u30ac \u30ab\u3099", "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab", "\u3000\u5168\u89d2\u3000",
    "\U00020000\U0002a6df", "\uf900\ufa0e", "\u3400\u4db5", "\uff21\uff22\uff23 \uff11\uff12\uff13", "\u3007\u3005\u30fc",
    "A\u4e2dB\u6587C",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f",
    "\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "abc \u05d0\u05d1\u05d2 123", "\u200fright\u200e",
    "\u202eoverride\u202c", "\u2067isolate\u2069", "\u061c\u0627", "\u0928\u092e\u0938\u094d\u0924\u0947",
    "\u0915\u094d\u0937 \u0915\u094d\u200d\u0937 \u0915\u094d\u200c\u0937",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "\u0bb5\u0ba3\u0b95\u0bcd\u0b95\u0bae\u0bcd", "\u1019\u103c\u1014\u103a\u1019\u102c", "\u12a0\u121b\u122d\u129b", "\u1820\u180b\u1821",
    "\u13a0\u13a1 \uab70", "\u2c80\u2c81",
    "\U0001f600", "\U0001f600\U0001f600\U0001f600", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "1\ufe0f\u20e3 #\ufe0f\u20e3", "\u2764\ufe0f \u2764",
    "\U0001f9d1\U0001f3ff\u200d\U0001f680 in space", "a\U0001f600b \U0001f600 c", "\U0001f3f4\U000e0067\U000e0062\U000e007f",
    "\u200d", "\u200b", "a\u200bb", "\ufeff", "\ufeffwith a mark", "\u00adsoft\u00adhyphen", "\u2060", "\u180e", "\u00a0", "a\u00a0b",
    "\u2003em\u2009thin\u202fnarrow", "\u2028line\u2029paragraph", "\u0085next", "\u1680ogham",
    "\x00", "a\x00b", "\x01\x02\x03", "\x07bell", "\x08", "\x0b\x0c", "\x1b[31mred\x1b[0m", "\x7f", "\x80\x9f", "\x1c\x1d\x1e\x1f", "\x1a",
    "\ufffd", "\ufffe", "\uffff", "\U0010ffff", "\U000f0000", "\ue000", "\ud7ff", "\U0001f000", "\ufdd0",
    "def f(x):\n    return x + 1\n", "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}", "if (a && b || !c) { d ^= ~e; }",
    "<div class=\"a\">&nbsp;</div>", "SELECT * FROM t WHERE a='b';", "$\\frac{1}{2}$",
    "{\"key\": [1, 2.5, null, true]}", "#include <vector>", "x = y ** 2 // 3 % 4", "https://example.org/a?b=c&d=%20e#f",
    "user.name+tag@example.org", "C:\\path\\to\\file", "snake_case camelCase PascalCase SCREAMING_CASE", "a->b::c<d>()",
    "!!!", "...", "?!?!", "---", "___", "***", "(((", ")]}>", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "\u00bf\u00a1\u00ab\u00bb\u2039\u203a",
    "\u20ac \u00a3 \u00a5 \u20bf", "\u2200x\u2208\u211d: x\u00b2\u22650", "\u2190\u2191\u2192\u2193", "\u2500\u2502\u250c\u2588",
    "a.b,c;d:e!f?g", "a . b , c", "end.Start", "U.S.A.", "well-known", "and/or", "\u00a9\u00ae\u2122", "\u2581", "\u2581\u2581a \u2581 b",
    "\u0120the \u010a \u0109", "<0x0A>", "<0xE2><0x96>", "##ing", "un##known ## #",
    "<s>", "</s>", "a</s>b", "<s> a </s>", "<unk>", "<|endoftext|>", "a<|endoftext|>b", "<|endoftext|><|endoftext|>", " <|endoftext|> ",
    "<|endoftext", "[CLS]", "[MASK]", "a [MASK] b", "[MASK][MASK]", "[mask]", "[SEP] [PAD] [UNK]", "a[MASK]b",
    "<|begin_of_text|>", "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>", "<|eot_id|>\n", "<mask>", "\u0130[MASK]\u0130",
    "a" * 99, "a" * 100, "a" * 101, "b" * 300, "ab" * 200, "\u00e9" * 150, "\u4e2d" * 120, "\U0001f600" * 60, "-" * 200, "=" * 80 + "\n",
    "\n" * 50, " \n" * 40, "\t" * 30 + "x", "1" * 150, "the " * 60, "a\u0301" * 60,
    "Donaudampfschifffahrtsgesellschaftskapit\u00e4n", "pneumonoultramicroscopicsilicovolcanoconiosis",
    "supercalifragilisticexpialidocious", "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch",
]

ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz ", "etaoin shrdlu ETAOIN ", "aA1 .,'\n\t", " \u00a0\u2003\u3000\n\r\t\u200b",
    "\u00e9\u00e8\u00fc\u00f1\u0151 e\u0301\u0308o",
    "\u4e2d\u6587\u65e5\u672c\u3042\u30a2\ud55c a", "\u0430\u0431\u0432\u0413\u0414 \u03b1\u03b2\u03a3",
    "\u0645\u0631\u062d \u05e9\u05dc\u05d5 a1", "\U0001f600\U0001f468\u200d\U0001f469\ufe0f\U0001f3fd a",
    "(){}[]<>=+-*/;:'\"\\ \nabx01", "0123456789., -", "\x00\x01\x1b\x7f\x85 a\n", "\u0301\u0308\u0327\u200d\u0e31\u094d a\u0915",
    "\u2581\u0120##<0xE>|_ s/",
]


def words(text, choose, count):
    chosen = [choose.choice(text) for _ in range(count)]
    return choose.choice([" ", "  ", "\n", ", "]).join(chosen)


def tokenizer_texts(prose, multilingual):
    """Return the 500 texts, always the same. `prose`: a long English text; `multilingual`: a list of lines."""
    texts = list(CHOSEN)
    for text in CHOSEN:
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            other = unicodedata.normalize(form, text)
            if other not in texts and len(texts) < len(CHOSEN) + 40:
                texts.append(other)
    texts += multilingual
    choose = random.Random(20240520)
    vocabulary = prose.split()
    while len(texts) < 500:
        kind = len(texts) % 4
        if kind == 0:
            text = words(vocabulary, choose, choose.randint(3, 12))
        elif kind == 1:
            start = choose.randrange(len(prose) - 100)
            text = prose[start : start + choose.randint(10, 90)]
        elif kind == 2:
            text = "".join(choose.choice(choose.choice(ALPHABETS)) for _ in range(choose.randint(1, 30)))
        else:
            alphabet = choose.choice(ALPHABETS)
            text = "".join(choose.choice(alphabet) for _ in range(choose.randint(1, 40)))
        if text not in texts:
            texts.append(text)
    return texts[:500]
