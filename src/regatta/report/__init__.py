"""The report: one self-contained HTML file that answers the experiment's question.

Reads a `regatta.model.answer.Answer` and nothing else; it measures, estimates and decides nothing.
"""

from regatta.report.page import write_report, write_topics_page

__all__ = ["write_report", "write_topics_page"]
