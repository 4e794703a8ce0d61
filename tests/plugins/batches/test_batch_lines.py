"""Lines of replies, in the forms that engines give them."""

import pytest

from calm.errors import JudgeError
from calm.models.server import Server

SAID = "the context is longer than that of the model"


@pytest.mark.parametrize(
    "line",
    [
        {"response": {"status_code": 400, "body": {"error": {"message": SAID}}}, "error": None},
        {"response": {"status_code": 400, "body": None}, "error": {"error": {"message": SAID, "code": 400}}},
        {"response": {"status_code": 400, "body": None}, "error": {"message": SAID}},
        {"response": {"status_code": 400, "body": None}, "error": SAID},
        {"response": None, "error": {"code": "no_reply", "message": SAID}},
    ],
    ids=["openai", "vllm", "flat", "text", "no response"],
)
def test_what_an_engine_says_is_wrong_is_told(line):
    """In the body, as OpenAI does, or beside the response, as vLLM does."""
    found = Server("openai", "tiny", base_url="http://127.0.0.1:9/v1").answer(line)

    assert isinstance(found, JudgeError)
    assert SAID in str(found)
