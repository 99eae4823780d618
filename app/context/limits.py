"""Checks how much a caller adds to a context."""

from app.context.model import ContextLimits
from app.context.schemas import ContextIn
from app.kit.errors import Invalid, json_pointer
from app.state.reading import check_text


def check_counts(body: ContextIn, limits: ContextLimits) -> None:
    """Raises Invalid."""
    for field, count, most, told in (
        ("state", len(body.state), limits.temp_values_max, "values (DAYBOOK_CONTEXT__TEMP_VALUES_MAX)"),
        ("knowledge", len(body.knowledge), limits.knowledge_max, "entries (DAYBOOK_CONTEXT__KNOWLEDGE_MAX)"),
        ("incoming", len(body.incoming), limits.incoming_max, "messages (DAYBOOK_CONTEXT__INCOMING_MAX)"),
    ):
        if count > most:
            raise Invalid.at(json_pointer(field), f"a context may have at most {most} {told}")


def check_templates(body: ContextIn, limits: ContextLimits) -> None:
    """Raises TooLarge."""
    for index, text in enumerate(body.system):
        check_text(text, json_pointer("system", index), characters_max=limits.template_characters_max)


def check_knowledge(body: ContextIn, limits: ContextLimits) -> None:
    """Raises TooLarge."""
    for index, entry in enumerate(body.knowledge):
        pointer = json_pointer("knowledge", index, "text")
        check_text(entry.text, pointer, characters_max=limits.template_characters_max)
