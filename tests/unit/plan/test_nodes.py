"""nodes.toml: what it gives, and a sentence for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.plan.nodes import Load, Network, Node, Nodes, Outage, nodes

WHOLE = """
[[node]]
name = "big"
count = 2
cores = 4
speed = 2.4
speed_by_class = { join = 1.2 }
memory_mb = 8192
price_core_hour = 0.05
[[node.load]]
from_s = 40
to_s = 50
cores = 1.5
[[node.outage]]
from_s = 60
to_s = 70.5

[[node]]
name = "small"

[network]
bytes_s = 1e9
latency_s = 0.0001
"""


def read(folder: Path, text: str) -> Nodes:
    (folder / "nodes.toml").write_text(text)
    return nodes(folder / "nodes.toml")


def test_a_file_gives_its_nodes(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    big = Node("big", 2, 4, 2.4, {"join": 1.2}, 8192, 0.05, (Load(40, 50, 1.5),), (Outage(60, 70.5),))
    assert found == Nodes((big, Node("small")), Network(1e9, 0.0001))
    assert [group.gives_speed for group in found.groups] == [True, False]
    assert found.groups[1].speed_of("join") == 1.0  # the twin's
    assert found.names == ("big-1", "big-2", "small")
    assert found.cores == 9
    assert (big.speed_of("join"), big.speed_of("filter"), big.speed_of(None)) == (1.2, 2.4, 2.4)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[node]]\nname = "a"\nspeed = 0', "speed of node 'a' is a number above 0; got 0"),
        ('[[node]]\nname = "a"\nsped = 2', "node 'a' has the unknown key 'sped'; known are: name, count, cores, speed, "
         "speed_by_class, memory_mb, price_core_hour, load, outage; did you mean 'speed'?"),
        ('[[node]]\ncores = 2', "[[node]] 1 needs a name"),
        ("", "there is at least one [[node]]; got []"),
        ("node = 3", "there is at least one [[node]]; got 3"),
        ('[[node]]\nname = "a"\ncores = 0.5', "cores of node 'a' is a whole number from 1 to 1,000,000; got 0.5"),
        ('[[node]]\nname = "a"\n[node.speed_by_class]\njoin = -1', "speed_by_class of node 'a' is a table of numbers "
         "above 0 by operator class; got {'join': -1}"),
        ('[[node]]\nname = "a"\n[[node.load]]\nfrom_s = 5\nto_s = 3\ncores = 1',
         "node 'a': a load ends after it begins; got from_s 5, to_s 3"),
        ('[[node]]\nname = "a"\n[[node.load]]\nfrom_s = 5\nto_s = 9\ncores = 2',
         "node 'a': a load takes at most the node's 1 cores; got 2"),
        ('[[node]]\nname = "a"\n[[node.outage]]\nfrom_s = 5', "node 'a', outage needs to_s"),
        ('[[node]]\nname = "a"\nload = 3',
         "node 'a': [[node.load]] is a table with from_s, to_s, cores; got 3"),
        ('[[node]]\nname = "a"\n[[node]]\nname = "a"', "nodes have names of their own; 'a' comes twice"),
        ('[[node]]\nname = "a"\n[network]\nbytes_s = 0', "bytes_s of [network] is a number above 0, or None; got 0"),
        ('[[node]]\nname = "a"\n[netwrk]\nbytes_s = 1',
         "the file has the unknown key 'netwrk'; known are: node, network; did you mean 'network'?"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    assert str(raised.value) == f"{tmp_path / 'nodes.toml'}: {sentence}"


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    text = '[[node]]\nname = "a"\nspeed = 0\ncores = -1\n[network]\nlatency_s = -1'
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    assert [line.split(": ", 1)[1].split(" is ")[0] for line in str(raised.value).splitlines()] == [
        "cores of node 'a'", "speed of node 'a'", "latency_s of [network]",
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), [("[[node", "is not TOML"), (None, "no such file or directory")])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / "nodes.toml").write_text(text)
    with pytest.raises(InputError, match=words) as raised:
        nodes(tmp_path / "nodes.toml")
    assert "\n" not in str(raised.value)


def test_nodes_made_by_hand_are_checked_alike() -> None:
    with pytest.raises(InputError) as raised:
        Node("a", speed=0.0)
    assert str(raised.value) == "speed of node 'a' is a number above 0; got 0.0"
    with pytest.raises(InputError, match="'a' comes twice"):
        Nodes((Node("a"), Node("a")))


def test_there_is_at_least_one_node() -> None:
    with pytest.raises(InputError, match="there is at least one node; got none"):
        Nodes(())
