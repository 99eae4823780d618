"""Redacts common secrets by their form: with the patterns of detect-secrets, and our own for newer services.

Of the library only the regular expressions are used: its verification of secrets, over the network, is never reached.
RE2 runs them in time linear in the text, because the texts are the callers'. Entropy is not used: hashes, UUIDs and
images are no secrets. No pattern depends on the text around a match, and none matches a mark, so that redaction is
idempotent (docs/decisions/0030).
"""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import re2

from app.kit.patterns import lazy_pattern
from app.redaction.model import NAMES_OF_SECRETS, Redact, mark

MEMORY_BYTES_MAX = 64 * 1024 * 1024  # of the compiled automaton


class Pattern(NamedTuple):
    """``expression`` is in RE2's syntax. The secret is its group if it has one, else the whole match."""

    kind: str
    expression: str

    @property
    def has_group(self) -> bool:
        return _GROUP.search(self.expression) is not None


# Detectors of detect-secrets whose patterns tell a secret by its own form, and what it is called here. Left out: those
# that go by entropy (hashes), by public IP addresses, or by words without a form (cloudant, softlayer, artifactory).
DETECTORS: Mapping[str, str] = {
    "discord.DiscordBotTokenDetector": "discord-token",
    "github_token.GitHubTokenDetector": "github-token",
    "gitlab_token.GitLabTokenDetector": "gitlab-token",
    "mailchimp.MailchimpDetector": "mailchimp-key",
    "openai.OpenAIDetector": "openai-key",
    "pypi_token.PypiTokenDetector": "pypi-token",
    "sendgrid.SendGridDetector": "sendgrid-key",
    "slack.SlackDetector": "slack-token",
    "square_oauth.SquareOAuthDetector": "square-key",
    "stripe.StripeDetector": "stripe-key",
    "telegram_token.TelegramBotTokenDetector": "telegram-token",
    "twilio.TwilioKeyDetector": "twilio-key",
}

_BASE64_LINES = r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])*)+"
_END_OF_KEY = r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
OWN: tuple[Pattern, ...] = (
    Pattern(
        "private-key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr])*(?:[A-Za-z-]+: [^\n]*\n\s*)*"
        rf"{_BASE64_LINES}(?:=[A-Za-z0-9+/]{{4}}\s*)?{_END_OF_KEY}",
    ),
    Pattern("age-key", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    Pattern("anthropic-key", r"sk-ant-[A-Za-z0-9_-]{20,}"),
    Pattern("openai-key", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}"),
    # Instead of the library's AWS patterns, the second of which needs quotes, and no assignment.
    Pattern("aws-key", r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}"),
    Pattern(
        "aws-key",
        r"(?i:aws\w{0,20}(?:key|token)\w{0,20})[\"']?\s{0,3}[:=]{1,2}>?\s{0,3}[\"']?([A-Za-z0-9/+]{40})",
    ),
    Pattern("daybook-key", r"daybook_[0-9A-Za-z]{8,32}_[A-Za-z0-9_-]{40,}"),
    Pattern("azure-key", r"AccountKey=([A-Za-z0-9+/=]{88})"),
    Pattern("databricks-token", r"dapi[0-9a-f]{32}"),
    Pattern("digitalocean-token", r"do[opr]_v1_[0-9a-f]{64}"),
    Pattern("docker-token", r"dckr_[po]at_[A-Za-z0-9_-]{27,}"),
    Pattern("github-token", r"github_pat_[A-Za-z0-9_]{60,}"),
    Pattern("google-key", r"AIza[0-9A-Za-z_-]{35}"),
    Pattern("google-key", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    Pattern("google-token", r"ya29\.[A-Za-z0-9_-]{30,}"),
    Pattern("grafana-token", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    Pattern("huggingface-token", r"hf_[A-Za-z]{34}"),
    Pattern("json-web-token", r"eyJ[A-Za-z0-9_=-]{8,}\.eyJ[A-Za-z0-9_=-]{8,}(?:\.[A-Za-z0-9_=+/-]*)?"),
    Pattern("linear-key", r"lin_api_[A-Za-z0-9]{40}"),
    Pattern("newrelic-key", r"NRAK-[A-Z0-9]{27}"),
    Pattern("npm-token", r"npm_[A-Za-z0-9]{36}"),
    Pattern("shopify-token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    Pattern("slack-token", r"xapp-\d-[A-Z0-9]{8,}-\d+-[a-z0-9]{20,}"),
    Pattern("stripe-key", r"(?:sk|rk)_(?:test|live)_[0-9a-zA-Z]{24,}"),
    Pattern("stripe-key", r"whsec_[A-Za-z0-9+/=]{24,}"),
    Pattern("vault-token", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    Pattern(
        "url-password", r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s:/?#\[\]@<>\"'$&()*+,;={}]*:([^\s/?#\[\]@<>\"'{}$]+)@"
    ),
    Pattern(
        "authorization",
        r"(?i:authorization)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?i:basic|token|bearer) +([^\s\"'\[\]{}<>$]{8,})",
    ),
    Pattern("authorization", r"(?i:bearer) +([A-Za-z0-9._~+/-]{24,}=*)"),
)

# The name of a secret and a value that may be one: long enough, with both letters and digits, and no path. If a name is
# followed by another such name, as after an unset line of a file, the value is that one's.
_NAMED = rf"(?:{NAMES_OF_SECRETS})(?:\\?[\"'])?\s{{0,3}}(?::=|=>|={{1,3}}|:)"
_ASSIGNED = (
    rf"(?i){_NAMED}\s{{0,3}}(?:\\?[\"'])?(?:[A-Za-z0-9_.-]{{0,40}}{_NAMED}\s{{0,3}}(?:\\?[\"'])?){{0,8}}"
    r"([^\s\"'`,;<>{}()\[\]$\\]{6,400})"
)
_ONLY_NAMED = lazy_pattern(rf"[A-Za-z0-9_.-]*{_NAMED}", re.IGNORECASE)
_NO_SECRET = lazy_pattern(r"[/~%#&*]|\.{1,2}/|https?://|[^0-9]*$|[^A-Za-z]*$")
# What RE2 lacks, and the replacement: without the lookahead a secret ends where its characters do.
_TRANSLATED = {"(?!\\w)": "", ",1024}": ",}"}
_GROUP = lazy_pattern(r"(?<!\\)\((?!\?)")


def pattern_redactor() -> Redact:
    """Load the library; the answer replaces texts with the form of a secret, and values assigned to the name of one."""
    patterns = (*_library(), *OWN)
    formed = _compiled("|".join(f"(?P<k{place}>{pattern.expression})" for place, pattern in enumerate(patterns)))
    assigned = _compiled(_ASSIGNED)

    def by_form(found: Any) -> str:
        return _without(found, patterns[int(found.lastgroup[1:])])

    return lambda text: assigned.sub(_by_name, formed.sub(by_form, text))


def _without(found: Any, pattern: Pattern) -> str:
    """A match with its secret replaced."""
    if not pattern.has_group:
        return mark(pattern.kind)
    return _spliced(found, found.lastindex + 1, pattern.kind)


def _by_name(found: Any) -> str:
    value = found[1]
    return str(found[0]) if _NO_SECRET.match(value) or _ONLY_NAMED.fullmatch(value) else _spliced(found, 1, "password")


def _spliced(found: Any, group: int, kind: str) -> str:
    whole, start = str(found[0]), found.start()
    return whole[: found.start(group) - start] + mark(kind) + whole[found.end(group) - start :]


def _library() -> Iterator[Pattern]:
    for name, kind in DETECTORS.items():
        module, _, detector = name.partition(".")
        for regex in getattr(import_module(f"detect_secrets.plugins.{module}"), detector).denylist:
            yield Pattern(kind, _translated(regex))


def _translated(regex: re.Pattern[str]) -> str:
    expression = regex.pattern
    for theirs, ours in _TRANSLATED.items():
        expression = expression.replace(theirs, ours)
    expression = _GROUP.sub("(?:", expression)
    return f"(?i:{expression})" if regex.flags & re.IGNORECASE else expression


def _compiled(expression: str) -> Any:
    options = re2.Options()
    options.max_mem = MEMORY_BYTES_MAX
    options.log_errors = False
    return re2.compile(expression, options)
