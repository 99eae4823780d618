"""Examples for the OpenAPI document: a test compares the answers."""

from app.kit.openapi import Examples

_EXPORT = (
    '{"type":"header","schema":1,"scope":"resource","of":"user-42","exported_at":"2026-08-01T10:10:00+00:00"}\n'
    '{"type":"end","lines":1}\n'
)

EXAMPLES = {"exportResource": Examples(answers={200: _EXPORT})}
