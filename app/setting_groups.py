"""The groups of settings, one for each part of the service: their fields with defaults, bounds and descriptions."""

from pydantic import BaseModel, ConfigDict, Field

from app.llm.embedding import EmbeddingProvider
from app.llm.port import Provider
from app.memory.rules import INSTRUCTION_CHARACTERS_MOST
from app.sessions.model import MESSAGES_MOST
from app.state.templates import LIST_MOST, TEXT_CHARS_MOST


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(_Group):
    """Settings of the observer or the reflector; those not given are the service's."""

    provider: Provider | None = Field(None, description="provider of this role's model; default: PROVIDER")
    model: str | None = Field(
        None, description="model of this role; default: MODEL if this role uses PROVIDER, else the provider's default"
    )
    small_model: str | None = Field(
        None, description="cheaper model used once spending reaches CAPS__SMALL_MODEL_AT; default: none"
    )


class PoolSettings(_Group):
    min: int = Field(2, ge=0, le=1_000, description="connections kept open, per process")
    max: int = Field(10, ge=1, le=1_000, description="maximum number of connections, per process")
    connect_seconds: float = Field(10.0, gt=0, le=600, description="seconds to wait for a connection; then 503")
    statement_seconds: float = Field(
        30.0, gt=0, le=3_600, description="time limit of one SQL statement in seconds; then 503"
    )
    prepared_statements: bool = Field(
        True, description="use prepared statements; set to false behind PgBouncer < 1.21 in transaction mode"
    )


ORIGINS = r"^(https?://[^/\s*,]+(,https?://[^/\s*,]+)*)?$"  # a key is no cookie, but "*" would open local mode


class HttpSettings(_Group):
    request_bytes_max: int = Field(
        8 * 1024 * 1024, ge=1_024, le=1024**3, description="maximum size of a request body in bytes; 413 above it"
    )
    headers_max: int = Field(100, ge=10, le=10_000, description="maximum number of headers in a request; 431 above it")
    head_bytes_max: int = Field(
        32 * 1024,
        ge=1_024,
        le=1024**2,
        description="maximum size of a request line and its headers in bytes; 431 above it",
    )
    head_seconds: float = Field(
        10.0, gt=0, le=3_600, description="seconds for the request line and headers to arrive; then 408"
    )
    body_seconds: float = Field(60.0, gt=0, le=3_600, description="seconds for the request body to arrive; then 408")
    keep_alive_seconds: int = Field(
        75,
        ge=1,
        le=3_600,
        description="seconds that an idle connection is kept open for the next request; best longer than the"
        " clients' own keep-alive",
    )
    connection_seconds: float = Field(
        60.0,
        gt=0,
        le=86_400,
        description="age in seconds at which a connection is closed after a response, randomly shortened by up to"
        " half; spreads long-lived clients over all processes",
    )
    linger_seconds: float = Field(
        0.25, ge=0, le=60, description="seconds that idle connections stay open after the service is told to stop"
    )
    unread_seconds: float = Field(
        60.0,
        gt=0,
        le=3_600,
        description="seconds for a client to read 65,536 bytes of a response, or the rest of it; then the"
        " connection is closed",
    )
    connections_max: int = Field(
        2_000,
        ge=1,
        le=1_000_000,
        description="maximum number of open connections, per process; further ones are closed",
    )
    requests_max: int = Field(
        1_000, ge=1, le=1_000_000, description="maximum number of concurrent requests, per process; 503 above it"
    )
    origins: str = Field(
        "",
        pattern=ORIGINS,
        description="comma-separated origins of web pages that may call the API from a browser (CORS), such as"
        " https://a.example; unset: none",
    )
    access_log: bool = Field(True, description="log one line per request")

    @property
    def origin_list(self) -> list[str]:
        """The origins as browsers send them: in lower case, without the scheme's default port (RFC 6454, 6.2)."""
        return [_as_sent(origin) for origin in self.origins.lower().split(",")] if self.origins else []


def _as_sent(origin: str) -> str:
    return origin.removesuffix(":443" if origin.startswith("https:") else ":80")


class KeySettings(_Group):
    cache_seconds: float = Field(
        10.0,
        ge=0,
        le=3_600,
        description="seconds that a key is cached after a lookup; a revoked key still works for that long",
    )
    cached_max: int = Field(10_000, ge=1, le=1_000_000, description="maximum number of cached keys, per process")
    used_seconds: float = Field(
        60.0, ge=1, le=86_400, description="seconds between writes of each key's time of last use"
    )


class RateSettings(_Group):
    per_minute: int = Field(
        120_000,
        ge=0,
        le=1_000_000_000,
        description="requests per minute allowed to one key; 429 above it; 0: no limit; local mode has no limit",
    )
    redis_url: str | None = Field(
        None,
        description="redis://... URL of the Redis in which all processes share one count per key; unset: each"
        " process counts alone",
    )


class RedactionSettings(_Group):
    tenants: str | None = Field(
        None,
        description="comma-separated tenants, or * for all, whose texts have secrets removed before they are"
        " stored or sent to a model; default: none",
    )
    hook: str | None = Field(
        None,
        description="package.module:function from text to text, applied in addition to the built-in patterns;"
        " default: none",
    )


class SessionSettings(_Group):
    messages_max: int = Field(100, ge=1, le=MESSAGES_MOST, description="maximum number of messages per request")
    message_bytes_max: int = Field(
        1024 * 1024, ge=1_024, le=1024**3, description="maximum size of one message as JSON, in bytes; 413 above it"
    )
    metadata_bytes_max: int = Field(
        16 * 1024,
        ge=1_024,
        le=1024**2,
        description="maximum size of the metadata of a session or resource as JSON, in bytes; 413 above it",
    )
    instruction_characters_max: int = Field(
        8_000,
        ge=0,
        le=INSTRUCTION_CHARACTERS_MOST,
        description="maximum characters of `instruction` in the config of a session or resource; every model call"
        " includes it",
    )
    looked_max: int = Field(
        10_000,
        ge=200,
        le=1_000_000,
        description="maximum number of sessions, or messages of one session, examined for one page of a filtered"
        " list; the next page continues there",
    )
    page_bytes_max: int = Field(
        8 * 1024 * 1024,
        ge=1_024,
        le=1024**3,
        description="bytes of messages at which a page ends; the message that reaches it is the last of the page",
    )
    branch_messages_max: int = Field(
        200_000, ge=1, le=1_000_000_000, description="maximum number of messages that a branch copies; 413 above it"
    )
    branch_artifact_bytes_max: int = Field(
        256 * 1024**2, ge=0, le=1024**4, description="maximum bytes of artifacts that a branch copies; 413 above it"
    )
    ended_after: float = Field(
        86_400.0,
        ge=0,
        le=315_360_000,
        description="seconds without a message after which a session counts as ended; 0: never",
    )
    ended_look_seconds: float = Field(
        5.0, ge=0.05, le=3_600, description="seconds between checks for sessions that have ended"
    )
    ended_look_sessions: int = Field(
        500, ge=1, le=100_000, description="sessions examined per check; successive checks take all in turn"
    )


class ArtifactSettings(_Group):
    bytes_max: int = Field(
        8 * 1024 * 1024,
        ge=1,
        le=512 * 1024**2,
        description="maximum size of one artifact in bytes; 413 above it, and above HTTP__REQUEST_BYTES_MAX",
    )
    versions_max: int = Field(
        100, ge=1, le=100_000, description="maximum number of versions of one artifact; 413 above it"
    )
    session_max: int = Field(
        1_000, ge=1, le=100_000, description="maximum number of versions of all artifacts of a session together"
    )
    grep_concurrency: int = Field(
        4,
        ge=1,
        le=256,
        description="maximum number of concurrent artifact searches, per process, half of them for one tenant;"
        " 503 after 30 s of waiting",
    )
    grep_seconds: float = Field(
        10.0, gt=0, le=3_600, description="time limit of one artifact search in seconds; then 422"
    )
    grep_line_characters_max: int = Field(
        500,
        ge=40,
        le=10_000,
        description="maximum characters shown of a matching line; a longer line is cut to the piece around the match",
    )
    url: str | None = Field(
        None, description="object store for artifact bytes: file:///..., s3://, gs://, az://; unset: the database"
    )
    store_concurrency: int = Field(
        16,
        ge=1,
        le=256,
        description="maximum number of concurrent calls to the object store, per process; 503 after 30 s of waiting",
    )
    sweep_seconds: float = Field(
        3_600.0, ge=1, le=604_800, description="seconds between sweeps for objects that belong to no artifact"
    )
    orphan_seconds: float = Field(
        3_600.0, ge=1, le=604_800, description="age in seconds at which a sweep deletes such an object"
    )
    part_bytes_inline_max: int = Field(
        10_000,
        ge=4_096,
        le=1024**3,
        description="size in bytes above which a part of a message can also be read as an artifact",
    )
    inserted_bytes_max: int = Field(
        64 * 1024,
        ge=0,
        le=TEXT_CHARS_MOST,
        description="maximum size in bytes of an artifact inserted into a template; 413 above it",
    )


class ContextSettings(_Group):
    previous_pieces_max: int = Field(
        1_000_000,
        ge=0,
        le=1_000_000_000,
        description="maximum number of blocks and messages of earlier contexts remembered, per process (24 bytes"
        " each), to report what the next context shares with the last; 0: not reported",
    )
    answers_bytes_max: int = Field(
        64 * 1024 * 1024,
        ge=0,
        le=2**40,
        description="bytes of compiled contexts cached, per process, and reused while nothing has changed; 0: no cache",
    )
    elsewhere_tokens: int = Field(
        2_000,
        ge=0,
        le=1_000_000,
        description="token budget in a context for unobserved messages of other sessions that share the memory",
    )
    system_characters_max: int = Field(
        8 * 1024 * 1024,
        ge=1,
        le=1024**3,
        description="maximum characters of all `system` texts of a context together, with their values inserted;"
        " 413 above it",
    )
    temp_values_max: int = Field(
        100, ge=0, le=LIST_MOST, description="maximum number of `temp:` values in a context request"
    )
    knowledge_max: int = Field(
        100, ge=0, le=LIST_MOST, description="maximum number of `knowledge` entries in a context request"
    )
    incoming_max: int = Field(
        100, ge=0, le=LIST_MOST, description="maximum number of `incoming` messages in a context request"
    )


class RecallSettings(_Group):
    tokens: int = Field(1_500, ge=1, le=1_000_000, description="token budget for what `query=` recalls into a context")
    query_words_max: int = Field(
        64,
        ge=1,
        le=10_000,
        description="maximum number of words of a query that are searched; of a longer query, its first and last words",
    )
    candidates_max: int = Field(5_000, ge=1, le=1_000_000, description="maximum number of messages ranked per query")
    tail_max: int = Field(
        5_000, ge=1, le=1_000_000, description="maximum number of unindexed messages searched per query"
    )
    tail_tokens: int = Field(
        250_000,
        ge=1,
        le=1_000_000_000,
        description="maximum tokens of those messages together; older ones are found once they are indexed",
    )
    sessions_max: int = Field(
        1_000, ge=1, le=100_000, description="maximum number of sessions of a resource searched, newest first"
    )
    notes_max: int = Field(500, ge=0, le=100_000, description="maximum number of observations searched, newest first")
    hit_characters_max: int = Field(
        8_000,
        ge=1,
        le=10_000_000,
        description="maximum characters of a hit's text; of a longer text, its beginning",
    )
    index_share: float = Field(
        0.03, gt=0, le=1, description="share of a process's time that indexing may take while messages are appended"
    )
    index_idle_share: float = Field(
        0.5,
        gt=0,
        le=1,
        description="share of a process's time that indexing may take while none are appended, and always for"
        " messages that a search missed in the index",
    )
    index_batch: int = Field(100, ge=1, le=10_000, description="messages indexed in one step")
    index_batch_tokens: int = Field(
        25_000,
        ge=1,
        le=1_000_000_000,
        description="maximum tokens of those messages together; a single message may have more",
    )
    index_waiting_max: int = Field(
        1_000,
        ge=1,
        le=1_000_000,
        description="number of unindexed messages at which a session is indexed although it is active",
    )
    index_quiet_seconds: float = Field(
        5.0, ge=0, le=86_400, description="seconds without a message after which a session is indexed"
    )
    index_look_seconds: float = Field(1.0, ge=0.05, le=600, description="seconds between checks for messages to index")
    index_sweep: int = Field(
        500, ge=1, le=100_000, description="sessions examined per check for messages left unindexed"
    )


class EmbeddingSettings(_Group):
    provider: EmbeddingProvider | None = Field(
        None,
        description="openai (or any endpoint at OPENAI_BASE_URL), local or scripted; unset: recall searches by"
        " words alone",
    )
    model: str | None = Field(
        None, description="embedding model; default: the provider's; a change of model makes all vectors again"
    )
    dimensions: int | None = Field(
        None,
        ge=1,
        le=16_000,
        description="dimensions of a vector, if the model can shorten them; default: the model's",
    )
    query_prefix: str = Field("", description="prefix that the model expects before a query: 'query: ' for E5")
    passage_prefix: str = Field("", description="prefix that the model expects before a message: 'passage: ' for E5")
    characters_max: int = Field(
        1_000,
        ge=1,
        le=100_000,
        description="maximum characters of a message or query that are embedded, from its beginning",
    )
    batch: int = Field(32, ge=1, le=2_048, description="messages per embedding call")
    timeout_seconds: float = Field(60.0, gt=0, le=3_600, description="time limit of one embedding call in seconds")
    reply_bytes_max: int = Field(
        32 * 1024 * 1024,
        ge=1_024,
        le=1024**3,
        description="maximum size of a reply in bytes (about 22 per number of a vector); a longer reply counts as"
        " a failure",
    )
    query_seconds: float = Field(
        1.0,
        gt=0,
        le=60,
        description="seconds to wait for a query's vector, and before that for a free call slot; then the query"
        " searches by words alone",
    )
    concurrency: int = Field(8, ge=1, le=1_000, description="maximum number of concurrent embedding calls, per process")
    failures_max: int = Field(
        5, ge=1, le=1_000, description="consecutive failures that open the circuit and stop calls for OPEN_SECONDS"
    )
    open_seconds: float = Field(30.0, ge=0, le=3_600, description="seconds for which an open circuit stops calls")
    share: float = Field(0.5, gt=0, le=1, description="share of the time that embedding in the background may take")
    look_seconds: float = Field(
        1.0, ge=0.05, le=600, description="seconds between checks for messages without a vector"
    )
    sweep: int = Field(
        500, ge=1, le=100_000, description="sessions examined per check for messages left without a vector"
    )
    searched_max: int = Field(
        10_000, ge=1, le=10_000_000, description="maximum number of messages compared with a query, newest first"
    )


class StateSettings(_Group):
    value_bytes_max: int = Field(
        64 * 1024, ge=1, le=1024**3, description="maximum size of one value as JSON, in bytes; 413 above it"
    )
    entries_max: int = Field(
        1_000, ge=1, le=100_000, description="maximum number of values of one session, resource or tenant"
    )
    scope_bytes_max: int = Field(
        1024 * 1024, ge=1, le=1024**3, description="maximum bytes of those values together; 413 above it"
    )
    lint_findings_max: int = Field(
        1_000,
        ge=1,
        le=100_000,
        description="maximum number of findings listed for a template; further ones are only counted",
    )
    template_characters_max: int = Field(
        1024 * 1024,
        ge=1,
        le=TEXT_CHARS_MOST,
        description="maximum characters of a template, of its rendered text, or of a `knowledge` text; 413 above it",
    )


class FactSettings(_Group):
    facts_max: int = Field(
        1_000, ge=1, le=100_000, description="maximum number of facts of one resource, past ones included; 413 above it"
    )
    noted_max: int = Field(
        30, ge=1, le=1_000, description="maximum number of facts extracted from one reading of an ended session"
    )
    text_characters_max: int = Field(
        2_000, ge=1, le=100_000, description="maximum characters of one fact; 413 above it"
    )
    profile_tokens: int = Field(
        600, ge=0, le=100_000, description="token budget in a context for facts known before the session began; 0: none"
    )


class RetentionSettings(_Group):
    sweep_seconds: float = Field(
        60.0, ge=0.05, le=86_400, description="seconds between sweeps for messages older than MEMORY__RETENTION allows"
    )
    sweep_sessions: int = Field(1_000, ge=1, le=1_000_000, description="sessions examined per sweep")
    batch_messages: int = Field(1_000, ge=1, le=100_000, description="messages removed per transaction")


class EngineSettings(_Group):
    concurrency: int = Field(4, ge=1, le=1_000, description="maximum number of memories worked on at once, per process")
    lease_seconds: float = Field(
        30.0,
        ge=1,
        le=3_600,
        description="lifetime of a lease in seconds; renewed while a step runs, and after a crash the work is"
        " free again once it expires",
    )
    sweep_seconds: float = Field(1.0, ge=0.05, le=600, description="seconds between checks for due work")
    grace_seconds: float = Field(
        10.0,
        ge=0,
        le=3_600,
        description="seconds, at shutdown, for open requests to finish, and then again for a running step",
    )
    attempts_max: int = Field(
        8,
        ge=1,
        le=100,
        description="consecutive failures of a step after which its memory is stalled: retried every 10 minutes only",
    )
    pending_messages_max: int = Field(
        2_000,
        ge=500,
        le=100_000,
        description="maximum number of messages that one observation step reads; the next step continues",
    )


class LlmSettings(_Group):
    timeout_seconds: float = Field(90.0, gt=0, le=3_600, description="time limit of one model call in seconds")
    reasoning_tokens: int = Field(
        4_000, ge=0, le=100_000, description="tokens that a model may spend on reasoning, per call"
    )
    reply_bytes_max: int = Field(
        4 * 1024 * 1024,
        ge=1_024,
        le=1024**3,
        description="maximum size of a reply in bytes; a longer reply counts as a failure",
    )
    concurrency: int = Field(
        4, ge=1, le=1_000, description="maximum number of concurrent calls to one provider, per process"
    )
    failures_max: int = Field(
        5,
        ge=1,
        le=1_000,
        description="consecutive failures that open the circuit and stop calls to a provider for OPEN_SECONDS",
    )
    open_seconds: float = Field(30.0, ge=0, le=3_600, description="seconds for which an open circuit stops calls")


class EventSettings(_Group):
    poll_seconds: float = Field(0.5, ge=0.05, le=60, description="seconds between polls for the events of a stream")
    streams_max: int = Field(
        200,
        ge=0,
        le=100_000,
        description="maximum number of open streams, per process, half of them for one tenant; 503 above it",
    )


class ExportSettings(_Group):
    concurrency: int = Field(
        4,
        ge=1,
        le=1_000,
        description="maximum number of concurrent exports, per process, half of them for one tenant; each holds a"
        " connection; 503 above it",
    )
    stall_seconds: float = Field(
        60.0, ge=1, le=3_600, description="seconds after which an export that its client does not read is ended"
    )


class CapsSettings(_Group):
    session_tokens_per_day: int | None = Field(
        None, ge=0, le=10**15, description="maximum tokens of model calls per session and UTC day; unset or 0: no cap"
    )
    session_usd_per_day: float | None = Field(
        None,
        ge=0,
        le=10**9,
        description="maximum US dollars of model calls per session and UTC day; unset or 0: no cap",
    )
    tenant_tokens_per_day: int | None = Field(
        None, ge=0, le=10**15, description="maximum tokens of model calls per tenant and UTC day; unset or 0: no cap"
    )
    tenant_usd_per_day: float | None = Field(
        None, ge=0, le=10**9, description="maximum US dollars of model calls per tenant and UTC day; unset or 0: no cap"
    )
    small_model_at: float = Field(0.7, ge=0, le=1, description="share of a cap from which the SMALL_MODEL is called")
    larger_batches_at: float = Field(
        0.85, ge=0, le=1, description="share of a cap from which nothing is observed before block_after"
    )
