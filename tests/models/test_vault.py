"""The credentials of a process are in none of its texts, in whatever form, and honest texts stay readable."""

import base64
import html
import json
import logging
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.models import secrets
from calm.models.secrets import Secrets, hidden, hidden_where_cut, keep, learn, worth_hiding
from calm.models.server import Server, literal_secrets

FORMS = {
    "plain": str,
    "json": json.dumps,
    "json in json": lambda text: json.dumps(json.dumps({"error": text})),
    "repr": repr,
    "url": lambda text: quote(text, safe=""),
    "url, path": quote,
    "url, query": quote_plus,
    "html": html.escape,
    "xml": escape,
    "xml attribute": quoteattr,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of a pair": lambda text: base64.b64encode(f"joe:{text}".encode()).decode(),
    "base64 inside of more": lambda text: base64.b64encode(f"Bearer {text}\r\nx".encode()).decode(),
    "url-safe base64": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
}
TOKENS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=40).filter(
    lambda text: worth_hiding(text) and secrets.HIDDEN not in text
)


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """Each test knows its own credentials."""
    monkeypatch.setattr(secrets, "_known", {})
    secrets._forms_of_all.cache_clear()
    secrets._pieces.cache_clear()
    yield
    secrets._forms_of_all.cache_clear()
    secrets._pieces.cache_clear()


def left(text, token):
    """Return the forms in which a text still holds a token."""
    return [name for name, form in FORMS.items() if form(token).strip("\"'=")[2:-2] in text]


@given(token=TOKENS, scheme=st.sampled_from(["", "Bearer ", "Token ", "bearer  "]))
@settings(max_examples=150, deadline=None)
def test_no_form_of_a_credential_is_left(token, scheme):
    """A token is known without its scheme, and found however an output writes it."""
    secrets._known.clear()
    secrets._forms_of_all.cache_clear()
    keep([f"{scheme}{token}"])

    for name, form in FORMS.items():
        shown = hidden(f"before {form(token)} after")
        assert shown.startswith("before "), name
        assert shown.endswith(" after"), name
        assert not left(shown, token), (name, shown)


@pytest.mark.parametrize("password", ["p@ss/w0rd:x", "p%40ss%2Fw0rd", "correcthorsebattery", 'q"uo\\te<d&'])
def test_the_password_of_a_proxy_is_known(password):
    """As it is written in the variable, as it is meant, as a pair, and as the header that a client makes of it."""
    learn({"HTTPS_PROXY": f"http://joe:{quote(password, safe='%')}@proxy.example:3128"})

    pair = base64.b64encode(f"joe:{password}".encode()).decode()
    for text in (password, quote(password, safe=""), f"Proxy-Authorization: Basic {pair}"):
        assert not left(hidden(f"no route: {text}"), password)
    assert hidden("http://proxy.example:3128") == "http://proxy.example:3128"


def test_the_pair_of_a_basic_header_is_taken_apart():
    """The password of the pair is a credential, too."""
    keep(["Basic " + base64.b64encode(b"joe:s3cret-of-joe").decode()])

    assert hidden("the password s3cret-of-joe") == "the password [secret]"


def test_variables_that_say_so_are_known(monkeypatch):
    """A judge of Python code may use a key by itself, and its library may quote it."""
    learn({"OPENAI_API_KEY": "k-0123456789", "DB_PASSWORD": "tr0ub4dor", "KEYBOARD": "us-intl-1"})
    learn({"TOKEN_FILE": "/run/t0", "UPSTREAM": "Bearer up-9876543210"})
    assert (
        hidden("k-0123456789 tr0ub4dor up-9876543210 us-intl-1 /run/t0")
        == "[secret] [secret] [secret] us-intl-1 /run/t0"
    )


@pytest.mark.parametrize("key", ["a", "x1", "EMPTY", "none", "results", "judge", "123456", "lm-studio", "not-needed"])
def test_a_short_key_does_not_turn_a_report_into_stars(key):
    """It cannot be told from honest text, so it is not looked for; a server that wants such a key guards nothing."""
    report = '{"schema": "calm-results/2", "judge": "a", "results": [123456, "EMPTY", "none"]} lm-studio, not-needed'
    Secrets(key)

    assert hidden(report) == report


def test_what_a_shortened_quotation_leaves_of_a_credential_goes(subtests):
    """pytest cuts the middle out of long values: the ends of a key are left at the cut."""
    key = "sk-proj-0123456789abcdefghij"
    keep([key])

    for size in range(6, len(key)):
        with subtests.test(size):
            shown = hidden_where_cut(f"headers={{'a': '{key[:size]}...{key[-size:]}'}} and so on...")
            assert shown == "headers={'a': '[secret]...[secret]'} and so on..."


def test_many_credentials_and_a_long_text_take_no_long_time():
    """Each form is looked for once: a text of a million signs with 125,000 cuts ends at once."""
    keep(f"sk-{number:020}-key" for number in range(20))
    text = "word... " * 125_000

    assert hidden_where_cut(text) == text


def test_no_log_record_holds_a_credential(caplog):
    """Also at DEBUG, in arguments, and in the exception that is logged with it."""
    Secrets("sk-logged-0123456789", {"X": "Bearer tok-logged-987654"})

    with caplog.at_level(logging.DEBUG):
        logging.getLogger("httpx").debug("POST %s %r", "https://h/?k=sk-logged-0123456789", {"a": "tok-logged-987654"})
        try:
            raise RuntimeError("no route to sk-logged-0123456789")
        except RuntimeError:
            logging.getLogger("openai").exception("failed")
        logging.getLogger("x").debug("kept %s", 1)

    assert "kept 1" in caplog.text
    assert caplog.text.count("[secret]") >= 3
    assert "logged-" not in caplog.text


SECRET = [
    ("headers", {"Authorization": "x"}),
    ("headers", {"X-Goog-Api-Key": "abc"}),
    ("headers", {"cookie": "s=1"}),
    ("headers", {"X-Team": "Bearer abcdefgh"}),
    ("headers", {"X-Route": "hf_abcdefghijklmnop"}),
    ("headers", {"X-Route": "9f8a7c6b5e4d3f2a1b0c9d8e7f6a5b4c"}),
    ("query", {"api_key": "y"}),
    ("query", {"key": "y"}),
    ("query", {"code": "y"}),
    ("query", {"sessionToken": "y"}),
    ("query", {"route": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0"}),
    ("extra_body", {"api_key": "abcdefgh"}),
    ("extra_body", {"litellm": {"proxy_password": "abcdefgh"}}),
    ("extra_body", {"metadata": [{"note": "sk-abcdefghijkl"}]}),
]
HONEST = [
    ("headers", {"X-Team": "evals", "OpenAI-Project": "proj_a1", "X-Tenant": "8c5e3f1a-7b2d-4e6f-9a0b-1c2d3e4f5a6b"}),
    ("headers", {"User-Agent": "our-eval-harness-for-judges/2.31.4", "anthropic-beta": "output-128k-2025-02-19"}),
    ("query", {"api-version": "2026-05-01", "deployment": "gpt-4.1-mini-europe-west"}),
    ("extra_body", {"prompt_cache_key": "calm", "stop": ["<|eot|>"], "max_tokens_per_step": 3, "eos_token": "</s>"}),
    (
        "extra_body",
        {"chat_template_kwargs": {"enable_thinking": False}, "seed": 1, "safety_identifier": "team-9f8e7d"},
    ),
]


@pytest.mark.parametrize(("table", "values"), SECRET)
def test_a_literal_secret_is_refused_and_not_shown(table, values):
    """By its name, its shape or its entropy, with the line to write in its place."""
    found = list(literal_secrets(Server("openai", "m", **{table: values})))

    assert [key for key, _ in found] == [table]
    way = {"headers": "headers_env = {", "query": "query_env = {", "extra_body": "headers_env = {"}[table]
    assert way in found[0][1]
    flat = json.dumps(list(values.values()))
    assert not [word for word in flat.split('"') if len(word) > 7 and word in found[0][1] and word != "proxy_password"]


@pytest.mark.parametrize(("table", "values"), HONEST)
def test_honest_settings_are_taken(table, values):
    """Names of projects, versions and templates, whatever they look like."""
    assert list(literal_secrets(Server("openai", "m", **{table: values}))) == []
