# calm in a small image: docker run --rm -v "$PWD:/work" -e OPENAI_API_KEY calm audit judge.toml --cases cases.jsonl
FROM python:3.13.5-slim-bookworm AS build
COPY . /source
RUN python -m venv /opt/calm \
    && /opt/calm/bin/pip install --no-cache-dir --no-compile /source

FROM python:3.13.5-slim-bookworm
LABEL org.opencontainers.image.title="calm" \
    org.opencontainers.image.description="A regression gate for LLM judges" \
    org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/calm /opt/calm
RUN useradd --uid 1000 --create-home calm && install --directory --owner=calm /work
ENV PATH=/opt/calm/bin:$PATH PYTHONUNBUFFERED=1
USER 1000
WORKDIR /work
ENTRYPOINT ["calm"]
CMD ["--help"]
