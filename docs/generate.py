"""Check, or with `--write` renew, the pages that are made from the code.

    python docs/generate.py [--write]

docs/rules/: a page for every rule of core and of rules-distributed, from its docstring
and signature.
docs/commands.md: every verb and option, from the commands themselves.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pytscope.cli.group import pytscope
from pytscope.plugins.entries import RegisteredRule
from pytscope.plugins.isolation import Guard, Origin
from pytscope.plugins.loading import collect, load_builtins
from pytscope.plugins.registry import Registry, build_registry

DOCS = Path(__file__).parent
PACK = "pytscope-rules-distributed"
MADE = "Made by `docs/generate.py`; change the code instead."


def sections(page: str) -> tuple[str, dict[str, list[str]]]:
    """A rule's docstring as its first paragraph and the lines below each heading."""
    summary, *rest = page.split("\n\n", 1)
    found: dict[str, list[str]] = {}
    for line in "".join(rest).splitlines():
        if heading := re.fullmatch(r"(\w[\w ]*):\s*(.*)", line):
            found[heading[1]] = [heading[2]] if heading[2] else []
        elif found:
            found[list(found)[-1]].append(line)
    return " ".join(summary.split()), found


def dedented(lines: list[str]) -> str:
    """Lines without their common indentation, trailing blanks left out."""
    return "\n".join(line.removeprefix("    ") for line in lines).strip()


def rule_page(registered: RegisteredRule) -> str:
    """One rule as a page."""
    rule = registered.rule
    summary, found = sections(registered.page)
    brought = "" if registered.owner.builtin else f" Brought by {PACK}."
    parts = [f"# {rule.id}", summary, f"Since {rule.since}.{brought} {MADE}"]
    if rule.aliases:
        parts.append(f"Formerly {', '.join(rule.aliases)}.")
    for heading, lines in found.items():
        parts += [f"## {heading}", dedented(lines)]
    parts.append("## Needs")
    parts.append("\n".join(f"- `{need.parameter}`: `{need}`" for need in registered.wants))
    parts.append("## Thresholds")
    rows = "\n".join(f"- `{threshold}`" for threshold in registered.thresholds)
    parts.append(rows or "None.")
    return "\n\n".join(parts) + "\n"


def index(rules: dict[str, RegisteredRule]) -> str:
    """The list of rules."""
    rows = (f"| [{i}]({i}.md) | {sections(r.page)[0]} |" for i, r in rules.items())
    table = "\n".join(("| rule | says |", "|---|---|", *rows))
    return f"# Rules\n\n{MADE} `pytscope explain RULE` prints the same.\n\n{table}\n"


def fenced(block: re.Match[str]) -> str:
    """What click leaves as it is, as a block of code."""
    return f"```\n{block[1]}```\n"


def rows_of(command: click.Command) -> Iterator[str]:
    """A command's options as rows of a table."""
    context = click.Context(command)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            value = "" if parameter.is_flag else f" {parameter.make_metavar(context)}"
            spelled = (", ".join(parameter.opts) + value).replace("|", "\\|")
            yield f"| `{spelled}` | {parameter.help} |"


EVERYWHERE = """## Everywhere

`--color`, `--width` and `--ascii` stand before or after the verb; the later one counts.
Reports go to standard output, everything else to standard error.

- **Colour** is used on a terminal. `NO_COLOR` (not empty) turns it off, `FORCE_COLOR`
  turns it on for pipes and files too; empty, `0`, `false`, `no` and `off` do not, and
  `NO_COLOR` wins. `TERM=dumb` has none unless `FORCE_COLOR` says so. `--color
  always|never` counts before all of these. The text is the same to the byte with
  colour and without, and no matter how wide the terminal is.
- **Width**: no line of a text report is longer than the width, 88 columns or `--width`;
  words that are longer than a line are broken. A page or listing is wrapped only when
  `--width` is given, and never inside a word.
- **ASCII** is what standard output gets when it does not take UTF-8.
- **Exit codes**: 0 done; 1 a gate failed (`--fail-on`); 2 usage; 3 nothing to read, no
  usable step in it, or nowhere to write (a full disk, a folder that is not there);
  4 `--strict`; 130 interrupted; 141 the reader of standard output went away.
- **Shell completion**, for bash (`bash_source`), zsh (`zsh_source`) and fish
  (`fish_source`):

  ```
  _PYTSCOPE_COMPLETE=bash_source pytscope > ~/.pytscope-complete.bash
  echo '. ~/.pytscope-complete.bash' >> ~/.bashrc
  ```

`pytscope --version` says which one it is; `python -m pytscope` is the same command."""


def commands_page(group: click.Group) -> str:
    """Every verb with its options."""
    parts = ["# Commands", MADE, EVERYWHERE]
    for name, command in sorted(group.commands.items()):
        arguments = " ".join(
            p.make_metavar(click.Context(command))
            for p in command.params
            if isinstance(p, click.Argument)
        )
        text = inspect.cleandoc(command.help or "")
        text = re.sub(r"\x08\n((?:.+\n)+)", fenced, text + "\n").rstrip()
        parts += [f"## pytscope {name} {arguments}".rstrip(), text]
        if rows := list(rows_of(command)):
            parts.append("\n".join(("| option | does |", "|---|---|", *rows)))
    return "\n\n".join(parts) + "\n"


def in_tree() -> Registry:
    """Core's rules and those of the pack beside it, installed or not."""
    sys.path.insert(0, str(DOCS.parent / PACK / "src"))
    import pytscope_rules_distributed  # found by the line above

    guard = Guard(reraise=True)
    pack = collect(Origin("distributed", PACK), pytscope_rules_distributed, guard)
    return build_registry([load_builtins(guard), pack], guard=guard)


def pages() -> dict[Path, str]:
    """Every made page by its path."""
    rules = dict(sorted(in_tree().rules.items()))
    made = {DOCS / "rules" / f"{i}.md": rule_page(r) for i, r in rules.items()}
    made[DOCS / "rules" / "README.md"] = index(rules)
    made[DOCS / "commands.md"] = commands_page(pytscope)
    return made


def main(*, write: bool) -> int:
    """Check or renew the pages; 1 when one is not current."""
    made = pages()
    stale = [p for p in (DOCS / "rules").glob("*.md") if p not in made]
    stale += [p for p, text in made.items() if not p.exists() or p.read_text("utf-8") != text]
    for path in sorted(stale):
        print(f"{'renewed' if write else 'not current'}: {path.relative_to(DOCS.parent)}")
        if write and path in made:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made[path], "utf-8")
        elif write:
            path.unlink()
    if stale and not write:
        print("nox -s docs -- --write renews them")
    return 1 if stale and not write else 0


if __name__ == "__main__":
    sys.exit(main(write="--write" in sys.argv[1:]))
