"""The plugins as a listing: who they are, what they bring, what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import attrs

from pytscope.cli.output import write_stdout
from pytscope.cli.packages import Package, packages_without_plugin
from pytscope.cli.page import print_page
from pytscope.model.document import plugin_document, problem_document
from pytscope.model.report import PluginInfo, Problem, credited
from pytscope.plugins.registry import Registry


def print_listing(registry: Registry) -> None:
    """Print every plugin and every package without one, then what failed."""
    blocks = [_plugin(plugin) for plugin in registry.plugins]
    blocks += [_package(package) for package in packages_without_plugin(registry.plugins)]
    if registry.problems:
        blocks.append(_problems(registry.problems))
    print_page("\n\n".join("\n".join(block) for block in blocks))


def _plugin(plugin: PluginInfo) -> Iterator[str]:
    who = credited(plugin.name, plugin.distribution, plugin.version)
    took = f", {plugin.load_ns / 1e6:.1f} ms" if plugin.load_ns else ""
    yield f"{who}: {plugin.state.value}{took}"
    if plugin.reason:
        yield f"  {plugin.reason}"
    for kind, names in plugin.registers.items():
        if names:
            yield f"  {kind}: {', '.join(names)}"


def _package(package: Package) -> Iterator[str]:
    yield f"{package.distribution} {package.version}: installed, without a plugin"
    if package.summary:
        yield f"  {package.summary}"
    if package.collectors:
        yield f"  collectors: {', '.join(package.collectors)}"


def _problems(problems: Iterable[Problem]) -> Iterator[str]:
    yield "Problems"
    for problem in problems:
        yield f"  {problem.plugin}, {problem.stage}: {problem.message}"


def print_json(registry: Registry) -> None:
    """Print the listing as JSON: every plugin, every package without one, and every problem."""
    document = {
        "schema": "pytscope.plugins/1",
        "plugins": [plugin_document(plugin) for plugin in registry.plugins],
        "packages": [attrs.asdict(one) for one in packages_without_plugin(registry.plugins)],
        "problems": [problem_document(problem) for problem in registry.problems],
    }
    write_stdout(json.dumps(document, indent=2) + "\n")
