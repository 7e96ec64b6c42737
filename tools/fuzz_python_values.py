"""Random values for fuzz_python.py: unusual objects, and plausible values."""

import fractions
import json
import pathlib

import numpy as np


class Hostile(Exception):
    """The exception that strange objects raise."""


STRINGS = [
    "", " ", "q", "q,k", "0", "1", "-1", "0-", "0-3", "-4-", "1,0", "0.9", "0.1D", "fd", "2G", "nan", "inf", "1e999", "-0", "9" * 400,
    "0-18446744073709551615", "99999999999", "1" + "0" * 4000 + "G", ",", ",,,", "\0", "a\0b", "\ud800", "\n", "\x1b[2J", "é" * 300,
    "😀", "--out", "{layers}", "%s%n", "in memory: maps", "gpt2@main", "org/name", "../", "/", ".", "/dev/null", "/dev/full", "/dev/zero",
    "/nowhere/file", "x" * 100_000, "[1]", '{"a":' * 2000, "null", "true", "To be, or not to be",
]
NUMBERS = [0, 1, 2, 3, -1, -(2**31), 2**31, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**400, 0.0, -0.0, 0.5, 0.9, 1.0, 1e-320, 1e300,
           float("nan"), float("inf"), -float("inf"), 1j, True, False, fractions.Fraction(1, 3)]
METHODS = ["__index__", "__int__", "__float__", "__str__", "__repr__", "__fspath__", "__iter__", "__len__", "__getitem__",
           "__bool__", "__eq__", "__array__", "__dlpack__", "__dlpack_device__", "__array_interface__", "items", "keys",
           "state_dict", "to_str", "to_json_string", "detach", "submit", "_core", "config"]
DTYPES = ["f2", "f4", "f8", "g", ">f4", "i1", "i4", "u8", "?", "c8", "O", "U3", "S2", "M8[s]", "V4", "f4,i2"]
SIZES = [0, 1, 1, 2, 3, 5, 17, 64]
MOST_ITEMS = 1000  # the length of a strange sequence


def strange(chance):
    """An object whose methods may raise, or return invalid values."""
    def method(name, raises, given):
        def call(*asked, **_):
            if raises:
                raise Hostile
            # An infinite sequence would also keep list() busy until memory is exhausted.
            if name == "__getitem__" and isinstance(asked[-1], int) and asked[-1] >= MOST_ITEMS:
                raise IndexError
            return given
        return call

    made = {}
    for name in chance.sample(METHODS, chance.randrange(4)):
        made[name] = method(name, chance.random() < 0.5, simple(chance)) if chance.random() < 0.9 else simple(chance)
    return type("Strange", (), made)()


def simple(chance):
    return chance.choice([None, chance.choice(NUMBERS), chance.choice(STRINGS), b"\xff", [], (), {}, object()])


def array(chance, axes=None):
    shape = tuple(chance.choice(SIZES) for _ in range(chance.choice([0, 1, 2, 2, 2, 3, 4]) if axes is None else axes))
    dtype = np.dtype(chance.choice(DTYPES if chance.random() < 0.5 else ["f4", "f8", "f2"]))
    if dtype.kind in "OUSMV":
        made = np.zeros(shape, dtype)
    else:
        made = np.random.default_rng(chance.randrange(100)).standard_normal(shape).astype(dtype)
    if made.size and dtype.kind == "f" and chance.random() < 0.3:
        made.flat[chance.randrange(made.size)] = chance.choice([np.nan, np.inf, -np.inf, 0, 60000, 1e-7])
    if dtype.kind == "f" and chance.random() < 0.1:
        made = np.zeros_like(made)
    if dtype.kind == "O" and made.size:
        made.flat[0] = simple(chance)
    if made.ndim and chance.random() < 0.3:
        made = made[tuple(slice(None, None, chance.choice([1, 2, -1])) for _ in shape)].T
    if chance.random() < 0.1:
        made = np.broadcast_to(made, (chance.choice([2, 7]), *made.shape))
    if chance.random() < 0.05:
        made = np.lib.stride_tricks.as_strided(np.ones(1, "f4"), (chance.choice([3, 700, 2**30]),) * 2, (0, 0))
    if made.size < 10**6 and chance.random() < 0.1:
        made = made.view(np.ma.MaskedArray) if chance.random() < 0.5 else memoryview(made.tobytes())
    return made


def hostile(chance, depth=2):
    kind = chance.randrange(14)
    if kind < 3 or depth == 0:
        return chance.choice(STRINGS)
    if kind < 6:
        return chance.choice(NUMBERS)
    if kind == 6:
        return simple(chance)
    if kind == 7:
        return strange(chance)
    if kind == 8:
        return array(chance)
    if kind == 9:
        return chance.choice([slice(None), slice(0, 2), slice(-1, None, -1), slice("a"), slice(None, 10**30), range(3), range(0),
                              range(5, 0, -1), range(2**62), pathlib.Path("x"), np.float32(1), np.int8(-3), np.str_("q"),
                              np.bool_(True), bytearray(b"q"), b"q", frozenset({1}), iter([1, 2]), type, len, ..., NotImplemented])
    items = [hostile(chance, depth - 1) for _ in range(chance.choice([0, 1, 1, 2, 3, 30]))]
    if kind == 10:
        return tuple(items)
    if kind == 11:
        return {str(index): item for index, item in enumerate(items)}
    return items


def mutated(chance, text):
    """Change a few characters or words of a text."""
    for _ in range(chance.choice([0, 1, 1, 2, 5])):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            text = text[:at] + text[at + chance.choice([1, 5, 50]):]
        elif kind == 1:
            text = text[:at] + chance.choice(['"', "{", "]", ":", ",", "-", "9" * 30, "1e400", "null", "[]", "\0", "é"]) + text[at:]
        elif kind == 2:
            text = text[:at]
        else:  # replaces one number by another
            digits = [index for index, letter in enumerate(text) if letter.isdigit()]
            if digits:
                place = chance.choice(digits)
                other = chance.choice(["-1", "0", "7", "99999999999", "4.5", "null", '"q"', "18446744073709551616"])
                text = text[:place] + other + text[place + 1:]
    return text


def mutated_json(chance, text):
    """Replace one random value in a JSON text."""
    whole = json.loads(text)
    places = []

    def walk(value):
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(whole)
    for _ in range(chance.choice([1, 1, 2])):
        if places:
            holder, key = chance.choice(places)
            if isinstance(holder, dict) and chance.random() < 0.3:
                holder.pop(key, None)
            else:
                holder[key] = chance.choice([None, True, -1, 0, 1, 3, 10**6, 10**12, 2**63, 1e300, -0.5, "", "q", "x" * 1000, [], {}, [1],
                                             {"a": 1}])
    return json.dumps(whole)
