"""What `pytscope diff` found, for a pull request, a step summary or a chat."""

from __future__ import annotations

from collections.abc import Iterator

from pytscope.builtin.reporters.comparisons import footer, runs_table, title
from pytscope.builtin.reporters.markdown_parts import panel_markup, problems_markup, spaced
from pytscope.builtin.reporters.markup import Markup
from pytscope.model.comparison import Comparison
from pytscope.plugins.declare import RenderOptions


def markdown_comparison(comparison: Comparison, options: RenderOptions) -> str:
    """Write everything that the text says as GitHub-flavoured Markdown.

    Width and colour are of no account here.
    """
    markup = Markup(options.ascii)
    lines = [*_head(comparison, markup)]
    for panel in comparison.panels:
        lines += panel_markup(panel, markup)
    lines += problems_markup(comparison.problems, options, markup)
    lines.append(f"<sub>{markup.text(footer(comparison, options))}</sub>")
    return "\n".join(spaced(lines)) + "\n"


def _head(comparison: Comparison, markup: Markup) -> Iterator[str]:
    yield f"## pytscope {markup.text(title(comparison))}"
    yield ""
    yield f"**Verdict:** {markup.text(comparison.headline)}"
    yield ""
    if comparison.gate is not None:
        outcome = markup.text(comparison.gate)
        yield f"**Gate:** {outcome}: {markup.text(comparison.gate_reason)}"
        yield ""
    yield from markup.table(runs_table(comparison))
    yield ""
