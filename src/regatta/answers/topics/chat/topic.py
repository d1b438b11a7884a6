"""The topic of the chat server over its connections."""

from __future__ import annotations

from typing import Any

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Lead, Topic, Words
from regatta.answers.topics.chat.compute import Chat, judge_chat
from regatta.answers.topics.chat.page import chat_section, chat_tables
from regatta.answers.topics.chat.words import chat_words, first_words


def _document(chat: Chat) -> dict[str, Any]:
    """Return the comparisons of modes; the curves are among the cells."""
    contrasts = plain(chat.contrasts)
    for contrast in contrasts:
        del contrast["place"]["platform"]
    return {"contrasts": contrasts}


CHAT: Topic[Chat] = Topic(
    "chat",
    title="Chat server",
    empty=Chat(),
    compute=judge_chat,
    words=Words(100, "Chat", lambda chat, _: chat_words(chat)),
    document=Document(90, "chat", _document),
    section=chat_section,
    tables=chat_tables,
    lead=lambda chat, _: Lead(first_words(chat), cells=chat.cell_ids, compared=chat.cell_ids),
)
