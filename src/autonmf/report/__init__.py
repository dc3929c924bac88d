"""`write_report`: one interactive page about a fitted model. Writing it needs plotly."""

from autonmf.report.page import write_report

__all__ = ["write_report"]
