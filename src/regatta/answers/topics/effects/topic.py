"""Which factor explains how much, over the whole experiment."""

from __future__ import annotations

from regatta.answers.topic import Document, Topic, Words
from regatta.answers.topics.effects.compute import Effects, effect_words, judge_effects
from regatta.answers.topics.effects.page import effects_section, effects_tables

EFFECTS: Topic[Effects] = Topic(
    "effects",
    empty=Effects(),
    compute=lambda context: judge_effects(
        context.samples, context.options.anova_type, context.facts.level, context.names
    ),
    words=Words(130, "What explains how much", lambda effects, _: effect_words(effects)),
    document=Document(50, "effects"),
    section=effects_section,
    tables=effects_tables,
)
