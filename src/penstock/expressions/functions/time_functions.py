"""Functions of timestamps and durations, and of lists."""

from __future__ import annotations

from penstock.expressions import patterns
from penstock.expressions.functions import type_rules as rules
from penstock.expressions.functions.function import function

TIMES = (
    function("year(t:timestamp)", rules.INT, "The year.", "year(timestamp '2005-12-27')", "2005"),
    function("month(t:timestamp)", rules.INT, "The month, 1 to 12.", "month(timestamp '2005-12-27')", "12"),
    function("day(t:timestamp)", rules.INT, "The day of the month, from 1.", "day(timestamp '2005-12-27')", "27"),
    function("hour(t:timestamp)", rules.INT, "The hour, 0 to 23.", "hour(timestamp '2005-12-27 14:23:05')", "14"),
    function("minute(t:timestamp)", rules.INT, "The minute, 0 to 59.", "minute(timestamp '2005-12-27 14:23:05')", "23"),
    function("second(t:timestamp)", rules.INT, "The second, 0 to 59.", "second(timestamp '2005-12-27 14:23:05')", "5"),
    function(
        "day_of_week(t:timestamp)",
        rules.INT,
        "The day of the week; Monday is 1.",
        "day_of_week(timestamp '2005-12-27')",
        "2",
    ),
    function(
        "date_trunc(unit:string!, t:timestamp)",
        rules.TIME,
        "The start of the year, quarter, month, week (Monday), day, hour, minute, second or millisecond.",
        "date_trunc('hour', timestamp '2005-12-27 14:23:05')",
        "timestamp '2005-12-27 14:00:00.000000'",
        "",
        patterns.validate_truncation,
    ),
    function(
        "to_timestamp(s:string, format:string!)",
        rules.TIME,
        "Text read by a format of %Y %m %b %d %H %M %S %f; null where it does not fit.",
        "to_timestamp('27.12.2005', '%d.%m.%Y')",
        "timestamp '2005-12-27 00:00:00.000000'",
        "",
        patterns.validate_format,
    ),
    function(
        "format_timestamp(t:timestamp, format:string!)",
        rules.TEXT,
        "Text written by such a format.",
        "format_timestamp(timestamp '2005-12-27', '%d-%b-%Y')",
        "'27-Dec-2005'",
        "",
        patterns.validate_format,
    ),
    function("days(x:number)", rules.INT, "So many days in microseconds.", "days(1)", "86400000000"),
    function("hours(x:number)", rules.INT, "So many hours in microseconds.", "hours(1)", "3600000000"),
    function("minutes(x:number)", rules.INT, "So many minutes in microseconds.", "minutes(1)", "60000000"),
    function("seconds(x:number)", rules.INT, "So many seconds in microseconds.", "seconds(1.5)", "1500000"),
    function("milliseconds(x:number)", rules.INT, "So many milliseconds in microseconds.", "milliseconds(2)", "2000"),
    function(
        "microseconds(t:any)",
        rules.duration,
        "A timestamp's microseconds since 1970, or so many microseconds.",
        "microseconds(timestamp '1970-01-01 00:00:01')",
        "1000000",
    ),
    function(
        "timestamp_to_microseconds(date:string, time:string)",
        rules.INT,
        "Microseconds since 1970 of a date ('27-DEC-2005' or '2005-12-27') and a time ('14:23:05.123456'), or null.",
        "timestamp_to_microseconds('01-JAN-1970', '00:00:01.5')",
        "1500000",
    ),
)

LISTS = (
    function("list_length(x:list)", rules.INT, "How many elements.", "list_length(split('a,b', ','))", "2", "size"),
    function(
        "element(x:list, i:integer)",
        rules.element_of,
        "Also `x[i]`: the element at i, from 1; null outside.",
        "split('a,b', ',')[2]",
        "'b'",
    ),
    function(
        "list_contains(x:list, value:any)",
        rules.contained,
        "Whether a value is in the list.",
        "list_contains(split('a,b', ','), 'b')",
        "true",
    ),
    function(
        "list_sum(x:list)",
        rules.number_in_list("list_sum"),
        "The sum, from left to right, nulls left out; null for no elements.",
        "list_sum(cast(null as list<int64>))",
        "null",
    ),
    function(
        "list_min(x:list)",
        rules.number_in_list("list_min"),
        "The smallest element that is not null; null for none.",
        "list_min(cast(null as list<int64>))",
        "null",
    ),
    function(
        "list_max(x:list)",
        rules.number_in_list("list_max"),
        "The largest element that is not null; null for none.",
        "list_max(cast(null as list<int64>))",
        "null",
    ),
)
