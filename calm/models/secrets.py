"""
Values that are never shown, all that this process knows, and what takes them out of what it shows or writes.

A credential is known when a judge's file is read (`Secrets`), or when it stands in the environment: in the URL of a
proxy, or in a variable whose name says so. It is found in each form that an output may give it: without its scheme, as
a part of a URL, in JSON, HTML, Markdown or base64.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import traceback
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from io import TextIOWrapper
from itertools import product
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus, unquote

from calm.models.wire import Reply, Token

if TYPE_CHECKING:
    pass


HIDDEN: Final = "[secret]"
LEAST: Final = 6
"""A shorter value is not hidden: it stands in honest texts by chance, and a report of stars helps nobody."""
LEAST_PLAIN: Final = 12
"""The same for a value of letters alone or of digits alone, which may be a word or a number of the report."""
_STAND_INS: Final = frozenset({"lm-studio", "no-key", "not-needed", "not-required", "sk-no-key-required", "sk-none"})
"""What people give to a server that wants any key."""
_NAMES: Final = re.compile(
    r"(?i)(^|_)(api_?key|access_?key|secret_?key|private_?key|secret|token|auth|authorization|key$|password|passwd|passphrase|credentials?)(_|$)"
)
"""Names of variables whose values are credentials."""
SHAPES: Final = re.compile(
    r"(?i:(?:bearer|basic)\s+\S{6,})|\b(?:sk|pk|rk)-[\w-]{8,}|\b(?:ghp|gho|ghs|glpat|hf|xox[abpr])[_-]\w{10,}"
    r"|\bgithub_pat_\w{10,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)
"""What the credentials of well-known servers look like."""
_SCHEMES: Final = re.compile(r"(?i)^(basic|bearer|token|apikey|api-key|digest)\s+(\S.*)$")
_USERINFO: Final = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#@'\"<>]+@")
_MARKS: Final = re.compile(r"([\\`*_{}\[\]()#+.!|<>~-])")
_CUT: Final = re.compile(r"\.{3}|\u2026")

_known: dict[str, None] = {}


def keep(values: Iterable[str]) -> None:
    """Know some credentials, with what is in them: the token after its scheme, the password of a pair."""
    for value in values:
        for part in _parts(value):
            if part not in _known and worth_hiding(part):
                _known[part] = None
                _forms_of_all.cache_clear()
                _pieces.cache_clear()


def learn(environment: Mapping[str, str]) -> None:
    """Know the credentials of an environment: those in the URLs of proxies, and those that their variables name."""
    for name, value in environment.items():
        if "://" in value or name.lower().endswith("_proxy"):
            keep(_userinfo(value))
        elif (_NAMES.search(name) or SHAPES.match(value)) and not value.startswith(("/", ".")):
            keep([value])


def knows_any() -> bool:
    """Return whether any credential is known."""
    return bool(_known)


def worth_hiding(value: str) -> bool:
    """
    Return whether a value can be told from honest text.

    >>> [worth_hiding(value) for value in ("a", "EMPTY", "results", "s3cret!", "correcthorsebattery")]
    [False, False, False, True, True]
    """
    plain = value.isalpha() or value.isdigit()
    return len(value) >= (LEAST_PLAIN if plain else LEAST) and value.lower() not in _STAND_INS


def hidden(text: str, sign: str = HIDDEN) -> str:
    """Return a text without any known credential, in whatever form: a sign is in its place."""
    for form in _forms_of_all():
        if form in text:
            text = text.replace(form, sign)
    return text


def found_in(text: str) -> list[str]:
    """Return the forms of known credentials that a text holds, the longest first."""
    return [form for form in _forms_of_all() if form in text]


def hidden_where_cut(text: str) -> str:
    """Return the same of a text that quotes others shortened: also without what is left of a credential at a cut."""
    text = hidden(text)
    ends, beginnings, longest = _pieces()
    if not longest:
        return text
    parts: list[str] = []
    at = 0
    for cut in _CUT.finditer(text):
        start, end = cut.span()
        most = range(longest, LEAST - 1, -1)
        left = next((n for n in most if n <= start - at and text[start - n : start] in beginnings), 0)
        right = next((n for n in most if text[end : end + n] in ends), 0)
        parts += [text[at : start - left], HIDDEN if left else "", cut[0], HIDDEN if right else ""]
        at = end + right
    return "".join([*parts, text[at:]])


@cache
def _pieces() -> tuple[frozenset[str], frozenset[str], int]:
    all_forms = _forms_of_all()
    sizes = [(form, size) for form in all_forms for size in range(LEAST, len(form) + 1)]
    return (
        frozenset(form[-size:] for form, size in sizes),
        frozenset(form[:size] for form, size in sizes),
        max(map(len, all_forms), default=0),
    )


def without_userinfo(text: str) -> str:
    """
    Return a text without the names and passwords of its URLs, whoever's they are.

    >>> without_userinfo("no route to http://joe:pass@proxy:3128/")
    'no route to http://[secret]@proxy:3128/'
    """
    return _USERINFO.sub(rf"\1{HIDDEN}@", text)


@cache
def _forms_of_all() -> tuple[str, ...]:
    found = {form for value in _known for form in forms(value) if len(form) >= LEAST}
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


def forms(value: str) -> tuple[str, ...]:
    """Return the forms that outputs give to a credential, itself first."""
    return tuple(dict.fromkeys(form for plain in (value, value.strip()) for form in _written(plain)))


def _written(value: str) -> Iterator[str]:
    yield value
    lenient = {"errors": "surrogatepass"}  # a variable may hold bytes that are no UTF-8
    for coded in (quote(value, safe="", **lenient), quote(value, **lenient), quote_plus(value, **lenient)):
        yield coded
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), coded)
        yield quote(coded, safe="")
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield once.replace("/", "\\/")
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]
    yield repr(value)[1:-1]
    for double, single in product(('"', "&quot;", "&#34;"), ("'", "&#x27;", "&#39;", "&apos;")):
        yield escape(value, quote=False).replace('"', double).replace("'", single)
    yield _MARKS.sub(r"\\\1", value)
    yield re.sub(r"[_*`|~\[\]<>&]", lambda found: f"&#{ord(found[0])};", value)
    yield from _in_base64(value.encode("utf-8", "surrogatepass"))


def _in_base64(data: bytes) -> Iterator[str]:
    """Yield how bytes look in base64, alone and at each place inside of more: the first and last signs depend on it."""
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(data).decode()
        for shift in range(3):
            whole = encode(bytes(shift) + data).decode().rstrip("=")
            inner = whole[(0, 2, 3)[shift] : len(whole) - (1 if (shift + len(data)) % 3 else 0)]
            if len(inner) >= 2 * LEAST:
                yield inner


def _parts(value: str) -> Iterator[str]:
    yield value
    yield value.strip()
    if found := _SCHEMES.match(value.strip()):
        yield found[2]
        if found[1].lower() == "basic":
            pair = _decoded(found[2])
            yield pair
            yield pair.partition(":")[2]
    lines = value.splitlines()
    yield from (line for line in lines if len(lines) > 1 and len(line) >= LEAST_PLAIN)
    yield from _userinfo(value)


def _decoded(text: str) -> str:
    try:
        return b64decode(text, validate=True).decode("utf-8")
    except ValueError:
        return ""


def _userinfo(url: str) -> Iterator[str]:
    """
    Yield the password of a URL as it is written and as it is meant, and the pair; a name alone is one, too.

    A sign that should have been escaped ends the address where a client reads it: so its parts are yielded as well.
    """
    info = (url.partition("://")[2] or url).rpartition("@")[0]
    if not info:
        return
    name, colon, password = info.partition(":")
    secret = password if colon else name
    for part in (info, secret, *re.split(r"[/?#@:]", secret)):
        yield part
        yield unquote(part)


@contextmanager
def cleaned() -> Iterator[None]:
    """
    Take known credentials out of what is written to stdout and stderr in this block, by whichever thread.

    What goes by the number of a stream (`os.write`, code in C, a program that a judge starts) does not come through
    here. A pipe could clean it, but its reader would need the interpreter: code that holds that, and prints, would wait
    for ever, and a crash would lose its last words.
    """
    with ExitStack() as stack:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper) and "write" not in vars(stream):  # else it is cleaned already
                stack.enter_context(_clean(stream))
        yield


@contextmanager
def _clean(stream: TextIOWrapper) -> Iterator[None]:
    through = stream.write

    def write(text: str) -> int:
        through(hidden(text))
        return len(text)

    stream.write = write  # type: ignore[method-assign]  # in place: others keep the object
    try:
        yield
    finally:
        del stream.write


def veil_logs() -> None:
    """Let no log record of this process, of whatever logger, hold a known credential."""
    made = logging.getLogRecordFactory()
    if not isinstance(made, _Veiled):
        logging.setLogRecordFactory(_Veiled(made))


class _Veiled:
    """A factory of records that takes the credentials out of what another one makes."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def __call__(self, *given: Any, **named: Any) -> logging.LogRecord:
        record: logging.LogRecord = self._made(*given, **named)
        try:
            text = record.getMessage()
        except (TypeError, ValueError):  # a faulty call of whoever logs: logging says so itself, when it formats it
            return record
        if (clean := hidden(text)) != text:
            record.msg, record.args = clean, ()
        if record.exc_info and record.exc_info[0] is not None:
            told = "".join(traceback.format_exception(*record.exc_info)).rstrip()
            if (clean := hidden(told)) != told:
                record.exc_text, record.exc_info = clean, None
        return record


STARS: Final = "***"

_LOOKS_SECRET = re.compile(r"(?i)\b(?:sk|pk|rk)-[\w*.-]{6,}|bearer\s+\S+")


def on_guard() -> None:
    """Know the credentials of the environment, and keep all that are known out of the logs of this process."""
    learn(os.environ)
    veil_logs()


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """The values behind names of variables: never shown, stored or compared."""

    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keep(self.values)  # so that no output of this process shows one
        if self.values:
            on_guard()

    def __repr__(self) -> str:
        return "Secrets(...)"

    @property
    def values(self) -> tuple[str, ...]:
        """All values, the longest first, for scrubbing."""
        found = [*self.headers.values(), *self.query.values(), *([self.key] if self.key else [])]
        return tuple(sorted((v for v in found if v), key=len, reverse=True))

    def scrub(self, text: str) -> str:
        """Return the text without any known credential, and without what looks like one."""
        return _LOOKS_SECRET.sub(HIDDEN, without_userinfo(hidden(text)))

    def hide(self, text: str) -> str:
        """Return a text of the model's own with `***` for each of the values: nothing else in it is changed."""
        return hidden(text, STARS)

    def hide_all(self, data: object) -> object:
        """Do the same to all texts in what a JSON reply holds."""
        if not knows_any():
            return data
        if isinstance(data, str):
            return self.hide(data)
        if isinstance(data, list):
            return [self.hide_all(item) for item in data]
        if isinstance(data, dict):
            return {name: self.hide_all(item) for name, item in data.items()}
        return data

    def hide_in(self, reply: Reply) -> Reply:
        """Return a reply without the values, which a server may repeat, also across parts and tokens."""
        if not knows_any():
            return reply
        refusal = None if reply.refusal is None else self.hide(reply.refusal)
        tokens = None if reply.tokens is None else _hidden(reply.tokens)
        calls = tuple((self.hide(name), self.hide(arguments)) for name, arguments in reply.calls)
        shown = replace(reply, text=self.hide(reply.text), model=self.hide(reply.model))
        return replace(shown, refusal=refusal, tokens=tokens, calls=calls)


def _hidden(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    whole = "".join(t.text for t in tokens)
    found = [match.span() for form in found_in(whole) for match in re.finditer(re.escape(form), whole)]
    kept: list[Token] = []
    at = 0
    for token in tokens:
        start, at = at, at + len(token.text)
        inside = any(start < end and at > begin for begin, end in found)
        kept.append(Token(STARS, token.logprob) if inside else token)
    return tuple(kept)
