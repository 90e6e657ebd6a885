"""Functions of text, and conversions."""

from __future__ import annotations

import pyarrow as pa

from penstock.expressions import patterns
from penstock.expressions.functions import type_rules as rules
from penstock.expressions.functions.function import function

TEXTS = (
    function("upper(s:string)", rules.TEXT, "In capitals.", "upper('abc')", "'ABC'", "ucase"),
    function("lower(s:string)", rules.TEXT, "In small letters.", "lower('ABC')", "'abc'", "lcase"),
    function("trim(s:string)", rules.TEXT, "Without white space at both ends.", "trim('  a ')", "'a'"),
    function("ltrim(s:string)", rules.TEXT, "Without white space at its start.", "ltrim('  a ')", "'a '"),
    function("rtrim(s:string)", rules.TEXT, "Without white space at its end.", "rtrim('  a ')", "'  a'"),
    function("length(s:string)", rules.INT, "How many characters.", "length('Zürich')", "6", "char_length strlen"),
    function(
        "substring(s:string, start:integer, count:integer?)",
        rules.TEXT,
        "`count` characters (default: all) from `start`, which counts from 1.",
        "substring('abcdef', 2, 3)",
        "'bcd'",
        "substr",
    ),
    function(
        "concat(s:string*)",
        rules.TEXT,
        "All joined; also `||`, and `+` between strings; null if one is null.",
        "concat('a', 'b')",
        "'ab'",
    ),
    function(
        "replace(s:string, old:string!, new:string!)",
        rules.TEXT,
        "Every `old` replaced by `new`.",
        "replace('aXbX', 'X', '-')",
        "'a-b-'",
        "",
        patterns.validate_separator,
    ),
    function(
        "starts_with(s:string, part:string!)",
        rules.BOOL,
        "Whether s starts with part.",
        "starts_with('abc', 'ab')",
        "true",
    ),
    function(
        "ends_with(s:string, part:string!)", rules.BOOL, "Whether s ends with part.", "ends_with('abc', 'ab')", "false"
    ),
    function(
        "contains(s:string, part:string!)", rules.BOOL, "Whether part occurs in s.", "contains('abc', 'b')", "true"
    ),
    function(
        "position(s:string, part:string!)",
        rules.INT,
        "Where part first occurs, in characters from 1; 0 if nowhere.",
        "position('abc', 'c')",
        "3",
    ),
    function(
        "repeat(s:string, times:integer)",
        rules.TEXT,
        "So many times; empty at zero and below.",
        "repeat('ab', 2)",
        "'abab'",
    ),
    function(
        "lpad(s:string, width:integer!, fill:string!?)",
        rules.TEXT,
        "Filled on the left to a width, or cut to it.",
        "lpad('7', 3, '0')",
        "'007'",
        "",
        patterns.validate_padding,
    ),
    function(
        "rpad(s:string, width:integer!, fill:string!?)",
        rules.TEXT,
        "Filled on the right to a width, or cut to it.",
        "rpad('7', 3, '0')",
        "'700'",
        "",
        patterns.validate_padding,
    ),
    function("reverse(s:string)", rules.TEXT, "Its characters backwards.", "reverse('abc')", "'cba'"),
    function(
        "like(s:string, pattern:string!)",
        rules.BOOL,
        "SQL's `s like pattern`: % is any text, _ any character, \\ takes the next as it is.",
        "'abc' like 'a%'",
        "true",
    ),
    function(
        "split(s:string, separator:string!)",
        rules.TEXTS,
        "The parts between separators.",
        "split('a,b', ',')",
        "['a', 'b']",
        "",
        patterns.validate_separator,
    ),
    function(
        "regex_match(s:string, pattern:string!)",
        rules.TEXTS,
        "The groups of a pattern that matches the whole of s (s itself where it has none); an empty list otherwise.",
        "regex_match('27-DEC', '([0-9]*)-([A-Z]*)')",
        "['27', 'DEC']",
        "",
        patterns.validate_regex,
    ),
    function(
        "regex_contains(s:string, pattern:string!)",
        rules.BOOL,
        "Whether the pattern matches anywhere in s.",
        "regex_contains('abc', 'b.')",
        "true",
        "",
        patterns.validate_regex,
    ),
    function(
        "regex_replace(s:string, pattern:string!, replacement:string!, all:bool!?)",
        rules.TEXT,
        "Every match replaced (only the first where `all` is false); \\1 in the replacement is group 1.",
        "regex_replace('a1b2', '[0-9]', '#')",
        "'a#b#'",
        "",
        patterns.validate_regex,
    ),
    function(
        "regex_extract(s:string, pattern:string!, group:integer!)",
        rules.TEXT,
        "A group (0: all) of the first match; null if there is none.",
        "regex_extract('id=42;', 'id=([0-9]+)', 1)",
        "'42'",
        "",
        patterns.validate_regex,
    ),
    function(
        "to_string(x:any)",
        rules.converted(pa.string()),
        "As text; same as cast(x as string).",
        "to_string(1.5)",
        "'1.5'",
    ),
    function(
        "to_integer(x:any)",
        rules.converted(pa.int64()),
        "As int64: fractions are cut, text that is no whole number is null.",
        "to_integer('12')",
        "12",
        "to_int to_long",
    ),
    function(
        "to_float(x:any)",
        rules.converted(pa.float64()),
        "As float64; text that is no number is null.",
        "to_float('1.5e3')",
        "1500.0",
        "to_double",
    ),
)
