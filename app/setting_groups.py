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

    provider: Provider | None = Field(None, description="default: PROVIDER")
    model: str | None = Field(None, description="default: MODEL, where the provider is that of PROVIDER")
    small_model: str | None = Field(None, description="asked instead from CAPS__SMALL_MODEL_AT on; default: none")


class PoolSettings(_Group):
    min: int = Field(2, ge=0, le=1_000, description="connections kept open")
    max: int = Field(10, ge=1, le=1_000, description="connections at most, per process")
    connect_seconds: float = Field(10.0, gt=0, le=600, description="for a connection, then 503")
    statement_seconds: float = Field(30.0, gt=0, le=3_600, description="for one statement, then 503")
    prepared_statements: bool = Field(True, description="false behind PgBouncer < 1.21 in transaction mode")


ORIGINS = r"^(https?://[^/\s*,]+(,https?://[^/\s*,]+)*)?$"  # a key is no cookie, but "*" would open local mode


class HttpSettings(_Group):
    request_bytes_max: int = Field(8 * 1024 * 1024, ge=1_024, le=1024**3, description="a request's body; 413 over it")
    headers_max: int = Field(100, ge=10, le=10_000, description="a request's headers; 431 over it")
    head_bytes_max: int = Field(32 * 1024, ge=1_024, le=1024**2, description="its first line and headers; 431 over it")
    head_seconds: float = Field(
        10.0, gt=0, le=3_600, description="for a request's first line and headers to arrive; 408 after it"
    )
    body_seconds: float = Field(60.0, gt=0, le=3_600, description="for its body to arrive; 408 after it")
    keep_alive_seconds: int = Field(
        75,
        ge=1,
        le=3_600,
        description="an idle connection is kept for the next request; best longer than clients keep theirs",
    )
    connection_seconds: float = Field(
        60.0,
        gt=0,
        le=86_400,
        description="a connection is closed with an answer after half to all of this time, so that callers who keep"
        " theirs come to the other processes too",
    )
    linger_seconds: float = Field(
        0.25, ge=0, le=60, description="an idle connection is kept once the service is told to stop"
    )
    unread_seconds: float = Field(
        60.0,
        gt=0,
        le=3_600,
        description="for a client to read 65,536 bytes of its answer, or the rest of it; then the connection is closed",
    )
    connections_max: int = Field(
        2_000, ge=1, le=1_000_000, description="connections at once, per process; one more is closed"
    )
    requests_max: int = Field(1_000, ge=1, le=1_000_000, description="requests at once, per process; 503 over it")
    origins: str = Field(
        "",
        pattern=ORIGINS,
        description="origins of pages that may call from a browser (CORS): https://a.example, with commas; unset: none",
    )
    access_log: bool = Field(True, description="one line per request")

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
        description="for which a key is not looked up again; a revoked key still works for that long",
    )
    cached_max: int = Field(10_000, ge=1, le=1_000_000, description="keys remembered for that long, per process")
    used_seconds: float = Field(60.0, ge=1, le=86_400, description="how often the last use of each key is written")


class RateSettings(_Group):
    per_minute: int = Field(
        120_000, ge=0, le=1_000_000_000, description="requests of one key; 429 over it, 0: no limit; none in local mode"
    )
    redis_url: str | None = Field(
        None, description="redis://... in which all replicas count together; unset: each process its own"
    )


class RedactionSettings(_Group):
    tenants: str | None = Field(
        None,
        description="tenants, with commas, or *, whose texts lose secrets before they are stored or sent to a model;"
        " default: none",
    )
    hook: str | None = Field(
        None, description="package.module:function, text to text, called in addition to the patterns; default: none"
    )


class SessionSettings(_Group):
    messages_max: int = Field(100, ge=1, le=MESSAGES_MOST, description="messages per request")
    message_bytes_max: int = Field(1024 * 1024, ge=1_024, le=1024**3, description="one message as JSON; 413 over it")
    metadata_bytes_max: int = Field(
        16 * 1024, ge=1_024, le=1024**2, description="metadata of a session as JSON; 413 over it"
    )
    instruction_characters_max: int = Field(
        8_000,
        ge=0,
        le=INSTRUCTION_CHARACTERS_MOST,
        description="`instruction` of a session's or a resource's config; each call of a model has it",
    )
    looked_max: int = Field(
        10_000,
        ge=200,
        le=1_000_000,
        description="sessions, or messages of one, examined for one page of a filtered list; the next page goes on",
    )
    page_bytes_max: int = Field(
        8 * 1024 * 1024,
        ge=1_024,
        le=1024**3,
        description="of messages in one page of a list, which ends with the one that reaches it",
    )
    branch_messages_max: int = Field(
        200_000, ge=1, le=1_000_000_000, description="messages that a branch copies; 413 over it"
    )
    branch_artifact_bytes_max: int = Field(
        256 * 1024**2, ge=0, le=1024**4, description="bytes of artifacts that a branch copies; 413 over it"
    )
    ended_after: float = Field(
        86_400.0, ge=0, le=315_360_000, description="seconds without a message that end a session; 0: none do"
    )
    ended_look_seconds: float = Field(5.0, ge=0.05, le=3_600, description="how often to look for such sessions")
    ended_look_sessions: int = Field(500, ge=1, le=100_000, description="sessions looked at each time, all in turn")


class ArtifactSettings(_Group):
    bytes_max: int = Field(
        8 * 1024 * 1024,
        ge=1,
        le=512 * 1024**2,
        description="one artifact; 413 over it, and over HTTP__REQUEST_BYTES_MAX",
    )
    versions_max: int = Field(100, ge=1, le=100_000, description="versions of one artifact; 413 over it")
    session_max: int = Field(1_000, ge=1, le=100_000, description="versions of all artifacts of a session")
    grep_concurrency: int = Field(
        4, ge=1, le=256, description="artifacts searched at once, per process, half for one tenant; 503 after 30 s"
    )
    grep_seconds: float = Field(10.0, gt=0, le=3_600, description="for one such search; 422 after it")
    grep_line_characters_max: int = Field(
        500, ge=40, le=10_000, description="of a line that such a search shows; of a longer one the piece that matches"
    )
    url: str | None = Field(
        None, description="object store of the bytes: file:///..., s3://, gs://, az://; unset: the database"
    )
    store_concurrency: int = Field(
        16, ge=1, le=256, description="calls to the object store at once, per process; 503 after a wait of 30 s"
    )
    sweep_seconds: float = Field(
        3_600.0, ge=1, le=604_800, description="how often to look for objects that belong to no artifact"
    )
    orphan_seconds: float = Field(3_600.0, ge=1, le=604_800, description="age at which such an object is deleted")
    part_bytes_inline_max: int = Field(
        10_000, ge=4_096, le=1024**3, description="a message's part of more bytes is an artifact too"
    )
    inserted_bytes_max: int = Field(
        64 * 1024, ge=0, le=TEXT_CHARS_MOST, description="an artifact that a template inserts; 413 over it"
    )


class ContextSettings(_Group):
    previous_pieces_max: int = Field(
        1_000_000,
        ge=0,
        le=1_000_000_000,
        description="blocks and messages of earlier contexts remembered, per process (24 bytes each), to tell what the"
        " next one shares with the last; 0: it is not told",
    )
    answers_bytes_max: int = Field(
        64 * 1024 * 1024,
        ge=0,
        le=2**40,
        description="bytes of contexts kept, per process, to be answered again while nothing has changed; 0: none",
    )
    elsewhere_tokens: int = Field(
        2_000,
        ge=0,
        le=1_000_000,
        description="part of a context for what was said in other sessions that share the memory and is in no note yet",
    )
    system_characters_max: int = Field(
        8 * 1024 * 1024,
        ge=1,
        le=1024**3,
        description="all texts of a `system` together, with their values; 413 over it",
    )
    temp_values_max: int = Field(100, ge=0, le=LIST_MOST, description="`temp:` values of a context")
    knowledge_max: int = Field(100, ge=0, le=LIST_MOST, description="`knowledge` entries of a context")
    incoming_max: int = Field(100, ge=0, le=LIST_MOST, description="`incoming` messages of a context")


class RecallSettings(_Group):
    tokens: int = Field(1_500, ge=1, le=1_000_000, description="part of a context with `query=` for what is found")
    query_words_max: int = Field(
        64,
        ge=1,
        le=10_000,
        description="words of a query that are looked for; the first and last ones of a longer query",
    )
    candidates_max: int = Field(5_000, ge=1, le=1_000_000, description="messages that are ranked for one query")
    tail_max: int = Field(
        5_000, ge=1, le=1_000_000, description="messages not indexed yet that are searched for one query"
    )
    tail_tokens: int = Field(
        250_000,
        ge=1,
        le=1_000_000_000,
        description="tokens that those may have; older messages are found once they are indexed",
    )
    sessions_max: int = Field(1_000, ge=1, le=100_000, description="sessions of a resource searched, the newest")
    notes_max: int = Field(500, ge=0, le=100_000, description="observations searched, the newest")
    hit_characters_max: int = Field(
        8_000,
        ge=1,
        le=10_000_000,
        description="of the text of a hit; of a longer text its beginning is shown",
    )
    index_share: float = Field(
        0.03, gt=0, le=1, description="share of a process's time that indexing may take while messages are appended"
    )
    index_idle_share: float = Field(
        0.5, gt=0, le=1, description="share of it while none are, and always for what a search missed in the index"
    )
    index_batch: int = Field(100, ge=1, le=10_000, description="messages indexed in one step")
    index_batch_tokens: int = Field(
        25_000,
        ge=1,
        le=1_000_000_000,
        description="tokens that those may have, except for a single message that has more",
    )
    index_waiting_max: int = Field(
        1_000,
        ge=1,
        le=1_000_000,
        description="messages of a session after which it is indexed although it is not quiet",
    )
    index_quiet_seconds: float = Field(
        5.0, ge=0, le=86_400, description="for which a session has to be quiet to be indexed"
    )
    index_look_seconds: float = Field(1.0, ge=0.05, le=600, description="how often to look for messages to index")
    index_sweep: int = Field(500, ge=1, le=100_000, description="sessions looked at each time, for what was left")


class EmbeddingSettings(_Group):
    provider: EmbeddingProvider | None = Field(
        None, description="openai (any endpoint of OPENAI_BASE_URL), local or scripted; unset: recall is by words alone"
    )
    model: str | None = Field(
        None, description="default: the provider's; with another model all vectors are made again"
    )
    dimensions: int | None = Field(
        None,
        ge=1,
        le=16_000,
        description="numbers in a vector, if the model can make shorter ones; default: the model's",
    )
    query_prefix: str = Field("", description="put before a query, as the model was trained: 'query: ' for E5")
    passage_prefix: str = Field("", description="put before a message: 'passage: ' for E5")
    characters_max: int = Field(
        1_000, ge=1, le=100_000, description="of a message or a query, from its beginning, that are embedded"
    )
    batch: int = Field(32, ge=1, le=2_048, description="messages sent at once")
    timeout_seconds: float = Field(60.0, gt=0, le=3_600, description="for one such call")
    reply_bytes_max: int = Field(
        32 * 1024 * 1024,
        ge=1_024,
        le=1024**3,
        description="read of a reply, some 22 for each number of a vector; a longer reply has failed",
    )
    query_seconds: float = Field(
        1.0,
        gt=0,
        le=60,
        description="for the vector of a query, and before that for a place among the calls; then words alone",
    )
    concurrency: int = Field(8, ge=1, le=1_000, description="calls at once, per process")
    failures_max: int = Field(5, ge=1, le=1_000, description="failures in a row that stop calls for a while")
    open_seconds: float = Field(30.0, ge=0, le=3_600, description="how long they are stopped")
    share: float = Field(
        0.5, gt=0, le=1, description="share of the time that making vectors in the background may take"
    )
    look_seconds: float = Field(1.0, ge=0.05, le=600, description="how often to look for messages without a vector")
    sweep: int = Field(500, ge=1, le=100_000, description="sessions looked at each time, for what was left")
    searched_max: int = Field(
        10_000, ge=1, le=10_000_000, description="messages that a query is compared with, the newest"
    )


class StateSettings(_Group):
    value_bytes_max: int = Field(64 * 1024, ge=1, le=1024**3, description="one value as JSON; 413 over it")
    entries_max: int = Field(1_000, ge=1, le=100_000, description="values of one session, resource or tenant")
    scope_bytes_max: int = Field(1024 * 1024, ge=1, le=1024**3, description="their bytes together; 413 over it")
    lint_findings_max: int = Field(
        1_000, ge=1, le=100_000, description="findings listed for a template; the others are counted"
    )
    template_characters_max: int = Field(
        1024 * 1024,
        ge=1,
        le=TEXT_CHARS_MOST,
        description="a template, and what it becomes, or the text of a `knowledge` entry; 413 over it",
    )


class FactSettings(_Group):
    facts_max: int = Field(1_000, ge=1, le=100_000, description="facts of one resource, the past ones too; 413 over it")
    noted_max: int = Field(30, ge=1, le=1_000, description="facts noted from one reading of a session that has ended")
    text_characters_max: int = Field(2_000, ge=1, le=100_000, description="one fact; 413 over it")
    profile_tokens: int = Field(
        600, ge=0, le=100_000, description="part of a context for what was known before the session began; 0: nothing"
    )


class RetentionSettings(_Group):
    sweep_seconds: float = Field(
        60.0, ge=0.05, le=86_400, description="how often to look for what is too old by MEMORY__RETENTION"
    )
    sweep_sessions: int = Field(1_000, ge=1, le=1_000_000, description="sessions looked at each time")
    batch_messages: int = Field(1_000, ge=1, le=100_000, description="messages removed in one transaction")


class EngineSettings(_Group):
    concurrency: int = Field(4, ge=1, le=1_000, description="memories worked on at once, per process")
    lease_seconds: float = Field(
        30.0, ge=1, le=3_600, description="renewed while a step runs; a killed process's work is free again after it"
    )
    sweep_seconds: float = Field(1.0, ge=0.05, le=600, description="how often to look for work that is due")
    grace_seconds: float = Field(
        10.0, ge=0, le=3_600, description="for open requests, and then for a running step, when the service stops"
    )
    attempts_max: int = Field(
        8, ge=1, le=100, description="tries of a step before its memory is stalled, and tried every 10 minutes"
    )
    pending_messages_max: int = Field(
        2_000, ge=500, le=100_000, description="messages that one observation looks at; the next one goes on"
    )


class LlmSettings(_Group):
    timeout_seconds: float = Field(90.0, gt=0, le=3_600, description="for one call")
    reasoning_tokens: int = Field(4_000, ge=0, le=100_000, description="what a model may spend on thinking, per call")
    reply_bytes_max: int = Field(
        4 * 1024 * 1024, ge=1_024, le=1024**3, description="read of a reply; a longer one has failed"
    )
    concurrency: int = Field(4, ge=1, le=1_000, description="calls of one provider at once, per process")
    failures_max: int = Field(
        5, ge=1, le=1_000, description="failures in a row that stop calls to a provider for a while"
    )
    open_seconds: float = Field(30.0, ge=0, le=3_600, description="how long they are stopped")


class EventSettings(_Group):
    poll_seconds: float = Field(0.5, ge=0.05, le=60, description="how often a listener's memory is looked at")
    streams_max: int = Field(
        200, ge=0, le=100_000, description="listeners at once, per process, half of one tenant; 503 over it"
    )


class ExportSettings(_Group):
    concurrency: int = Field(
        4,
        ge=1,
        le=1_000,
        description="exports at once, per process, half for one tenant, each with a connection; 503 over it",
    )
    stall_seconds: float = Field(60.0, ge=1, le=3_600, description="an export that is not read for so long ends")


class CapsSettings(_Group):
    session_tokens_per_day: int | None = Field(
        None, ge=0, le=10**15, description="tokens of the models' calls for one session; 0: no cap"
    )
    session_usd_per_day: float | None = Field(
        None, ge=0, le=10**9, description="dollars those calls may cost; 0: no cap"
    )
    tenant_tokens_per_day: int | None = Field(
        None, ge=0, le=10**15, description="tokens of the models' calls for all sessions of a tenant; 0: no cap"
    )
    tenant_usd_per_day: float | None = Field(
        None, ge=0, le=10**9, description="dollars those calls may cost; 0: no cap"
    )
    small_model_at: float = Field(0.7, ge=0, le=1, description="share of a cap at which the SMALL_MODEL is asked")
    larger_batches_at: float = Field(
        0.85, ge=0, le=1, description="share of a cap from which on nothing is observed before block_after"
    )
