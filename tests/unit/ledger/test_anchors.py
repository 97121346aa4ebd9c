"""The anchor file: whole or not at all, and never back."""

from __future__ import annotations

import os
import threading

import pytest

from discreet import LedgerError
from discreet.ledger.anchors import AnchorFile
from discreet.ledger.chain import Anchor


def point(number):
    return Anchor(number, "a" * 64)


def test_where_there_is_no_file_there_is_no_anchor(tmp_path):
    assert AnchorFile(tmp_path / "anchor").read() is None


def test_it_never_goes_back(tmp_path):
    file = AnchorFile(tmp_path / "anchor")
    for number in (3, 5, 4, 1):
        file.keep(point(number))
    assert file.read() == point(5)


def test_many_threads_leave_the_latest(tmp_path):
    files = [AnchorFile(tmp_path / "anchor") for _ in range(4)]
    problems = []

    def keep(place):
        try:
            for number in range(place + 1, 100, 4):
                files[place].keep(point(number))
        except LedgerError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=keep, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert files[0].read() == point(99)


def test_it_is_the_same_file_after_the_folder_was_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = AnchorFile((tmp_path / "anchor").relative_to(tmp_path))
    monkeypatch.chdir("/")
    file.keep(point(1))
    assert (tmp_path / "anchor").read_text() == f"{point(1)}\n"


@pytest.mark.parametrize("content", [b"", b"1", b"\xff", b"1:x"])
def test_something_else_is_not_taken_for_an_anchor(tmp_path, content):
    (tmp_path / "anchor").write_bytes(content)
    with pytest.raises(LedgerError, match="must hold a point of the chain"):
        AnchorFile(tmp_path / "anchor").keep(point(1))
    assert (tmp_path / "anchor").read_bytes() == content


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_plain_file_is_refused(tmp_path, make):
    """A pipe would be waited for, and a device has no end."""
    make(tmp_path / "anchor")
    for use in (AnchorFile.read, lambda file: file.keep(point(1))):
        with pytest.raises(
            LedgerError, match=r"must be (a file that you can read and write|in a folder)"
        ):
            use(AnchorFile(tmp_path / "anchor"))


def test_a_long_file_is_not_read_to_its_end(tmp_path):
    (tmp_path / "anchor").write_text(f"{point(1)}\n" + 200 * " ")
    assert AnchorFile(tmp_path / "anchor").read() == point(1)


@pytest.mark.parametrize(("file", "folder"), [(0o666, 0o700), (0o600, 0o1777)])
def test_a_file_that_others_may_write_or_replace_is_refused(tmp_path, file, folder):
    place = tmp_path / "elsewhere"
    place.mkdir()
    AnchorFile(place / "anchor").keep(point(1))
    (place / "anchor").chmod(file)
    place.chmod(folder)
    with pytest.raises(
        LedgerError, match=r"^The anchor file .* must be (a file that belongs to you|in a fold)"
    ):
        AnchorFile(place / "anchor").read()
