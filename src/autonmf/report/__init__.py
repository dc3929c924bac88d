"""One interactive page about a result: `write_report`. Writing it needs plotly; reading it, nothing."""

from autonmf.report.write import write_report

__all__ = ["write_report"]
