"""Embedders other than our own: a real server on this machine, and libraries that are not there."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from calm.errors import ConfigError, JudgeError
from calm.plugins.uda.comparisons import BATCH, Endpoint, HashedWords, SentenceTransformer, embedder


class Server(BaseHTTPRequestHandler):
    """Speaks the embeddings API: a vector of the text's length, rows in reverse; `odd` models misbehave."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        rows = [{"object": "embedding", "index": i, "embedding": [len(t), 1.0]} for i, t in enumerate(asked["input"])]
        if asked["model"] == "odd-few":
            rows = rows[1:]
        if asked["model"] == "odd-long":
            rows[0]["embedding"] += [1.0]
        status = 404 if asked["model"] == "odd-none" else 200
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        body = json.dumps({"object": "list", "model": "m", "data": rows[::-1], "usage": usage}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def server(monkeypatch):
    """A running server, its address, and what it was asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        running.asked = []
        thread = Thread(target=running.serve_forever)
        thread.start()
        yield running, f"http://127.0.0.1:{running.server_port}/v1"
        running.shutdown()
        thread.join()


def test_a_server_is_asked_in_batches_and_its_rows_put_in_order(server):
    """Rows come back by index, whatever their order; many texts are several requests."""
    running, url = server
    texts = ["x" * (i + 1) for i in range(BATCH + 3)]

    found = embedder("openai:m", base_url=url)(texts)

    assert found[:, 0].tolist() == [len(text) for text in texts]
    assert [len(asked["input"]) for asked in running.asked] == [BATCH, 3]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("odd-few", "expected 2 embeddings from openai:odd-few, got 1"),
        ("odd-long", "expected embeddings of one length from openai:odd-long"),
        ("odd-none", "expected embeddings from openai:odd-none, got:"),
    ],
)
def test_a_server_that_misbehaves_is_one_clear_error(server, model, told):
    """Rows that are missing or of several lengths, and an error of the server, name the embedder."""
    with pytest.raises(JudgeError, match=told):
        Endpoint(model, server[1])(["a", "b"])


def test_without_a_key_the_wiring_is_named(monkeypatch):
    """A client that cannot be made is an error of configuration."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    with pytest.raises(ConfigError, match="expected a client for openai:m"):
        Endpoint("m", "http://127.0.0.1:9/v1")(["a"])


def test_a_library_that_is_not_there_is_named_with_the_way_out(monkeypatch):
    """sentence-transformers is optional; without it the message says what to install and what else there is."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    with pytest.raises(ConfigError, match=r"pip install sentence-transformers`, or use hashed:64"):
        SentenceTransformer("any")(["a"])


def test_a_specification_of_nothing_is_refused(subtests):
    """An unknown or incomplete embedder is one clear error; `hashed:` alone is the default."""
    for text in ["", "hashed:", "hashed:0", "hashed:-1", "hashed:1e3", "hashed:99999", "openai:", "word2vec:x"]:
        with subtests.test(text=text):
            if text == "hashed:":
                assert embedder(text) == HashedWords()
                return

            with pytest.raises(ConfigError, match="expected"):
                embedder(text)
