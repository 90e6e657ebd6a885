"""Strings that came as codes are what the same strings are as text, whatever is done with them."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.block import Block, concat_blocks
from penstock.block.column import ArrowColumn, CodedColumn, Column, WordColumn, column_of, concat
from penstock.block.envelope import seal, unseal
from penstock.expressions.evaluation.text import equals_constant
from penstock.kernels.keys.hashing import hash_columns
from penstock.kernels.keys.key_ids import KeyIndex

SCHEMA = pa.schema({"text": pa.string()})
TEXTS = st.lists(st.none() | st.sampled_from(["", "a", "b", "ab", "seven77", "longer than eight", "é"]), max_size=30)
PARTS = st.lists(TEXTS, min_size=1, max_size=4)


def coded(texts: list[str | None]) -> Column:
    """As a file gives them; words that no row has any more are there, too."""
    whole = pa.array(["unused", *texts, "b", "a"], pa.string()).dictionary_encode()
    return column_of(whole, pa.string()).slice(1, len(texts) + 1)


def plain(texts: list[str | None]) -> ArrowColumn:
    return ArrowColumn(pa.array(texts, pa.string()))


def texts_of(column: Column) -> list[str | None]:
    found = column.to_arrow()
    assert found.type == pa.string()
    return found.to_pylist()  # type: ignore[no-any-return]


@given(parts=PARTS, data=st.data())
def test_rows_are_the_same(parts: list[list[str | None]], data: st.DataObject) -> None:
    is_text = [data.draw(st.booleans()) for _ in parts]
    own = [plain(texts) if is_plain else coded(texts) for texts, is_plain in zip(parts, is_text, strict=True)]
    assert all(isinstance(column, WordColumn) != is_plain for column, is_plain in zip(own, is_text, strict=True))
    joined, texts = concat(own), [text for part in parts for text in part]
    assert texts_of(joined) == texts
    words = sum(len(column.coded.dictionary) for column in own if isinstance(column, WordColumn) and len(column))
    assert any(is_text) or words > len(texts) or isinstance(joined, WordColumn)
    rows = np.array(data.draw(st.lists(st.integers(0, max(0, len(texts) - 1)), max_size=20 if texts else 0)), np.int64)
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(texts))] * 2)))
    for column in (joined, pickle.loads(pickle.dumps(joined))):
        assert texts_of(column.take(rows)) == [texts[row] for row in rows]
        assert texts_of(column.slice(first, last)) == texts[first:last]
        valid = column.slice(first, last).valid
        assert (np.ones(last - first, np.bool_) if valid is None else valid).tolist() == [
            text is not None for text in texts[first:last]
        ]


@given(few=st.lists(st.none() | st.text(max_size=3), max_size=3), is_first=st.booleans())
def test_few_rows_of_text_among_words_become_words(few: list[str | None], is_first: bool) -> None:
    many: list[str | None] = ["a", "b", None, "é"] * 8
    parts: list[Column] = [plain(few), coded(many)]
    texts = [*few, *many]
    if not is_first:
        parts, texts = parts[::-1], [*many, *few]
    joined = concat(parts)
    assert isinstance(joined, WordColumn)
    assert texts_of(joined) == texts
    assert isinstance(concat([plain(many), coded(many)]), WordColumn) is False


@given(parts=PARTS)
def test_hashes_keys_and_comparisons_are_the_same(parts: list[list[str | None]]) -> None:
    one, other = KeyIndex((pa.string(),)), KeyIndex((pa.string(),))
    for texts in parts:
        word, text = coded(texts), plain(texts)
        assert isinstance(word, WordColumn)
        assert hash_columns([word], len(texts)).tolist() == hash_columns([text], len(texts)).tolist()
        ids = one.assign([word], len(texts))
        assert ids.tolist() == other.assign([text], len(texts)).tolist()
        assert texts_of(one.columns(ids)[0]) == texts
        for wanted in ("a", "longer than eight", "nowhere"):
            found, right = equals_constant(word, wanted), equals_constant(text, wanted)
            known = [value is not None for value in texts]
            assert found.values[known].tolist() == right.values[known].tolist()
            assert all(known) if found.valid is None else found.valid.tolist() == known


@given(parts=PARTS)
def test_envelopes_give_the_same_rows_and_bytes(parts: list[list[str | None]]) -> None:
    blocks = [Block(SCHEMA, (coded(texts),), len(texts)) for texts in parts]
    payloads = [seal(block) for block in blocks]
    assert [payload.to_pybytes() for payload in payloads] == [seal(block).to_pybytes() for block in blocks]
    opened = concat_blocks([unseal(payload, SCHEMA) for payload in payloads])
    assert opened.to_arrow().column(0).to_pylist() == [text for texts in parts for text in texts]


def test_columns_without_rows_that_are_no_text_are_put_together() -> None:
    schema = pa.schema({"texts": pa.list_(pa.string())})
    empty = Block(schema, (column_of(pa.array([], schema.field(0).type)),), 0)
    assert concat_blocks([empty, empty]).rows == 0


def test_few_rows_do_not_carry_a_long_dictionary() -> None:
    words = [f"word {number}" for number in range(5000)]
    block = Block(SCHEMA, (column_of(pa.array(words).dictionary_encode(), pa.string()),), len(words))
    assert isinstance(block.columns[0], WordColumn)
    few = block.take(np.array([7, 4999]))
    assert seal(few).size < 1000
    assert unseal(seal(few), SCHEMA).to_arrow().column(0).to_pylist() == ["word 7", "word 4999"]


def test_a_dictionary_holds_on_to_no_payload() -> None:
    """Indexes of keys keep dictionaries for long, and a payload has all rows of a block beside it."""
    words = pa.array([f"word {number % 100}" for number in range(5000)])
    schema = pa.schema({"text": pa.string(), "symbol": pa.dictionary(pa.int32(), pa.string())})
    columns = tuple(column_of(words.dictionary_encode().slice(3), field.type) for field in schema)
    opened = unseal(seal(Block(schema, columns, 4997)), schema)
    assert opened.to_arrow().equals(Block(schema, columns, 4997).to_arrow())
    for column in opened.columns:
        own = column.coded if isinstance(column, WordColumn) else column
        assert isinstance(own, CodedColumn)
        assert sum(buffer.size for buffer in own.dictionary.buffers() if buffer is not None) < 1500
        assert own.dictionary.get_total_buffer_size() < 1500
