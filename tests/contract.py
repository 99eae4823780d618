"""Checks answers of the service against the OpenAPI document."""

import re
from collections.abc import Mapping
from typing import Any

import httpx2 as httpx
from jsonschema_rs import Draft202012Validator

from app.kit.direct import JSON
from app.kit.openapi import BYTES, operations

PATHS = frozenset({"message_id"})  # parameters that may hold a slash

EVENT_STREAM = "text/event-stream"


class Contract:
    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._operations = [(method, _pattern(path), found) for method, path, found in operations(document)]
        self._validators: dict[int, Draft202012Validator] = {}

    async def check(self, response: httpx.Response) -> None:
        """A hook of the client: checks that the status is documented, and that body and headers are as documented."""
        request = response.request
        operation = self._operation(request.method, request.url.path)
        if operation is not None:
            documented = operation["responses"].get(str(response.status_code))
            assert documented, f"{request.method} {request.url.path}: {response.status_code} is not documented"
            for name, header in documented.get("headers", {}).items():
                required = self._resolved(header).get("required", False)
                assert name in response.headers or not required, f"{request.method} {request.url.path}: no {name}"
            await self._check_body(response, documented.get("content", {}))

    def _resolved(self, header: Mapping[str, Any]) -> Mapping[str, Any]:
        named: Mapping[str, Any] = self.document["components"]["headers"]
        return named[header["$ref"].rpartition("/")[2]] if "$ref" in header else header

    async def _check_body(self, response: httpx.Response, contents: Mapping[str, Any]) -> None:
        """Check that JSON has its schema, and that a body is only present if one (or any bytes) is documented."""
        media_type = response.headers.get("content-type", "").partition(";")[0]
        if media_type == EVENT_STREAM and media_type in contents:  # a stream has no end to wait for
            return
        await response.aread()
        if media_type in contents:
            value = response.json() if media_type == JSON or media_type.endswith("+json") else response.text
            self.validate(contents[media_type]["schema"], value)
        else:
            assert BYTES in contents or not response.content, f"{media_type} is not documented"

    def validate(self, schema: Mapping[str, Any], value: Any) -> None:
        """Raises jsonschema_rs's ValidationError."""
        validator = self._validators.get(id(schema))
        if validator is None:
            whole = {**schema, "components": self.document["components"]}
            validator = Draft202012Validator(whole, validate_formats=True)
            self._validators[id(schema)] = validator
        validator.validate(value)

    def _operation(self, method: str, path: str) -> dict[str, Any] | None:
        matches = (found for wanted, pattern, found in self._operations if wanted == method and pattern.fullmatch(path))
        return next(matches, None)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", lambda name: ".+" if name[1] in PATHS else "[^/]+", path))
