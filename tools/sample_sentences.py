#!/usr/bin/env python3
"""Draw sentences of the interface and the documentation at random, for a reader to accept or reject.

    sample_sentences.py --seed N [--count 100]

Prints one line per sentence: its number, its file and line, and the text. Sources are the documentation, docstrings of
the Python package, and the strings of the program and the page (help, field meanings, legends, errors, findings).
"""

import argparse
import os
import random
import re

from check_words import ROOT, passages, sentences, tracked_files

SHOWN = re.compile(r"^(README|CHANGELOG|SECURITY|CONTRIBUTING)\.md$|^docs/.*\.md$|^examples/.*\.md$|^attnscope/.*\.cpp$|^web/src/.*\.ts$|^python/attnscope/.*\.py$")
KINDS = {"docs", "docstring", "string"}
FEWEST = 4  # words of a sentence


def all_sentences():
    for path in tracked_files():
        if not SHOWN.search(str(path)):
            continue
        for line, text, kind in passages(path):
            if kind not in KINDS or (kind == "string" and path.suffix == ".py"):
                continue
            if kind == "string" and not re.match(r"\w", text) or text.endswith((" ", ",", "'", "(")):
                continue  # a part of a longer text
            for sentence in sentences(" ".join(text.split())):
                words = [word for word in sentence.split() if re.fullmatch(r"\W*[A-Za-z][a-z'-]*\W*", word)]
                if len(words) >= FEWEST and "](" not in sentence:
                    yield f"{path}:{line}", sentence.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=100)
    asked = parser.parse_args()
    os.chdir(ROOT)
    found = sorted(set(all_sentences()))
    for number, (place, sentence) in enumerate(random.Random(asked.seed).sample(found, asked.count), 1):
        print(f"{number:3} {place}: {sentence}")


if __name__ == "__main__":
    main()
