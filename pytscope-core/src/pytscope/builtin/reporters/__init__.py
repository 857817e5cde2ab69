"""The reporters that come with pytscope-core."""

from __future__ import annotations

from pytscope.builtin.reporters.github import github_report
from pytscope.builtin.reporters.json import json_report
from pytscope.builtin.reporters.junit import junit_report
from pytscope.builtin.reporters.markdown import markdown_report
from pytscope.builtin.reporters.sarif import sarif_report
from pytscope.builtin.reporters.text import text_report
from pytscope.plugins.declare import Reporter

ALL: tuple[Reporter, ...] = (
    text_report,
    json_report,
    markdown_report,
    github_report,
    junit_report,
    sarif_report,
)
