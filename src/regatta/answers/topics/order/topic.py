"""Every invocation in its place in time."""

from __future__ import annotations

from regatta.answers.topic import Topic
from regatta.answers.topics.order.page import order_section

ORDER: Topic[None] = Topic("order", empty=None, section=order_section)
