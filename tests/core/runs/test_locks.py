"""Looking at a lock without taking it."""

from pytscope.runs import locks


def test_a_file_nobody_holds(tmp_path):
    (tmp_path / "x").write_text("")
    assert not locks.is_held(tmp_path / "x")


def test_a_file_that_is_not_there(tmp_path):
    assert not locks.is_held(tmp_path / "x")


def test_a_file_held_by_this_process_through_another_descriptor(tmp_path):
    with (tmp_path / "x").open("w") as file:
        locks.flock(file, locks.LOCK_SH)
        assert not locks.is_held(tmp_path / "x")  # shared: another reader, no recorder
        locks.flock(file, 2)  # LOCK_EX
        assert locks.is_held(tmp_path / "x")
    assert not locks.is_held(tmp_path / "x")


def test_a_platform_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "HAS_LOCKS", False)
    (tmp_path / "x").write_text("")
    assert not locks.is_held(tmp_path / "x")
