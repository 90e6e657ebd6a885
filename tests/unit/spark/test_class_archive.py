"""The archive of classes: when it is used, when it is made, and when there is none."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.spark.session.class_archive import LEAST_CLASSES, NAME, ClassArchive, class_archive


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A Java whose dump copies the list into the archive, and Spark's jars."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    home, jars = tmp_path / "java home", tmp_path / "spark" / "jars"
    (home / "bin").mkdir(parents=True)
    jars.mkdir(parents=True)
    (jars / "spark.jar").write_bytes(b"classes")
    java = home / "bin" / "java"
    java.write_text('#!/bin/sh\n[ "$6" = "broken.jar" ] && exit 1\n'
                    'cp "${3#*=}" "${4#*=}"\n')  # fmt: skip
    java.chmod(0o755)
    return home, jars


def archive_of(places: tuple[Path, Path]) -> ClassArchive:
    archive = class_archive(*places, {}, {})
    assert archive is not None
    return archive


def wrote(archive: ClassArchive, classes: int = LEAST_CLASSES, class_path: str = "spark.jar") -> None:
    archive.draft.write_text("java/lang/Object\n" * classes)
    archive.class_path = class_path


def appears(path: Path) -> bool:
    deadline_s = time.monotonic() + 20
    while not path.exists() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return path.exists()


def test_the_first_start_writes_classes_down_and_the_next_ones_map_them(places: tuple[Path, Path]) -> None:
    archive = archive_of(places)
    assert archive.variables({}) == {"SPARK_SUBMIT_OPTS": f"-XX:DumpLoadedClassList={archive.draft}"}
    wrote(archive)
    assert archive.make()
    assert appears(archive.file)
    assert not archive.draft.exists()
    later = archive_of(places).variables({"SPARK_SUBMIT_OPTS": "-Dx=y"})
    assert later == {"SPARK_SUBMIT_OPTS": f"-Dx=y -XX:SharedArchiveFile={archive.file} -Xshare:auto"}
    archive.discard()
    assert not archive.file.exists()


def test_one_process_makes_an_archive_and_one_that_failed_is_tried_again_a_day_later(places: tuple[Path, Path]) -> None:
    archive = archive_of(places)
    wrote(archive, class_path="broken.jar")
    assert archive.make()
    wrote(archive)
    assert not archive.make()
    assert archive.variables({}) == {}
    assert not archive.file.exists()
    yesterday_s = time.time() - 25 * 3600
    os.utime(archive.names, (yesterday_s, yesterday_s))
    assert "DumpLoadedClassList" in archive_of(places).variables({})["SPARK_SUBMIT_OPTS"]


@pytest.mark.parametrize(("classes", "class_path"), [(LEAST_CLASSES - 1, "spark.jar"), (LEAST_CLASSES, "{folder}")])
def test_short_lists_and_folders_on_the_class_path_make_no_archive(
    places: tuple[Path, Path], tmp_path: Path, classes: int, class_path: str
) -> None:
    archive = archive_of(places)
    wrote(archive, classes, class_path.format(folder=tmp_path))
    assert not archive.make()
    assert not archive.names.exists()
    assert not archive.draft.exists()


def test_another_java_and_other_jars_have_archives_of_their_own(places: tuple[Path, Path]) -> None:
    home, jars = places
    keys = {archive_of(places).key}
    (jars / "more.jar").write_bytes(b"")
    keys.add(archive_of(places).key)
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    keys.add(archive_of(places).key)
    assert len(keys) == 3


def test_three_archives_stay_for_a_month(places: tuple[Path, Path]) -> None:
    folder, now_s = archive_of(places).folder, time.time()
    for days, name in [(0, "a.jsa"), (1, "b.jsa"), (40, "old.jsa"), (2, "c.jsa"), (3, "d.jsa"), (2, "x.list")]:
        (folder / name).write_bytes(b"")
        os.utime(folder / name, (now_s - days * 86400, now_s - days * 86400))
    archive_of(places)
    assert {path.name for path in folder.iterdir()} == {"a.jsa", "b.jsa", "c.jsa"}
    os.utime(folder / "c.jsa", (now_s - 40 * 86400, now_s - 40 * 86400))
    archive_of(places)
    assert {path.name for path in folder.iterdir()} == {"a.jsa", "b.jsa"}


@pytest.mark.parametrize(
    ("settings", "environment"),
    [
        ({}, {NAME: "off"}),
        ({"spark.driver.extraClassPath": "a.jar"}, {}),
        ({}, {"SPARK_CONF_DIR": "conf"}),
        ({}, {"JAVA_TOOL_OPTIONS": "-Xshare:off"}),
        ({"spark.driver.extraJavaOptions": "-XX:SharedArchiveFile=own.jsa"}, {}),
    ],
)
def test_there_is_none_where_nobody_wants_one_or_the_class_path_is_the_users(
    places: tuple[Path, Path], settings: dict[str, str], environment: dict[str, str]
) -> None:
    assert class_archive(*places, settings, environment) is None


def test_a_cache_that_others_can_write_to_has_none(places: tuple[Path, Path]) -> None:
    folder = archive_of(places).folder
    folder.chmod(0o777)
    assert class_archive(*places, {}, {}) is None


def test_other_words_than_on_and_off_are_refused(places: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match=r"PENSTOCK_CLASS_ARCHIVE is 'on' .* or 'off'; got 'yes'"):
        class_archive(*places, {}, {NAME: "yes"})
