"""Mutations of bytes, words and JSON values; a random generator decides everything."""

from __future__ import annotations

import copy
import math
import random
import re
from collections.abc import Sequence
from typing import Any

HUGE = 200_000  # characters of a huge string
WORDS = (
    "", " ", "0", "-1", "1e400", "nan", "inf", "-inf", "99999999999999999999", "None", "null", "true", "'", '"', "\\",
    "\x00", "\ufeff", "\U0001f600", "\u202e", "%s", "{0}", "../..", "/", "=", ",", ":", ";", "*", "[", "]", "(", ")",
    "{", "}", "a b", "\n", "\r\n", "\t", "1_000", "0x10", "٣",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**40, 0.5, -0.0, 1e308, math.nan, math.inf, "", "x", "0", [], [None],
    {}, {"x": 1}, [[1, 2]], "\x00", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
)  # fmt: skip
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


def mutated_bytes(rng: random.Random, data: bytes, other: bytes = b"") -> bytes:
    """One to four changes: flipped bits, bytes set, cut, doubled, swapped, taken from another file."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = _one_change(rng, data, other)
    return data


def _one_change(rng: random.Random, data: bytes, other: bytes) -> bytes:
    if not data:
        return other[: rng.randrange(len(other) + 1)] if rng.random() < 0.5 else rng.randbytes(rng.randrange(64))
    begin, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    end = min(end, begin + rng.choice((1, 4, 64, len(data))))
    action = rng.randrange(9)
    if action == 0:
        place = rng.randrange(len(data))
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    if action == 1:
        place = rng.randrange(len(data))
        return data[:place] + bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))]) + data[place + 1 :]
    if action == 2:
        return data[:begin]
    if action == 3:
        return data[begin:]
    if action == 4:
        return data[:begin] + data[end:]
    if action == 5:
        return data[:end] + data[begin:end] * rng.choice((1, 1, 50)) + data[end:]
    if action == 6:
        middle = (begin + end) // 2
        return data[:begin] + data[middle:end] + data[begin:middle] + data[end:]
    if action == 7:
        return data[:begin] + bytes(end - begin) + data[end:]
    return data[:begin] + other[begin:end] + data[end:]


def mutated_words(rng: random.Random, text: str, words: Sequence[str]) -> str:
    """One to six changes of whole words: left out, doubled, exchanged, replaced by one of `words` or a strange one."""
    tokens = _TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        place = rng.randrange(len(tokens) + 1)
        action = rng.randrange(7)
        if action == 0:
            del tokens[place : place + rng.choice((1, 1, 3))]
        elif action == 1:
            tokens[place:place] = tokens[place : place + rng.choice((1, 4, 30))]
        elif action == 2 and tokens:
            other = rng.randrange(len(tokens))
            place = min(place, len(tokens) - 1)
            tokens[place], tokens[other] = tokens[other], tokens[place]
        elif action == 3:
            tokens[place : place + 1] = [rng.choice(words)]
        elif action == 4:
            tokens.insert(place, rng.choice(words))
        elif action == 5:
            tokens[place : place + 1] = [strange_word(rng)]
        else:
            tokens.insert(place, strange_word(rng))
    return "".join(tokens)


def mutated_alike(rng: random.Random, text: str, words: Sequence[str]) -> str:
    """One to three words replaced by others of the same look (a name by a name, a number by a number)."""
    tokens = _TOKEN.findall(text)
    known = [*tokens, *words, "0", "1", "2", "7", "1000000", "2147483648"]
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(len(tokens))
        look = _look(tokens[place])
        tokens[place] = rng.choice([word for word in known if _look(word) == look])
    return "".join(tokens)


def _look(word: str) -> str:
    if word.isspace():
        return " "
    return "0" if word[:1].isdigit() else "x" if word[:1].isalpha() or word[:1] == "_" else "?"


def strange_word(rng: random.Random) -> str:
    """A word that nobody expects; now and then a huge one, or deep nesting."""
    if rng.random() < 0.03:
        return rng.choice(("x", "(", "[", "9", "-", "é", "((1+")) * rng.choice((300, 5_000, HUGE))
    return rng.choice(WORDS)


def mutated_json(rng: random.Random, value: Any) -> Any:
    """A copy with one to three values replaced, left out, renamed or doubled, anywhere in it."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 3))):
        value = _changed(rng, value)
    return value


def _changed(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.6:
            value[key] = _changed(rng, value[key])
        elif rng.random() < 0.5:
            del value[key]
        else:
            value[strange_word(rng)] = value.pop(key)
        return value
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        if rng.random() < 0.6:
            value[place] = _changed(rng, value[place])
        elif rng.random() < 0.5:
            del value[place]
        else:
            value.insert(place, value[rng.randrange(len(value))])
        return value
    return strange_word(rng) if rng.random() < 0.3 else copy.deepcopy(rng.choice(VALUES))
