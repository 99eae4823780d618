FROM python:3.13-slim AS build
WORKDIR /daybook
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_NO_CACHE=1 UV_PYTHON_DOWNLOADS=never
COPY requirements-build.lock requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements-build.lock \
    && uv venv .venv \
    && uv pip install --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY migrations migrations
RUN uv pip install --no-deps --build-constraints requirements-build.lock -e .
# The extras of pyproject.toml to build in, such as objects,redis: they are in no lock.
ARG EXTRAS=
RUN [ -z "$EXTRAS" ] || uv pip install --build-constraints requirements-build.lock -e ".[$EXTRAS]"

FROM python:3.13-slim
# Other addresses than loopback are served only with a key: run it with DAYBOOK_BOOTSTRAP_KEY set, or it refuses to
# start. Without DAYBOOK_DATABASE_URL it keeps its own database in the volume.
ENV PATH=/daybook/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DAYBOOK_HOST=0.0.0.0 \
    DAYBOOK_PORT=8000 \
    DAYBOOK_DATA_DIR=/var/lib/daybook
RUN useradd --system --uid 10001 --no-create-home daybook \
    && install --directory --owner daybook --mode 0750 /var/lib/daybook
COPY --from=build /daybook /daybook
WORKDIR /daybook
USER daybook
VOLUME /var/lib/daybook
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open(f'http://127.0.0.1:{os.environ[\"DAYBOOK_PORT\"]}/readyz', timeout=4)"]
CMD ["daybook", "serve"]
