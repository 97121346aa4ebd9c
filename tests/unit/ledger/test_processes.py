"""Processes of one machine that meet in a folder: who leads, for how long, and where."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

import pytest
from faults.ledgers import busy

from discreet.ledger.group_commit import _MOST_ROUNDS, Processes
from discreet.ledger.operations import Note, Outcome
from discreet.ledger.sqlite_mailbox import Mailbox, mailbox_in, meeting_place

NOTE = Note(ticket="t", time="", dataset="survey", what={})
POSTED = f"[{NOTE.to_json()}]"


def written(mine, posted):
    """A ledger where everything is written at once."""
    done = [Outcome(number=1)]
    return done * len(mine), {name: done * len(told) for name, told in posted.items()}


class Deadline(Exception):
    """As a library would raise it in a signal handler."""


def never(told, operations):
    raise AssertionError("nobody tells us anything")


class TestLeading:
    def test_whoever_leads_goes_on_for_those_who_come_meanwhile_and_not_for_ever(self, tmp_path):
        other, rounds = Mailbox(tmp_path), []

        def work(mine, posted):
            rounds.append((len(mine), len(posted)))
            # it comes after this round has begun
            other.withdraw()
            other.post(POSTED)
            return written(mine, posted)

        processes = Processes(mailbox_in(tmp_path), work, never)
        # who was alone looks at the end of its turn, and carries it out the next time
        assert processes.carry_out([NOTE], 1) == [Outcome(number=1)]
        assert processes.carry_out([NOTE], 1) == [Outcome(number=1)]
        assert rounds == [(1, 0), (1, 1)] + [(0, 1)] * (_MOST_ROUNDS - 1)
        processes.close()
        other.close()

    def test_who_is_alone_leads_once(self, tmp_path):
        rounds = []

        def work(mine, posted):
            rounds.append((len(mine), len(posted)))
            return written(mine, posted)

        processes = Processes(mailbox_in(tmp_path), work, never)
        processes.carry_out([NOTE], 1)
        assert rounds == [(1, 0)]
        processes.close()

    def test_what_a_dead_process_posted_is_taken_out_of_the_pipe(self, tmp_path):
        """Else everybody would take it out and put it back again, for ever."""
        dead, rounds = Mailbox(tmp_path), []

        def work(mine, posted):
            rounds.append((len(mine), len(posted)))
            return written(mine, posted)

        dead.post(POSTED)
        os.close(dead._pipe)
        dead._pipe = None
        processes = Processes(mailbox_in(tmp_path), work, never)
        for _ in range(3):
            processes.carry_out([NOTE], 1)
        # after the second, others may still come
        assert rounds == [(1, 0), (1, 1), (1, 0)]
        processes.close()
        dead.close()

    def test_what_is_wrong_with_those_who_come_later_is_not_ours(self, tmp_path):
        other, rounds = Mailbox(tmp_path), []

        def work(mine, posted):
            rounds.append(bool(mine))
            if not mine:
                raise OSError("the disk is full by now")
            other.withdraw()
            other.post(POSTED)
            return written(mine, posted)

        processes = Processes(mailbox_in(tmp_path), work, never, (OSError,))
        assert processes.carry_out([NOTE], 1) == [Outcome(number=1)]
        assert processes.carry_out([NOTE], 1) == [Outcome(number=1)]
        assert rounds == [True, True, False]
        processes.close()
        other.close()

    @pytest.mark.parametrize("deadline", [TimeoutError, Deadline])
    def test_a_deadline_in_a_later_round_is_heeded(self, tmp_path, deadline):
        """It is raised by a signal handler, and the caller waits for it."""
        other = Mailbox(tmp_path)

        def work(mine, posted):
            if not mine:
                raise deadline
            other.withdraw()
            other.post(POSTED)
            return written(mine, posted)

        processes = Processes(mailbox_in(tmp_path), work, never, (OSError,))
        processes.carry_out([NOTE], 1)
        with pytest.raises(deadline):
            processes.carry_out([NOTE], 1)
        # and the turn is free
        assert other.in_turn(lambda: True)
        processes.close()
        other.close()

    @pytest.mark.parametrize("call", ["write", "open", "listdir", "read"])
    def test_a_deadline_while_others_are_told_is_heeded(self, tmp_path, monkeypatch, call):
        """`TimeoutError` is an error of the system, and those of the system are none of ours."""
        other, true = Mailbox(tmp_path), getattr(os, call)
        processes = Processes(mailbox_in(tmp_path), written, never, (OSError,))
        processes.carry_out([NOTE], 1)
        other.post(POSTED)
        processes.carry_out([NOTE], 1)
        other.post(POSTED)

        def late(*arguments):
            monkeypatch.setattr(os, call, true)
            raise TimeoutError

        def work(mine, posted):
            monkeypatch.setattr(os, call, late)
            return written(mine, posted)

        processes._work = work
        if call == "listdir":
            with processes._mailbox.hold() as mailbox:
                mailbox._cleaned = 0.0
        with pytest.raises(TimeoutError):
            processes.carry_out([NOTE], 1)
        # and the turn is free
        assert other.in_turn(lambda: True)
        processes.close()
        other.close()

    def test_others_who_cannot_be_told_are_none_of_ours(self, tmp_path, monkeypatch):
        other = Mailbox(tmp_path)

        def fail(*_):
            raise OSError("the disk is full")

        processes = Processes(mailbox_in(tmp_path), written, never)
        other.post(POSTED)
        processes.carry_out([NOTE], 1)
        monkeypatch.setattr(Mailbox, "tell", fail)
        monkeypatch.setattr(Mailbox, "wake", fail)
        assert processes.carry_out([NOTE], 1) == [Outcome(number=1)]
        processes.close()
        other.close()

    def test_what_is_wrong_with_our_own_is_told(self, tmp_path):
        def work(mine, posted):
            raise OSError("the disk is full")

        processes = Processes(mailbox_in(tmp_path), work, never)
        with pytest.raises(OSError, match="full"):
            processes.carry_out([NOTE], 1)
        processes.close()

    def test_one_who_is_stopped_in_its_turn_is_waited_for_a_while(self, tmp_path):
        stopped = Mailbox(tmp_path)
        processes = Processes(mailbox_in(tmp_path), written, never)
        with busy(tmp_path):
            assert processes.carry_out([NOTE], 0.1) is None
        # what was posted is taken back, because it is carried out elsewhere
        assert stopped.posted() == {}
        processes.close()
        stopped.close()

    def test_who_could_not_post_once_charges_again_as_soon_as_it_is_alone(
        self, tmp_path, monkeypatch
    ):
        """Some file systems have no pipes: whoever has to wait there is refused, that once."""

        def refuse(*_):
            raise PermissionError

        monkeypatch.setattr(os, "mkfifo", refuse)
        processes = Processes(mailbox_in(tmp_path), written, never)
        with busy(tmp_path), pytest.raises(PermissionError):
            processes.carry_out([NOTE], 1)
        assert processes.carry_out([NOTE], 1) == [Outcome(number=1)]
        processes.close()

    def test_who_waited_lately_looks_at_the_turn_whatever_its_patience(self, tmp_path):
        """Else one with less patience than a post takes would never charge again."""
        processes = Processes(mailbox_in(tmp_path), written, never)
        with busy(tmp_path):
            assert processes.carry_out([NOTE], 1e-9) is None
        assert processes.carry_out([NOTE], 1e-9) == [Outcome(number=1)]
        processes.close()

    def test_what_is_told_counts_as_far_as_it_is_believed(self, tmp_path):
        leader, heard = Mailbox(tmp_path), []
        processes = Processes(
            mailbox_in(tmp_path), written, lambda told, operations: heard.append(told)
        )

        def lie():
            while not (posted := leader.posted()):
                pass
            for name in posted:
                leader.tell(name, [{"number": 7}])

        with busy(tmp_path):
            liar = threading.Thread(target=lie)
            liar.start()
            assert processes.carry_out([NOTE], 0.5) is None
            liar.join()
        assert heard == [[{"number": 7}]]
        processes.close()
        leader.close()


class TestMeetingPlace:
    @pytest.fixture(autouse=True)
    def base(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_RUNTIME_DIR", os.fspath(tmp_path))
        return tmp_path

    def test_it_is_the_same_for_the_same_thing_and_for_its_user_alone(self):
        place = meeting_place("one")
        assert place == meeting_place("one") != meeting_place("two")
        for folder in (place, place.parent):
            assert folder.stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("level", ["home", "folder"])
    def test_a_folder_that_others_may_write_to_is_none(self, level):
        place = meeting_place("one")
        (place.parent if level == "home" else place).chmod(0o770)
        assert meeting_place("one") is None

    def test_a_link_is_none(self, base):
        elsewhere = base / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        (base / f"discreet-{os.geteuid()}").symlink_to(elsewhere)
        assert meeting_place("one") is None

    def test_a_folder_of_somebody_else_is_none(self, monkeypatch):
        place = meeting_place("one")
        with suppress(PermissionError):
            os.chown(place, 12345, -1)
            assert meeting_place("one") is None

    @pytest.mark.parametrize("level", ["base", "above it"])
    def test_a_place_where_others_could_put_another_folder_is_none(self, base, monkeypatch, level):
        inner = base / "inner"
        inner.mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", os.fspath(inner))
        loose = inner if level == "base" else base
        loose.chmod(0o777)
        assert meeting_place("one") is None
        # as that for temporary files: nobody renames what is somebody else's
        loose.chmod(0o1777)
        assert meeting_place("one") is not None

    @pytest.mark.parametrize("mode", [0o700, 0o1777])
    def test_a_place_of_somebody_else_is_none(self, base, mode):
        """As after `su`: the owner of a folder renames whatever is in it."""
        with suppress(PermissionError):
            os.chown(base, 12345, -1)
            base.chmod(mode)
            assert meeting_place("one") is None

    def test_a_place_is_found_from_every_folder(self, base, monkeypatch):
        monkeypatch.chdir(base)
        monkeypatch.setenv("XDG_RUNTIME_DIR", ".")
        assert meeting_place("one").parent.parent == base

    def test_old_places_that_nobody_uses_go_when_a_new_one_is_made(self):
        used, old, young = map(meeting_place, ("used", "old", "young"))
        mailboxes = [Mailbox(place) for place in (used, old, young)]
        for mailbox in mailboxes:
            mailbox.post(POSTED)
            assert mailbox.posted() == {}
        for mailbox in mailboxes[1:]:
            mailbox.close()
        for place in (used, old):
            os.utime(place, (0, 0))
        assert meeting_place("used") == used
        assert old.exists()
        new = meeting_place("new")
        assert [place.exists() for place in (used, old, young, new)] == [True, False, True, True]
        mailboxes[0].close()

    def test_what_a_link_leads_to_stays(self, base):
        elsewhere = base / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "file").touch()
        link = meeting_place("one").parent / "link"
        link.symlink_to(elsewhere)
        for path in (elsewhere, link):
            os.utime(path, (0, 0), follow_symlinks=False)
        assert meeting_place("two").exists()
        assert (elsewhere / "file").exists()

    def test_without_a_place_there_is_none(self, monkeypatch):
        monkeypatch.setenv("XDG_RUNTIME_DIR", "/proc/nowhere")
        assert meeting_place("one") is None
