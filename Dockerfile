# The hub in a container, for Docker and Podman: docs/container.md.
ARG BASE=docker.io/library/python:3.13-slim-trixie

FROM ${BASE} AS build
# Of pyproject.toml: what integrations need. Nothing can be installed later, because the image is read-only.
ARG EXTRAS="apprise calendar docker email embeddings esphome matrix mcp mdns mobile-app mqtt push telegram web whoosh"
WORKDIR /opt/homarus
COPY . .
RUN script/setup --add ${EXTRAS} \
    && .venv/bin/uv pip uninstall --quiet --python .venv/bin/python --requirement script/setup-requirements.txt

FROM ${BASE}
# Debian packages that agents or integrations are to have, such as "chromium ffmpeg git".
ARG PACKAGES=""
RUN if [ -n "${PACKAGES}" ]; then \
        apt-get update && apt-get install --yes --no-install-recommends ${PACKAGES} && rm -rf /var/lib/apt/lists/*; \
    fi \
    && groupadd --gid 1000 homarus \
    && useradd --uid 1000 --gid 1000 --no-create-home --home-dir /config homarus \
    && install --directory --owner=homarus --group=homarus --mode=0700 /config
COPY --from=build /opt/homarus /opt/homarus
ENV PATH=/opt/homarus/.venv/bin:$PATH HOMARUS_CONFIG=/config XDG_CACHE_HOME=/tmp/cache
USER 1000:1000
WORKDIR /config
VOLUME /config
EXPOSE 18789
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["python3", "/opt/homarus/script/healthcheck"]
ENTRYPOINT ["homarus"]
# The engine alone decides who reaches the port: see --publish, and `network_mode: host` in docs/container.md.
CMD ["start", "--host", "0.0.0.0"]
