"""Requests as they are stored: keys and texts that caches hold already stay what they are."""

import json
from hashlib import sha256

from calm.engine.calls import prepared
from calm.engine.servers import Servers
from calm.engine.store import reply_in, reply_text, request_text, storable
from calm.models.wire import Message, Reply, Request, Token, Usage
from tests.planted import Local

ODD = 'Größe "中" \\ \x00 \u2028 \ud800 😀 </a>'
PROMPT = (Message("system", "You judge."), Message("user", ODD))


def test_a_key_is_that_of_endpoint_model_body_and_repeat_index(subtests):
    """The bytes under the digest are written out here, so that a faster way to them cannot be another one."""
    body = {"model": "m", "messages": [{"role": "user", "content": ODD}], "t": 0.0, "n": None, "on": True}
    sent = json.dumps(body, separators=(",", ":"))
    for series, more in (("", ""), ("s 1", ',"s 1"')):
        with subtests.test(series=series):
            request = Request(Local(identity='at "x"'), PROMPT, body)
            found = prepared(request, Servers({'at "x"': "m-é"}), series)
            expected = '["at \\"x\\"","m-\\u00e9"' + more + "," + sent + ",3]"

            assert found.sent.text == sent
            assert found.key(3) == sha256(expected.encode()).digest()


def test_what_is_stored_is_the_json_that_it_was():
    """Prompt, body and reply: what `json.dumps` writes."""
    tokens = (Token("a", -0.5, (("a", -0.5), ("b", -1.0))),)
    for reply in (Reply(ODD, model="m", usage=Usage(1, None)), Reply("", refusal=ODD, tokens=tokens, retries=2)):
        alternatives = [
            {"text": t.text, "logprob": t.logprob, "alternatives": [list(a) for a in t.alternatives]} for t in tokens
        ]
        expected = {
            "text": reply.text,
            "model": reply.model,
            "stop": reply.stop,
            "refusal": reply.refusal,
            "tokens": alternatives if reply.tokens else None,
            "usage": {"input": reply.usage.input, "output": reply.usage.output},
            "retries": reply.retries,
        }
        assert reply_text(reply) == storable(json.dumps(expected, ensure_ascii=False))
        assert reply_in(reply_text(reply)).usage == reply.usage
    messages = json.dumps([["system", "You judge."], ["user", ODD]], ensure_ascii=False)
    assert request_text(PROMPT, "{}") == storable('{"prompt": ' + messages + ', "body": {}}')
