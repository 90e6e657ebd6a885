"""The slow, obvious functions of timestamps, by Python's own calendar."""

from __future__ import annotations

import datetime
import re

EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]


def date_of(moment: int) -> datetime.datetime:
    return EPOCH + moment * MICROSECOND


def moment_of(date: datetime.datetime) -> int:
    return (date - EPOCH) // MICROSECOND


def date_trunc(unit: str, t: int) -> int:
    date = date_of(t)
    midnight = date.replace(hour=0, minute=0, second=0, microsecond=0)
    starts = {
        "year": midnight.replace(month=1, day=1),
        "quarter": midnight.replace(month=(date.month - 1) // 3 * 3 + 1, day=1),
        "month": midnight.replace(day=1),
        "week": midnight - datetime.timedelta(days=date.weekday()),
        "day": midnight,
        "hour": date.replace(minute=0, second=0, microsecond=0),
        "minute": date.replace(second=0, microsecond=0),
        "second": date.replace(microsecond=0),
        "millisecond": date.replace(microsecond=date.microsecond // 1000 * 1000),
    }
    return moment_of(starts[unit.lower()])


def format_moment(t: int, format_: str) -> str:
    date = date_of(t)
    parts = {
        "Y": f"{date.year:04d}",
        "b": MONTHS[date.month - 1].capitalize(),
        "f": f"{date.microsecond:06d}",
        "%": "%",
    }
    parts |= {"m": f"{date.month:02d}", "d": f"{date.day:02d}"}
    parts |= {"H": f"{date.hour:02d}", "M": f"{date.minute:02d}", "S": f"{date.second:02d}"}
    return re.sub("%(.)", lambda found: parts[found[1]], format_)


def built(*parts: int) -> int | None:
    try:
        return moment_of(datetime.datetime(*parts))  # type: ignore[arg-type]
    except ValueError:
        return None


def to_timestamp(text: str, format_: str) -> int | None:
    groups = {"Y": r"\d{4}", "b": "[A-Za-z]{3}", "f": r"\d{1,6}"} | dict.fromkeys("mdHMS", r"\d{1,2}")
    plain = re.split("(%.)", format_)
    pattern = "".join(
        "%" if p == "%%" else f"(?P<{p[1]}>{groups[p[1]]})" if p.startswith("%") else re.escape(p) for p in plain
    )
    found = re.fullmatch(pattern, text, re.ASCII)
    if found is None:
        return None
    part = found.groupdict()
    if "b" in part:
        if part["b"].upper() not in MONTHS:
            return None
        part["m"] = str(MONTHS.index(part["b"].upper()) + 1)
    date = (int(part.get("Y", 1970)), int(part.get("m", 1)), int(part.get("d", 1)))
    time = (int(part.get("H", 0)), int(part.get("M", 0)), int(part.get("S", 0)))
    return built(*date, *time, int(part.get("f", "0").ljust(6, "0")))


def spade_moment(date: str, time: str) -> int | None:
    named = re.fullmatch(r"(\d{1,2})-([A-Za-z]{3})-(\d{4})", date, re.ASCII)
    plain = re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", date, re.ASCII)
    clock = re.fullmatch(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,6}))?", time, re.ASCII)
    if clock is None or (named is None and plain is None):
        return None
    if named is not None:
        if named[2].upper() not in MONTHS:
            return None
        year, month, day = int(named[3]), MONTHS.index(named[2].upper()) + 1, int(named[1])
    else:
        assert plain is not None
        year, month, day = (int(plain[i]) for i in (1, 2, 3))
    fraction = int((clock[4] or "0").ljust(6, "0"))
    return built(year, month, day, int(clock[1]), int(clock[2]), int(clock[3]), fraction)
