"""docs/usage.md runs from top to bottom: its Python, its files and its commands."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

PAGE = Path(__file__).parents[1] / "docs" / "usage.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [match.groups() for match in FENCE.finditer(PAGE.read_text(encoding="utf-8"))]
NAMED = re.compile(r"# ([\w.-]+\.(?:py|toml))\n")
FAILED = "exit status of: "
FRAMEWORKS = {
    "fit.py": ("lightning", "pytscope_lightning"),
    "tune.py": ("transformers", "pytscope_hf"),
    "accelerated.py": ("accelerate", "pytscope_hf"),
}
"""What scripts of the page import, beside torch."""


@attrs.define
class Reader:
    """Somebody who types the page, block after block, into one Python and one shell."""

    folder: Path
    names: dict[str, Any] = attrs.field(factory=dict)
    done: int = 0

    def read_to(self, last: int) -> None:
        """Do every block up to one that is not done yet."""
        while self.done <= last:
            language, source = BLOCKS[self.done]
            self.done += 1
            if named := NAMED.match(source):
                (self.folder / named[1]).write_text(source)
            elif language == "python":
                exec(compile(source, f"<block {self.done}>", "exec"), self.names)
            elif language == "console" and not lacking(source):
                self.type(source)

    def type(self, session: str) -> None:
        """Run a session's commands; what is printed holds the lines below each, in order."""
        for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
            command, *wanted = part.rstrip("\n").split("\n")
            printed = self.shell(command)
            at = 0
            for line in wanted:
                pattern = "".join(".*" if p == "…" else re.escape(p) for p in re.split("(…)", line))
                found = re.compile(f"^ *{pattern.strip()}", re.MULTILINE).search(printed, at)
                assert found, f"$ {command}\nprints no line {line!r}:\n{printed}"
                at = found.end()

    def shell(self, command: str) -> str:
        tools = [str(self.folder / ".bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        done = subprocess.run(
            ["bash", "-c", f"{command} || echo '{FAILED}'$?"],
            env={**os.environ, "PATH": os.pathsep.join(tools)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        assert FAILED not in done.stdout, f"$ {command}\n{done.stdout}"
        return done.stdout


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("usage")
    (folder / ".bin").mkdir()
    script = folder / ".bin" / "pytscope"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m pytscope "$@"\n')
    script.chmod(0o755)
    before, variables = Path.cwd(), ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    kept = {name: os.environ.pop(name) for name in variables if name in os.environ}
    os.chdir(folder)
    yield Reader(folder)
    os.chdir(before)
    os.environ.update(kept)


def lacking(source: str) -> list[str]:
    """Packages that a block's script needs and that are not installed."""
    needed = {
        package for name, packages in FRAMEWORKS.items() if name in source for package in packages
    }
    if "torchrun" in source:
        needed.add("torch")  # brings it
    return sorted(package for package in needed if importlib.util.find_spec(package) is None)


def title(index: int) -> str:
    source = BLOCKS[index][1]
    return f"{index}-{BLOCKS[index][0]}-{source.strip().splitlines()[0][:40]}"


@pytest.mark.parametrize("index", range(len(BLOCKS)), ids=title)
def test_a_block_runs(reader: Reader, index: int) -> None:
    if "AutoProfiler" in BLOCKS[index][1] or "pytscope run" in BLOCKS[index][1]:
        pytest.importorskip("pytscope_torch", reason="brings AutoProfiler")
    if lacks := lacking(BLOCKS[index][1]):
        pytest.skip(f"{' and '.join(lacks)} not installed")
    reader.read_to(index)


def test_every_block_has_a_language_that_is_run_or_a_sample() -> None:
    assert {language for language, _ in BLOCKS} == {"python", "console", "toml", "text"}
    assert sum(language == "text" for language, _ in BLOCKS) == 1
    assert all(NAMED.match(source) for language, source in BLOCKS if language == "toml")
