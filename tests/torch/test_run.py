"""`pytscope run` on real scripts: they run as under python, and their training is recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pytscope
from pytscope.model.errors import UsageError
from pytscope.recording.rank import RankInfo, detect_rank

pytest.importorskip("torch", reason="runs scripts that train")
folders = pytest.importorskip("pytscope_torch.folders", reason="pytscope-torch is not installed")

from pytscope_torch.running import run_script  # noqa: E402  # needs what is skipped above

PYTHON = [sys.executable]
RUN = [sys.executable, "-m", "pytscope", "run"]

TRAIN = """
def train(steps):
    import torch
    torch.manual_seed(0)
    net = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.randn(4 * steps, 8))
    for (x,) in torch.utils.data.DataLoader(data, batch_size=4):
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()
"""
EVERYTHING = (
    """
import atexit, multiprocessing, os, pickle, sys

class Mine:
    pass

def child(queue):
    queue.put(("child", __name__, "torch" in sys.modules))
"""
    + TRAIN
    + """
if __name__ == "__main__":
    atexit.register(print, "at the end")
    print(sys.argv, __name__, __file__, __spec__, __package__, sys.path[0], __doc__)
    print(sys.modules["__main__"].__dict__ is globals(), type(pickle.loads(pickle.dumps(Mine()))))
    print("torch" in sys.modules, "numpy" in sys.modules, sorted(k for k in globals()))
    print(train(30))
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
    sys.stdout.flush()
    if os.fork() == 0:
        sys.exit(0)
    print(os.wait()[1])
    sys.exit(3)
"""
)


def typed(
    command: list[str], *words: str, cwd: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *words],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def without_ours(text: str) -> str:
    return "".join(
        line for line in text.splitlines(keepends=True) if not line.startswith("pytscope:")
    )


def test_a_script_sees_what_it_would_see_under_python(tmp_path: Path) -> None:
    script = tmp_path / "sub" / "train.py"
    script.parent.mkdir()
    script.write_text(EVERYTHING)
    plain = typed(PYTHON, "sub/train.py", "--lr", "1", cwd=tmp_path)
    done = typed(RUN, "--", "sub/train.py", "--lr", "1", cwd=tmp_path)
    assert plain.returncode == 3, plain.stderr
    assert (done.returncode, done.stdout) == (3, plain.stdout)
    assert "pytscope: recording train.py into runs/train-1\n" in done.stderr
    assert done.stderr.count("● RUN train-1 — 30 steps") == 1
    run = pytscope.open(tmp_path / "runs" / "train-1")
    assert len(run.shown) == 30
    assert {"data", "forward", "backward", "optimizer"} <= set(run.shown.phases)
    assert run.environment["torch"]["model"]["parameters"] == 9
    assert run.shown.attempts[0].finished
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["train-1"]


@pytest.mark.parametrize(
    "ending",
    [
        "raise ValueError('of the script')",
        "sys.exit('a message')",
        "def f(:",
        "sys.excepthook = lambda *a: print('hook', a[1], len(str(a[2]))); 1 / 0",
        "import os; os._exit(5)",
    ],
)
def test_a_script_ends_as_under_python(tmp_path: Path, ending: str) -> None:
    (tmp_path / "end.py").write_text(f"import sys\n\ndef g():\n    pass\n\n{ending}\n")
    plain = typed(PYTHON, "end.py", cwd=tmp_path)
    done = typed(RUN, "end.py", cwd=tmp_path)
    assert plain.returncode != 0
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert without_ours(done.stderr) == plain.stderr
    assert not (tmp_path / "runs").exists()


def test_ctrl_c_ends_a_script_as_under_python(tmp_path: Path) -> None:
    (tmp_path / "end.py").write_text("raise KeyboardInterrupt")
    done = typed(RUN, "end.py", cwd=tmp_path)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.endswith("raise KeyboardInterrupt\nKeyboardInterrupt\n")
    assert "cli" not in done.stderr
    assert "end.py did not import torch: nothing was recorded" in done.stderr


def test_modules_and_folders_run_too(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    say = "import sys; print(sys.argv[1:], __name__, __spec__.name, sys.path[0], sys.argv[0])"
    (package / "__main__.py").write_text(say)
    (package / "tool.py").write_text(say)
    for words in (["-m", "pack.tool", "-x"], ["-m", "pack"], ["pack", "--help"]):
        plain, done = typed(PYTHON, *words, cwd=tmp_path), typed(RUN, *words, cwd=tmp_path)
        assert plain.returncode == 0, plain.stderr
        assert (done.returncode, done.stdout) == (0, plain.stdout)
    after = typed(RUN, "--", "-m", "pack.tool", "-x", cwd=tmp_path)
    assert after.stdout == typed(PYTHON, "-m", "pack.tool", "-x", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lost.py"], "error: there is no script at lost.py\nhelp: A module is run by its name"),
        (["python", "train.py"], "error: python is no script; pytscope run is Python itself\n"),
        ([sys.executable, "train.py"], f"error: {sys.executable} is no script; "),
        (["torchrun", "train.py"], "error: there is no script at torchrun\nhelp: It goes first: "),
    ],
)
def test_what_is_no_script_is_said(words: list[str], said: str) -> None:
    with pytest.raises(UsageError) as told:
        run_script(words[0], words[1:])
    assert f"error: {told.value}\nhelp: {told.value.hint}".startswith(said)


def test_a_word_after_the_options_that_is_a_file_is_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Odd, but what `python` would run."""
    monkeypatch.chdir(tmp_path)
    Path("-m").write_text("")
    assert run_script("-m", ["x"])._script.name == "-m"


def test_a_script_that_records_itself_is_left_to_it(tmp_path: Path) -> None:
    own = "import torch\nfrom pytscope.auto import AutoProfiler\nwith AutoProfiler('mine'):\n"
    (tmp_path / "own.py").write_text(f"{TRAIN}\n{own}    train(25)\n")
    done = typed(RUN, "-o", "ours", "own.py", cwd=tmp_path)
    assert done.returncode == 0
    said = "the script records itself, into mine; pytscope run steps aside"
    assert f"{said}; -o ours is not used\n" in done.stderr
    assert "● RUN mine — 25 steps" in done.stderr
    assert "ours" not in [path.name for path in tmp_path.iterdir()]


TWO_RANKS = (
    TRAIN.replace("torch.nn.Linear(8, 1)", "ddp(torch.nn.Linear(8, 1))")
    + """
def ddp(module):
    import torch
    torch.distributed.init_process_group("gloo")
    return torch.nn.parallel.DistributedDataParallel(module)

train(30)
import os, torch
os.write(1, b"rank %d\\n" % torch.distributed.get_rank())  # whole: ranks share a pipe
torch.distributed.destroy_process_group()
"""
)


def test_every_rank_of_torchrun_is_recorded_and_one_reports(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_RANKS)
    torchrun = [*PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words = ["-m", "pytscope", "run", "-o", "runs/x", "--", "train.py"]
    done = typed(torchrun, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0", "rank 1"]
    assert done.stderr.count("● RUN x — 30 steps") == 1
    assert "2 ranks" in done.stderr
    run = pytscope.open(tmp_path / "runs" / "x")
    assert [len(timeline) for timeline in run.timelines] == [30, 30]
    told = run.environment["torch"]["parallelism"]
    assert told == {
        "world": 2,
        "backend": "gloo",
        "wrappers": ["DistributedDataParallel"],
        "meshes": [],
    }


def test_a_run_without_a_folder_gets_the_next_number(tmp_path: Path) -> None:
    (tmp_path / "train-7").mkdir()
    (tmp_path / "train-x").mkdir()
    (tmp_path / "other-9").mkdir()
    assert folders.numbered(tmp_path, "train").folder.name == "train-8"
    assert folders.numbered(tmp_path, "train").folder.name == "train-9"
    assert folders.numbered(tmp_path, "new").folder.name == "new-1"


def ranks(**variables: Any) -> tuple[RankInfo, dict[str, str]]:
    environ = {"RANK": "1", "WORLD_SIZE": "4", **variables}
    return detect_rank(environ), environ


def test_ranks_of_a_launch_agree_on_a_folder() -> None:
    assert folders.launch_name(*ranks(TORCHELASTIC_RUN_ID="job/7")) == "job-7"
    uuid = "4b25d218-79a0-42c6-a834-4f78317f00d6"
    assert folders.launch_name(*ranks(TORCHELASTIC_RUN_ID=uuid)) == "4b25d218"
    one_host = ranks(TORCHELASTIC_RUN_ID="none", LOCAL_WORLD_SIZE="4")
    assert folders.launch_name(*one_host) == f"p{os.getppid()}"
    with pytest.raises(UsageError, match="several hosts"):
        folders.launch_name(*ranks(TORCHELASTIC_RUN_ID="none", LOCAL_WORLD_SIZE="2"))


LEAK = (
    TRAIN.replace("train(steps)", "train(steps, kept)").replace(
        "        optimizer.zero_grad()\n",
        "        optimizer.zero_grad()\n        kept and kept.append(torch.ones(1 << 17))\n",
    )
    + "\nimport sys\ntrain(120, [0] if '--leak' in sys.argv else [])\n"
)


def test_a_leak_is_found_with_memory(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LEAK)
    leaks = typed(RUN, "--memory", "--", "train.py", "--leak", cwd=tmp_path)
    assert leaks.returncode == 0, leaks.stderr
    assert "Host memory of the process grows by" in leaks.stderr
    assert "(MEMORY.GROWTH)" in leaks.stderr
    healthy = typed(RUN, "--memory", "--", "train.py", cwd=tmp_path)
    assert "● MEMORY · ok" in healthy.stderr
    assert "(MEMORY.GROWTH)" not in healthy.stderr


def test_sampling_memory_asks_no_driver_for_devices(tmp_path: Path) -> None:
    asks = "import torch\ntorch.cuda.is_available = lambda: 1 / 0\n" + TRAIN + "train(25)\n"
    (tmp_path / "train.py").write_text(asks + "print(torch.cuda.is_initialized())\n")
    done = typed(RUN, "--memory", "train.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
    assert "failed" not in done.stderr
    assert "rss" in pytscope.open(tmp_path / "runs" / "train-1").shown.memory


USAGE = """
import argparse, torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.parse_args()
raise ValueError("no data")
"""


@pytest.mark.parametrize(
    ("options", "there", "words", "code", "why"),
    [
        ((), [], ("--help",), 0, "no torch optimizer stepped"),
        (("-o", "a/b"), [], ("--foo",), 2, "usage.py ended with exit code 2 first"),
        (("-o", "mine"), ["mine"], (), 1, "usage.py ended with ValueError first"),
    ],
)
def test_where_nothing_was_trained_one_line_says_so(
    tmp_path: Path,
    options: tuple[str, ...],
    there: list[str],
    words: tuple[str, ...],
    code: int,
    why: str,
) -> None:
    (tmp_path / "usage.py").write_text(USAGE)
    for name in there:
        (tmp_path / name).mkdir()
    plain = typed(PYTHON, "usage.py", *words, cwd=tmp_path)
    done = typed(RUN, *options, "--", "usage.py", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, plain.stdout)
    assert plain.returncode == code
    assert without_ours(done.stderr) == plain.stderr
    ours = [line for line in done.stderr.splitlines() if line.startswith("pytscope:")]
    assert len(ours) == 2
    assert ours[0].startswith("pytscope: recording usage.py into ")
    assert ours[1].startswith(f"pytscope: no training step was seen: {why}")
    assert sorted(path.name for path in tmp_path.iterdir()) == [*there, "usage.py"]


def test_a_folder_with_a_run_gets_another_attempt_only_if_a_step_comes(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN + "import sys, torch\ntrain(int(sys.argv[1]))\n")
    words = ("--no-report", "-o", "run", "--", "train.py")
    first = typed(RUN, *words, "21", cwd=tmp_path)
    assert first.stderr.splitlines() == ["pytscope: recording train.py into run"]
    file = tmp_path / "run" / "rank00000.pts"
    before = file.read_bytes()
    for nothing in ("0", "x"):
        done = typed(RUN, *words, nothing, cwd=tmp_path)
        assert "into run, which holds a run: this is its attempt 1\n" in done.stderr
        assert "no training step was seen" in done.stderr
        assert file.read_bytes() == before
    typed(RUN, *words, "22", cwd=tmp_path)
    assert len(pytscope.open(tmp_path / "run").shown) == 22
    assert len(pytscope.open(tmp_path / "run", attempt=0).shown) == 21
    lost = typed(RUN, "-o", "train.py", "train.py", "1", cwd=tmp_path)
    assert (lost.returncode, lost.stdout) == (2, "")
    assert lost.stderr == "error: train.py is a file; a run needs a folder\n"
