"""Release one package of the tree: changelog, wheel and sdist, commit, tag.

    python tools/release.py pytscope-core 0.3.1                 # rehearse, change nothing
    python tools/release.py pytscope-core 0.3.1 --no-dry-run    # and keep the result

Everything happens in a throw-away clone. Only when all of it went well does a real
run fast-forward this repository to the clone's commit and tag and copy `dist/`. It
never pushes or uploads; it prints the commands that do. RELEASING.md has the order.
"""

from __future__ import annotations

import argparse
import email
import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VERSION = re.compile(r"\d+\.\d+\.\d+")
FRAGMENT = re.compile(r"(\+[a-z0-9]+(?:-[a-z0-9]+)*|\d+)\.(added|changed|fixed|removed)\.md")
FRAGMENTS = "changelog.d"
SIBLING = re.compile(r"(pytscope-[a-z-]+)((?:>=|<)[\d.]+(?:,(?:>=|<)[\d.]+)*)")
RELATIVE_LINK = re.compile(r"\]\((?!https?://|#|mailto:)")


class Refused(Exception):
    """A reason not to release, as a sentence."""


def say(line: str) -> None:
    """One line of progress."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(*command: str, cwd: Path) -> str:
    """Standard output of a command that must end well."""
    done = subprocess.run(  # noqa: S603  # the commands are written in this file
        command, cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        msg = f"{' '.join(command[:4])} failed: {said[-1] if said else done.returncode}"
        raise Refused(msg)
    return done.stdout.strip()


def git(root: Path, *arguments: str) -> str:
    """Standard output of a git command."""
    return run("git", *arguments, cwd=root)


def project(folder: Path) -> dict[str, Any]:
    """The `[project]` table of a package."""
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)["project"]
    return table


def packages(root: Path) -> dict[str, Path]:
    """Folders of the packages in the tree, by name."""
    return {
        path.parent.name: path.parent for path in sorted(root.glob("pytscope-*/pyproject.toml"))
    }


def numbers(version: str) -> tuple[int, ...]:
    """A version as comparable numbers."""
    return tuple(int(part) for part in version.split("."))


def admits(ranges: str, version: str) -> bool:
    """Whether `>=A,<B` holds for a version."""
    for bound in ranges.split(","):
        at_least, limit = bound.startswith(">="), numbers(bound.lstrip("<>="))
        if at_least != (numbers(version) >= limit):
            return False
    return True


def siblings(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Name and range of each requirement that is a package of the tree."""
    for line in lines:
        if found := SIBLING.fullmatch(line.replace(" ", "")):
            yield found[1], found[2]


def released(root: Path, name: str) -> list[str]:
    """Versions of a package that have a tag."""
    prefix = f"{name}-v"
    return [tag.removeprefix(prefix) for tag in git(root, "tag", "-l", f"{prefix}*").split()]


# --- what must hold before anything is made -----------------------------------


def check_asked(root: Path, name: str, version: str) -> None:
    """A known package, a version that comes after all that are tagged, a clean tree."""
    if name not in packages(root):
        msg = f"there is no package {name!r}; there are: {', '.join(packages(root))}"
        raise Refused(msg)
    if not VERSION.fullmatch(version):
        msg = f"{version!r} is not MAJOR.MINOR.PATCH"
        raise Refused(msg)
    for earlier in released(root, name):
        if numbers(earlier) >= numbers(version):
            msg = f"{name}-v{earlier} is tagged; {version} does not come after it"
            raise Refused(msg)
    if changed := git(root, "status", "--porcelain"):
        lines = changed.splitlines()
        msg = f"the tree is not clean: {len(lines)} paths, the first {lines[0].split()[-1]}"
        raise Refused(msg)
    say(f"ok   the tree is clean, and {version} comes after every tagged {name}")


def check_fragments(folder: Path) -> None:
    """At least one changelog fragment, and all of them well named."""
    found = sorted((folder / FRAGMENTS).glob("*.md")) if (folder / FRAGMENTS).is_dir() else []
    if not found:
        msg = f"{folder.name}/{FRAGMENTS} holds no fragment: what is new?"
        raise Refused(msg)
    for path in found:
        if not FRAGMENT.fullmatch(path.name) or not path.read_text(encoding="utf-8").strip():
            msg = f"{path.name} is empty or not named +SLUG.added|changed|fixed|removed.md"
            raise Refused(msg)
    say(f"ok   {len(found)} changelog fragments")


def check_siblings(root: Path, name: str, version: str) -> None:
    """Ranges between the packages admit the new version, and what it needs is released."""
    for other, folder in packages(root).items():
        table = project(folder)
        extras = table.get("optional-dependencies", {}).values()
        needed = list(siblings(table["dependencies"]))
        named = [*needed, *siblings([line for extra in extras for line in extra])]
        for sibling, ranges in named if other != name else ():
            if sibling == name and not admits(ranges, version):
                msg = f"{other} wants {sibling}{ranges}, which leaves {version} out"
                raise Refused(msg)
        for sibling, ranges in needed if other == name else ():
            tagged = released(root, sibling)
            if not any(admits(ranges, one) for one in tagged):
                msg = f"{name} needs {sibling}{ranges}, of which none is tagged: release it first"
                raise Refused(msg)
    say(f"ok   ranges between the packages admit {name} {version}")


# --- what is made, in the clone -----------------------------------------------


def set_version(folder: Path, version: str) -> None:
    """Write the version into the package's metadata."""
    path = folder / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    text, changed = re.subn(r'(?m)^version = "[^"]+"$', f'version = "{version}"', text, count=1)
    if not changed or project(folder)["name"] != folder.name:
        msg = f"{path} has no line version = …"
        raise Refused(msg)
    path.write_text(text, encoding="utf-8")


def build_changelog(folder: Path, version: str) -> None:
    """Turn the fragments into the version's section.

    A section of the version that was written by hand before its release stays, and
    what the fragments say comes below it.
    """
    towncrier = (sys.executable, "-m", "towncrier", "build", "--version", version)
    path = folder / "CHANGELOG.md"
    text = path.read_text(encoding="utf-8")
    heading = re.search(rf"(?m)^## {re.escape(version)}$", text)
    if heading is None:
        run(*towncrier, "--yes", cwd=folder)
        say(f"ok   {folder.name}/CHANGELOG.md has a section {version}")
        return
    drawn = run(*towncrier, "--draft", cwd=folder)
    drawn = drawn[drawn.index(f"## {version}") :].removeprefix(f"## {version}").strip()
    after = text.find("\n## ", heading.end())
    end = len(text) if after < 0 else after
    parts = (text[:end].rstrip(), drawn, text[end:].lstrip("\n"))
    path.write_text("\n\n".join(parts).rstrip() + "\n", encoding="utf-8")
    for fragment in (folder / FRAGMENTS).glob("*.md"):
        fragment.unlink()
    say(f"ok   the fragments are below the section {version} that was there")


def build(folder: Path, out: Path) -> tuple[Path, Path]:
    """Build sdist and, from it, wheel."""
    alone = ["--no-isolation"] if importlib.util.find_spec("hatchling") else []
    run(sys.executable, "-m", "build", *alone, "--outdir", str(out), ".", cwd=folder)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    say(f"ok   built {wheel.name} and {sdist.name}")
    return wheel, sdist


# --- what is checked of the result --------------------------------------------


def check_wheel(folder: Path, wheel: Path, tracked: set[str]) -> None:
    """The wheel holds what the tree tracks and says what the metadata says."""
    table = project(folder)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        read = email.message_from_bytes(archive.read(metadata))
    inside = {name for name in names if ".dist-info/" not in name}
    if inside != tracked:
        odd = sorted(inside ^ tracked)
        msg = f"the wheel and git differ in {len(odd)} files, the first {odd[0]}"
        raise Refused(msg)
    wanted = {
        "Name": table["name"],
        "Version": table["version"],
        "Requires-Python": table["requires-python"],
        "License-Expression": table["license"],
        "Description-Content-Type": "text/markdown",
    }
    for key, value in wanted.items():
        if read[key] != value:
            msg = f"the wheel says {key}: {read[key]}, the tree {value}"
            raise Refused(msg)
    if not any(name.endswith("/licenses/LICENSE") for name in names):
        msg = "the wheel holds no licence"
        raise Refused(msg)
    if RELATIVE_LINK.search(str(read.get_payload())):
        msg = f"{folder.name}/README.md has a relative link, which is dead on a package index"
        raise Refused(msg)
    say(f"ok   the wheel holds the {len(inside)} files that git tracks, and the metadata agrees")


def check_sdist(sdist: Path) -> None:
    """The source distribution can be built from and read."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = {"PKG-INFO", "pyproject.toml", "README.md", "LICENSE"} - names
    if missing:
        msg = f"the sdist lacks {', '.join(sorted(missing))}"
        raise Refused(msg)


def check_with_twine(*files: Path) -> None:
    """What the index would say, when twine is installed."""
    if importlib.util.find_spec("twine") is None:
        say("-    twine is not installed: `twine check` is left out")
        return
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files), cwd=files[0].parent)
    say("ok   twine check")


# --- the whole ----------------------------------------------------------------


def make(root: Path, name: str, version: str) -> str:
    """Make the release in a clean clone; returns the tag."""
    folder, tag = root / name, f"{name}-v{version}"
    set_version(folder, version)
    build_changelog(folder, version)
    wheel, sdist = build(folder, root / "dist")
    source = f"{name}/src/"
    tracked = {path.removeprefix(source) for path in git(root, "ls-files", source).splitlines()}
    check_wheel(folder, wheel, tracked)
    check_sdist(sdist)
    check_with_twine(wheel, sdist)
    git(root, "add", "--all", name)
    git(root, "commit", "--quiet", "--message", f"Release {name} {version}")
    git(root, "tag", "--annotate", tag, "--message", f"{name} {version}")
    say(f"ok   committed and tagged {tag}")
    return tag


def cloned(root: Path, place: Path) -> Path:
    """A clone of the repository's head, with the committer of the original."""
    clone = place / "clone"
    git(root, "clone", "--quiet", str(root), str(clone))
    for key in ("user.name", "user.email"):
        if value := git(root, "config", "--default", "", "--get", key):
            git(clone, "config", key, value)
    return clone


def keep(root: Path, clone: Path, tag: str) -> None:
    """Bring the clone's commit, tag and files here."""
    git(root, "fetch", "--quiet", str(clone), "HEAD", f"refs/tags/{tag}:refs/tags/{tag}")
    git(root, "merge", "--quiet", "--ff-only", f"{tag}^{{commit}}")
    (root / "dist").mkdir(exist_ok=True)
    for path in sorted((clone / "dist").iterdir()):
        shutil.copy(path, root / "dist")


def release(root: Path, name: str, version: str, *, dry_run: bool) -> None:
    """Check, make, and unless it is a rehearsal keep a release."""
    check_asked(root, name, version)
    check_fragments(root / name)
    check_siblings(root, name, version)
    with tempfile.TemporaryDirectory(prefix="pytscope-release-") as place:
        clone = cloned(root, Path(place))
        tag = make(clone, name, version)
        if dry_run:
            say("dry run: nothing changed here; --no-dry-run keeps commit, tag and dist/")
            return
        keep(root, clone, tag)
    stem = f"dist/{name.replace('-', '_')}-{version}"
    say(f"now: git push origin HEAD {tag} && twine upload {stem}-py3-none-any.whl {stem}.tar.gz")


def main(argv: list[str]) -> int:
    """Parse, release; 1 with a sentence when refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package")
    parser.add_argument("version")
    parser.add_argument("--dry-run", action=argparse.BooleanOptionalAction, default=True)
    asked = parser.parse_args(argv)
    try:
        root = Path(git(Path(__file__).parent, "rev-parse", "--show-toplevel"))
        release(root, asked.package, asked.version, dry_run=asked.dry_run)
    except Refused as reason:
        sys.stderr.write(f"refused: {reason}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
