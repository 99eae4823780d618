"""OpenAI's tools that the agent runs itself: their calls go back as they came, and their results in their own shapes.

So do the approval requests of MCP and the responses to them.

Calls of other such tools (``computer_call``, ``local_shell_call``) are shown as those of functions: their results have
no place for a text, and so none for "no result" or a preview.
"""

from app.context.rendering.openai_shapes import CALLER, ENVIRONMENT, PATCH_OPERATION, SHELL_ACTION, SHELL_OUTPUT
from app.context.rendering.parts import output_text
from app.context.rendering.shape import fields, fitting, integer
from app.context.rendering.thread import Item
from app.context.wording import NO_OUTPUT
from app.sessions.model import Part
from app.sessions.wire.openai_responses import APPROVAL, APPROVED, OWN_CALLS, PROVIDER

SHELL, PATCH = "shell_call", "apply_patch_call"
ASKED = {SHELL: "action", PATCH: "operation"}  # the field that tells what to do
COMPLETED, FAILED = "completed", "failed"


def own_call(part: Part) -> Item | None:
    """The call without its ids; None if OpenAI cannot have sent it: a caller may write any field on a part."""
    kind, arguments = part.get("native"), part["arguments"]
    if part.get("provider") != PROVIDER or kind not in (SHELL, PATCH) or not isinstance(arguments, dict):
        return None
    asked = fitting(PATCH_OPERATION if kind == PATCH else SHELL_ACTION, arguments.get(ASKED[kind]))
    if asked is None:
        return None
    came = fitting(fields({}, {"caller": CALLER} | ({} if kind == PATCH else {"environment": ENVIRONMENT})), part) or {}
    return {"type": kind, ASKED[kind]: asked, "status": COMPLETED, **came}


def asked_leave(part: Part) -> Item | None:
    """The ``mcp_approval_request``, whose id is that of the call; None if OpenAI cannot have sent it."""
    arguments = part["arguments"]
    if part.get("provider") != PROVIDER or part.get("native") != APPROVAL or not isinstance(arguments, dict):
        return None
    asked = {key: arguments.get(key) for key in OWN_CALLS[APPROVAL]}
    if part.get("item_id") != part["id"] or not all(isinstance(value, str) for value in asked.values()):
        return None
    return {"type": APPROVAL, "id": part["id"], **asked}


def answered_leave(part: Part) -> Item:
    """The ``mcp_approval_response``: only ``"approve": true`` approves."""
    output = part["output"]
    if not isinstance(output, dict) or not isinstance(output.get("approve"), bool):
        output = {"approve": False, "reason": _text(part)}
    reason = {"reason": output["reason"]} if isinstance(output.get("reason"), str) else {}
    return {"type": APPROVED, "approval_request_id": part["tool_call_id"], "approve": output["approve"], **reason}


def own_output(kind: str, part: Part) -> Item:
    """The result of such a call without its id, whatever the tool answered."""
    failed = bool(part.get("is_error"))
    if kind == PATCH:
        return {"type": f"{PATCH}_output", "status": FAILED if failed else COMPLETED, "output": _text(part)}
    limit = part.get("max_output_length")
    more = {} if fitting(integer, limit) is None else {"max_output_length": limit}
    return {"type": f"{SHELL}_output", "output": _shell_output(part, failed=failed), **more}


def _shell_output(part: Part, *, failed: bool) -> list[Item]:
    output: list[Item] | None = fitting(SHELL_OUTPUT, part["output"])
    return output or [{"stdout": _text(part), "stderr": "", "outcome": {"type": "exit", "exit_code": int(failed)}}]


def _text(part: Part) -> str:
    return output_text(part["output"]) or NO_OUTPUT
