"""Full, read-only, slow and vanishing disks: training goes on, and the report says what is gone."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytscope.recording import outbox
from pytscope.recording.files import RunFile
from pytscope.recording.profiler import Profiler
from tests.core.recording.truth import only, said

from .trial import report, trial

ROOT = os.geteuid() == 0


def steps(prof: Profiler, count: int) -> None:
    for _ in prof.iter_data(range(count)):
        with prof.step():
            prof.mark("forward")


def flushed(prof: Profiler) -> None:
    """Have everything that is complete written, as the writer's thread does each second."""
    prof._writer.flush()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if not ROOT or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


FILLING = """
prof = Profiler(FOLDER + "/run", flush_every=2000, inline=True).start()
train(prof, 200)
if RECORDED:
    prof._provenance._thread.join()  # it takes no room later
    prof._writer.flush()
    while os.path.getsize(FOLDER + "/run/rank00000.pts") % 4096 > 3000:  # room for short records
        for _ in range(10):
            with prof.step(): pass
        prof._writer.flush()
def fill():
    with open(FOLDER + "/big", "wb", buffering=0) as big:
        with contextlib.suppress(OSError):
            while big.write(b"x" * 512): pass
"""


def test_a_full_disk(small_disk: Path) -> None:
    """The file system itself is full, and stays so."""
    body = FILLING + "if RECORDED: fill()\ntrain(prof, 5000)\nprof.finish()"
    result = trial(body, small_disk)
    assert result.code == 0
    assert "(No space left on device); it is tried again" in result.said[0]
    code, text = report(small_disk / "run")
    assert code == 0
    assert len(only(small_disk / "run")) >= 200
    assert "Records of" in text or "did not finish" in text
    assert "the disk refused records (No space left on device)" in text


def test_a_disk_that_is_full_from_the_start(small_disk: Path) -> None:
    body = """
def fill(size):
    with open(FOLDER + "/big", "wb", buffering=0) as big:
        with contextlib.suppress(OSError):
            while big.write(b"x" * size): pass
if RECORDED: fill(4096)
os.makedirs(FOLDER + "/run", exist_ok=True)
prof = Profiler(FOLDER + "/run").start()
train(prof, 200)
if RECORDED: os.unlink(FOLDER + "/big")
train(prof, 200)
prof.finish()
"""
    assert len(trial(body, small_disk).said) == 1
    code, text = report(small_disk / "run")
    assert code == 0
    assert "400 steps" in text
    assert "they were written later" in text


LIMITED = """
import resource
prof = Profiler(FOLDER, inline=True, flush_every=50).start()
train(prof, 100)
if RECORDED:
    prof._provenance._thread.join()  # it takes no room later
    prof._writer.flush()
    size = os.path.getsize(FOLDER + "/rank00000.pts") + 500  # room for short records
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
train(prof, 5000)
if RECORDED and sys.argv[3] == "freed":
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
train(prof, 100)
prof.finish()
"""


@pytest.mark.parametrize("how", ["freed", "kept"])
def test_a_file_at_its_largest_size(tmp_path: Path, how: str) -> None:
    result = trial(LIMITED, tmp_path, how)
    assert len(result.said) == 1
    timeline = only(tmp_path)
    (last,) = timeline.attempts
    assert last.damaged_bytes == 0
    assert len(timeline) + last.lost_steps == 5200
    _, text = report(tmp_path)
    if how == "freed":
        assert last.lost_steps == 0
        assert "the disk refused records" in text
        assert "they were written later" in text
    else:
        assert last.finished  # the end is short, and found room
        assert f"Records of {last.lost_steps:,} steps are lost" in text
        assert "the disk refused records (File too large)" in text


def test_a_refusing_disk_is_kept_for_only_so_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MAX_KEPT", 3_000)
    with Profiler(tmp_path, inline=True, flush_every=20) as prof:
        steps(prof, 100)
        with monkeypatch.context() as patch:
            patch.setattr(RunFile, "write", refused)
            steps(prof, 1_000)
            kept = prof._writer._outbox._kept
            assert sum(map(len, kept)) <= 3_000
        steps(prof, 100)
    timeline = only(tmp_path)
    (last,) = timeline.attempts
    assert last.finished
    assert last.lost_steps > 500
    assert len(timeline) + last.lost_steps == 1_200
    _, text = report(tmp_path)
    assert "blocks of steps were given up" in text
    assert f"Records of {last.lost_steps:,} steps are lost" in text


def refused(_: RunFile, __: bytes) -> None:
    raise OSError(5, "Input/output error")


def test_a_device_in_the_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "rank00000.pts").symlink_to("/dev/full")
    result = trial("prof = Profiler(FOLDER).start()\ntrain(prof)\nprof.finish()", tmp_path)
    assert "not a plain file" in result.said[0]
    code, text = report(tmp_path)
    assert code == 3
    assert "rank00000.pts" in text or "no rank file" in text


AS_NOBODY = """
with Profiler(FOLDER + "/of root") as prof: train(prof)  # the interpreter's files are root's
os.setgroups([]); os.setgid(65534); os.setuid(65534)
prof = Profiler(FOLDER + "/run").start()
train(prof)
prof.finish()
"""


@pytest.mark.skipif(not ROOT, reason="changing the user needs root")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    for place in (tmp_path, *tmp_path.parents[:2]):  # pytest's folders are the user's alone
        place.chmod(0o755)
    result = trial(AS_NOBODY, tmp_path)
    assert "PermissionError" in result.said[0]
    assert str(folder) in result.said[0]
    assert list(folder.iterdir()) == []
    code, text = report(folder)
    assert code == 3
    assert "is an empty folder" in text


ODD_FOLDERS = """
os.chdir(FOLDER)
for place in (FOLDER + "/file", "file/run", FOLDER + "/\\0", "", FOLDER + "/" + "x" * 300):
    prof = Profiler(place).start()
    train(prof, 3)
    prof.finish()
for place in (FOLDER + "/a\\nb \\x1b[31m", os.fsencode(FOLDER) + b"/\\xff\\xfe", FOLDER + "/~"):
    with Profiler(place) as prof:
        train(prof, 30)
"""


def test_folders_of_all_sorts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    result = trial(ODD_FOLDERS, tmp_path)
    assert len(result.said) == 4  # an empty name is the folder one works in
    assert all("starting the recording failed" in line for line in result.said)
    assert "there is nothing" in report(tmp_path / ("x" * 200))[1]
    assert report(tmp_path / "file")[0] == 3
    for name in (b"a\nb \x1b[31m", b"\xff\xfe", b"~"):
        code, text = report(tmp_path / os.fsdecode(name))
        assert code == 0
        assert "30 steps" in text
        assert "\x1b" not in text


def test_the_folder_is_that_of_the_start(tmp_path: Path) -> None:
    body = """
prof = Profiler("runs/x")
os.chdir(FOLDER)
prof.start()
os.chdir("/")
train(prof, 40)
prof.finish()
"""
    trial(body, tmp_path)
    assert len(only(tmp_path / "runs" / "x")) == 40


def test_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    body = """
where = FOLDER + "/gone" + sys.argv[2]
os.mkdir(where); os.chdir(where); os.rmdir(where)
for place in (FOLDER + "/run", "relative"):
    prof = Profiler(place).start()
    train(prof, 40)
    prof.finish()
"""
    result = trial(body, tmp_path)
    assert len(result.said) == 1
    assert "FileNotFoundError" in result.said[0]
    timeline = only(tmp_path / "run")
    assert len(timeline) == 40
    assert timeline.metadata["environment"]["git"]["reason"]
    assert timeline.metadata["environment"]["packages"]


# --- what vanishes ------------------------------------------------------------------


@pytest.mark.parametrize("what", ["file", "folder, made again"])
def test_a_deleted_file_is_written_again(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "run"
    prof = Profiler(folder, inline=True).start()
    steps(prof, 50)
    flushed(prof)
    (folder / "rank00000.pts").unlink()
    if what != "file":
        folder.rmdir()
    steps(prof, 50)
    flushed(prof)
    flushed(prof)
    folder.mkdir(exist_ok=True)
    steps(prof, 50)
    flushed(prof)
    prof.finish()
    timeline = only(folder)
    assert (len(timeline), timeline.attempts[0].lost_steps) == (150, 0)
    assert "was deleted while recording and written again" in report(folder)[1]


def test_a_folder_that_is_being_cleared_gets_no_file_back_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    prof = Profiler(folder, inline=True).start()
    steps(prof, 50)
    (folder / "rank00000.pts").unlink()
    flushed(prof)
    folder.rmdir()  # as `rm -r` does after its files
    steps(prof, 50)
    prof.finish()
    assert not folder.exists()
    code, text = report(folder)
    assert code == 3
    assert "there is nothing" in text


@pytest.mark.parametrize("by", ["another run", "something else", "a live process"])
def test_a_file_that_another_took_the_place_of(tmp_path: Path, by: str) -> None:
    folder, file = tmp_path / "run", tmp_path / "run" / "rank00000.pts"
    with Profiler(tmp_path / "old") as old:
        steps(old, 30)
    prof = Profiler(folder, inline=True).start()
    steps(prof, 50)
    flushed(prof)
    other = tmp_path / "old" / "rank00000.pts"
    if by == "something else":
        other.write_bytes(b"not a record\nnor this")
    other.rename(file)
    live = RunFile(file, 0, os.open(file, os.O_RDWR), torn=False)
    if by == "a live process":
        import fcntl

        fcntl.flock(live._fd, fcntl.LOCK_EX)
    steps(prof, 50)
    flushed(prof)
    flushed(prof)
    prof.finish()
    live.close()
    _, text = report(folder)
    if by == "a live process":
        assert "30 steps" in text
        assert "rank00000.1.pts is of a second process" in text
        folder = folder / "rank00000.1.pts"
    assert len(only(folder)) == 100
    assert "was deleted while recording" in report(folder)[1]


# --- slow and stalled ---------------------------------------------------------------


def test_a_slow_disk_is_waited_for_by_the_writer_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, waited = RunFile.write, []

    def slow(file: RunFile, data: bytes) -> None:
        waited.append(threading.current_thread().name)
        time.sleep(0.05)
        write(file, data)

    prof = Profiler(tmp_path, flush_every=10).start()
    monkeypatch.setattr(RunFile, "write", slow)
    done = 0
    while len(waited) < 5:
        steps(prof, 10)
        time.sleep(0.001)
        done += 10
    assert set(waited) == {"pytscope-writer"}
    prof.finish()
    timeline = only(tmp_path)
    assert len(timeline) == done
    assert "finished" in report(tmp_path)[1]


# --- no room in the process ---------------------------------------------------------


def test_no_file_descriptor_is_left(tmp_path: Path) -> None:
    body = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
held = []
def exhaust():
    with contextlib.suppress(OSError):
        while True: held.append(os.open("/dev/null", os.O_RDONLY))
def free():
    while held: os.close(held.pop())
for way in ("before", "between", "never"):
    prof = Profiler(FOLDER + "/" + way)
    if way == "before": exhaust()
    prof.start()
    if RECORDED and way != "before": prof._provenance.wait()  # and its files are closed
    if way == "between": exhaust()
    train(prof, 50)
    try: os.close(os.open("/dev/null", os.O_RDONLY))
    except OSError as error: print(way, error.strerror)
    prof.finish()
    free()
"""
    result = trial(body, tmp_path)
    assert result.out.startswith("before Too many open files\nbetween Too many open files\n")
    assert len(result.said) == 1
    assert "Too many open files" in result.said[0]
    assert report(tmp_path / "before")[0] == 3
    assert [len(only(tmp_path / way)) for way in ("between", "never")] == [50, 50]


def test_no_thread_is_to_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: threading.Thread) -> None:
        msg = "can't start new thread"
        raise RuntimeError(msg)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", none)
        with Profiler(tmp_path, flush_every=20) as prof:
            steps(prof, 200)
    timeline = only(tmp_path)
    assert len(timeline) == 200
    assert timeline.attempts[0].finished
    assert "no thread to write in (can't start new thread)" in " ".join(said(timeline))


def test_little_memory(tmp_path: Path) -> None:
    body = """
import resource
prof = Profiler(FOLDER, flush_every=100).start()
with open("/proc/self/statm") as sizes:
    used = int(sizes.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20),) * 2)
try: bytearray(1 << 30)
except MemoryError: print("no memory")
train(prof, 3000)
prof.finish()
"""
    assert resource.RLIMIT_AS
    assert trial(body, tmp_path).out.startswith("no memory")
    assert len(only(tmp_path)) == 3000
