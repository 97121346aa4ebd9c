"""Options that name a file to write: nothing that is there is written to."""

from __future__ import annotations

import os

import pytest

from discreet import ParameterError
from discreet.cli.options import require_writable, write_new


def make_file(path, target):
    path.write_bytes(b"data")


def make_link(path, target):
    target.write_bytes(b"data")
    path.symlink_to(target)


def make_dangling_link(path, target):
    path.symlink_to(target)


def make_hard_link(path, target):
    target.write_bytes(b"data")
    os.link(target, path)


def make_pipe(path, target):
    os.mkfifo(path)


@pytest.mark.parametrize(
    "make", [make_file, make_link, make_dangling_link, make_hard_link, make_pipe]
)
def test_what_is_there_is_not_written_to(tmp_path, make):
    path, target = tmp_path / "picture.svg", tmp_path / "target"
    make(path, target)
    for write in (
        lambda: require_writable(str(path), "--plot", "discreet mode"),
        lambda: write_new(str(path), b"new", "--plot", "discreet mode"),
    ):
        with pytest.raises(
            ParameterError, match="It exists already: remove it, or choose another name"
        ):
            write()
    for each in (path, target):
        assert not each.is_file() or each.read_bytes() == b"data"
    assert make is not make_dangling_link or not target.exists()


def test_a_new_file_is_written(tmp_path):
    path = tmp_path / "picture.svg"
    require_writable(str(path), "--plot", "discreet mode")
    write_new(str(path), b"new", "--plot", "discreet mode")
    assert path.read_bytes() == b"new"
