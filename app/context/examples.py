"""Examples of requests, for the OpenAPI document; a test sends each of them."""

from typing import Any

CONTEXT_EXAMPLES: dict[str, Any] = {
    "agent": {
        "summary": "An agent's own prompt and a document",
        "value": {
            "system": "You are a helpful assistant.",
            "knowledge": [{"title": "Opening hours", "text": "Monday to Friday, 9-17.", "placement": "prefix"}],
            "channel": "mobile app",
            "incoming": [{"role": "user", "content": "When do you open tomorrow?"}],
        },
    }
}
