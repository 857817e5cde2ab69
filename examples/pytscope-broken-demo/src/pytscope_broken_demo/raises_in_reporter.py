"""A reporter that fails half-way: `--format brokenreporter`."""

from pytscope import RenderOptions, Report, Reporter, hookimpl, reporter


@reporter("brokenreporter")
def broken_reporter(
    report: Report,
    options: RenderOptions,  # noqa: ARG001  # what reporters are given
) -> str:
    """Draw the findings that nobody has."""
    print("half of a report")
    return report.findings[1_000_000].title


@hookimpl
def pytscope_reporters() -> list[Reporter]:
    return [broken_reporter]
