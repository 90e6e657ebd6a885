"""Moments: microseconds since 1970 and the calendar, in whole-number arithmetic that also compiles.

The proleptic Gregorian calendar, no time zones, no leap seconds.  Years count from March inside, so that the leap day
is a year's last; 400 years are always 146,097 days.
"""

from __future__ import annotations

import re

DAY = 86_400_000_000
HOUR = 3_600_000_000
MINUTE = 60_000_000
SECOND = 1_000_000

_ISO = re.compile(r"\s*([+-]?\d{4,6})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?Z?\s*", re.ASCII)
_DAYS_0000_03_01_TO_1970 = 719_468


def days_of(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date."""
    march_year = year - 1 if month <= 2 else year
    march_month = month + 9 if month <= 2 else month - 3
    leap_days = march_year // 4 - march_year // 100 + march_year // 400
    return march_year * 365 + leap_days + (march_month * 153 + 2) // 5 + day - 1 - _DAYS_0000_03_01_TO_1970


def year_of(moment: int) -> int:
    """The year of a moment in microseconds."""
    day = moment // 86_400_000_000 + 719_468
    cycle = day // 146_097
    day_of_cycle = day - cycle * 146_097
    year = (day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36524 - day_of_cycle // 146096) // 365
    day_of_year = day_of_cycle - (365 * year + year // 4 - year // 100)
    return cycle * 400 + year + (1 if (5 * day_of_year + 2) // 153 >= 10 else 0)


def month_of(moment: int) -> int:
    """The month, 1 to 12, of a moment in microseconds."""
    day = moment // 86_400_000_000 + 719_468
    day_of_cycle = day - day // 146_097 * 146_097
    year = (day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36524 - day_of_cycle // 146096) // 365
    march_month = (5 * (day_of_cycle - (365 * year + year // 4 - year // 100)) + 2) // 153
    return march_month + 3 if march_month < 10 else march_month - 9


def day_of(moment: int) -> int:
    """The day of the month, from 1, of a moment in microseconds."""
    day = moment // 86_400_000_000 + 719_468
    day_of_cycle = day - day // 146_097 * 146_097
    year = (day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36524 - day_of_cycle // 146096) // 365
    day_of_year = day_of_cycle - (365 * year + year // 4 - year // 100)
    return day_of_year - (153 * ((5 * day_of_year + 2) // 153) + 2) // 5 + 1


def days_in_month(year: int, month: int) -> int:
    """How many days a month has."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def microseconds_of(text: str) -> int | None:
    """The moment of 'YYYY-MM-DD[ hh:mm[:ss[.ffffff]]]', or None where the text is no date."""
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    in_range = 1 <= month <= 12 and hour < 24 and minute < 60 and second < 60
    if not in_range or not 1 <= day <= days_in_month(year, month):
        return None
    fraction = int((found[7] or "0").ljust(6, "0"))
    return days_of(year, month, day) * DAY + hour * HOUR + minute * MINUTE + second * SECOND + fraction


def text_of_microseconds(moment: int) -> str:
    """A moment as 'YYYY-MM-DD hh:mm:ss.ffffff'."""
    rest = moment % DAY
    year = year_of(moment)
    date = f"{'-' if year < 0 else ''}{abs(year):04d}-{month_of(moment):02d}-{day_of(moment):02d}"
    time = f"{rest // HOUR:02d}:{rest // MINUTE % 60:02d}:{rest // SECOND % 60:02d}"
    return f"{date} {time}.{rest % SECOND:06d}"
