"""Changed copies of files: of their bytes, of their values, and of what a database or a table may hold."""

import json
import re
import sqlite3
from contextlib import closing, suppress

HUGE = "HUGE-NUMBER-%d"
"""Stands for a number of so many digits while a document is changed as values: `dumped` writes it without quotes."""
JUNK = (
    *(None, True, False, 0, -1, 5, 1.5, -0.0, 1e308, 10**18, 10**30, 2**63, float("nan"), float("inf"), -float("inf")),
    *("", " ", "x", "\0", "\ud800", "\u202e", "\x1b[31m", "{", "[1]", '{"a": 1}', "NaN", "1e999", "~!tie", "a" * 5000),
    *("=1+1", "{{ 7*7 }}", "2026-01-01", "../../x", "1" * 400, "１２", "٣", "-", "[" * 300, '{"a":' * 300),
    *([], {}, [[]], [None], [1, "a"], {"a": 1}, {"": ""}, {"role": "user"}, {"role": [], "content": {}}),
    *(HUGE % 290, HUGE % 350, HUGE % 4000, HUGE % 5000),
)
TOKENS = (
    *(b"null", b"NaN", b"Infinity", b"-0", b"1e999", b"-1e-999", b"9" * 320, b"9" * 4200, b"0x" + b"f" * 400, b"\0"),
    *(
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\\ud800",
        b'"',
        b"'",
        b"'''",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
    ),
    *(b"\r", b"\n", b"\r\n", b"\t", b";", b"=", b"#", b"[" * 90, b"[" * 1200, b'{"a":' * 150, b"inf", b"1979-05-27"),
    *(b"0001-01-01T00:00:00Z", b"\xe2\x80\xa8", b"{{", b"{%", b"\x1a", b"\x7f", b"\\", b"&#0;"),
)


def bytes_of(data, rng, others=(b"",)):
    """Return data with one to four changes of bytes."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 2, 8, 64, 1000)))
        match rng.randrange(9):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end] * rng.choice((1, 2, 50))
            case 3:
                data[at:at] = rng.choice(TOKENS)
            case 4:
                data[at:end] = rng.choice(TOKENS)
            case 5:
                del data[at:]
            case 6:
                other = rng.choice(others)
                cut = rng.randrange(len(other) + 1)
                data[at:end] = other[cut : cut + 200]
            case 7:
                numbers = [*re.finditer(rb"\d+(?:\.\d+)?", data)]
                if numbers:
                    found = rng.choice(numbers)
                    data[found.start() : found.end()] = rng.choice(TOKENS)
            case _:
                lines = bytes(data).split(b"\n")
                line, to = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines.insert(to, lines[line] if rng.random() < 0.5 else lines.pop(line))
                data = bytearray(b"\n".join(lines))
    return bytes(data)


def places(value, path=()):
    """Yield the path of each value within a value."""
    yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))


def at(value, path):
    """Return the value at a path."""
    for key in path:
        value = value[key]
    return value


def value_of(value, rng):
    """Return a document with one to four changes of its values."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.choice((1, 1, 2, 4))):
        every = [*places(value)]
        path = rng.choice(every)
        if not path:
            if rng.random() < 0.02:
                value = rng.choice(JUNK)
            continue
        holder, key = at(value, path[:-1]), path[-1]
        match rng.randrange(8):
            case 0 | 1 | 2:
                holder[key] = rng.choice(JUNK)
            case 3:
                del holder[key]
            case 4:
                holder[key] = json.loads(json.dumps(at(value, rng.choice(every))))
            case 5 if isinstance(holder, dict):
                holder[rng.choice((str(key).upper(), "", "id", "a" * 300, "\ud800", str(rng.choice(every))[-20:]))] = (
                    holder.pop(key)
                )
            case 5:
                holder += [json.loads(json.dumps(holder[key]))] * rng.choice((1, 3, 100))
            case 6:
                for _ in range(rng.choice((1, 5, 90, 120, 900))):
                    holder[key] = [holder[key]] if rng.random() < 0.5 else {"a": holder[key]}
                    if rng.random() < 0.3:
                        holder[key] = {"content": holder[key]}
            case _:
                inner = holder[key]
                if isinstance(inner, str) and inner[:1] in ("{", "["):
                    with suppress(ValueError):
                        holder[key] = dumped(value_of(json.loads(inner), rng))
                elif isinstance(inner, str):
                    holder[key] = bytes_of(inner.encode("utf-8", "replace"), rng).decode("utf-8", "replace")
    return value


def dumped(value):
    """Return a document as JSON, with its huge numbers."""
    try:
        text = json.dumps(value)
    except RecursionError:
        return "[" * 1500
    return re.sub(r'"HUGE-NUMBER-(\d+)"', lambda found: "7" * int(found[1]), text)


def json_lines(data, rng, seal=None):
    """Return JSON, or lines of it, with values changed in one of them; `seal` makes it look untouched."""
    try:
        whole = json.loads(data)
    except ValueError:
        lines = data.decode().split("\n")
        for _ in range(rng.choice((1, 1, 3))):
            line = rng.randrange(len(lines))
            with suppress(ValueError):
                lines[line] = dumped(value_of(json.loads(lines[line]), rng))
        if rng.random() < 0.2:
            rng.shuffle(lines)
        found = "\n".join(lines)
        return (seal(found) if seal else found).encode("utf-8", "replace")
    changed = value_of(whole, rng)
    if seal:
        changed = seal(changed)
    text = dumped(changed)
    if rng.random() < 0.05 and '"' in text:  # a key twice
        found = re.search(r'"\w+":', text)
        text = text.replace("{", "{" + (found[0] if found else '"a":') + "1,", rng.choice((1, 3)))
    return text.encode("utf-8", "replace")


def table(data, rng, sign=","):
    """Return a table with cells, columns or rows changed."""
    rows = [line.split(sign) for line in data.decode().split("\n")]
    for _ in range(rng.choice((1, 2, 5))):
        row = rng.choice(rows)
        at_ = rng.randrange(len(row))
        match rng.randrange(6):
            case 0 | 1 | 2:
                junk = rng.choice(JUNK)
                row[at_] = ("7" * 4200 if str(junk).startswith("HUGE") else str(junk)).replace("\ud800", "?")
            case 3:
                rows[0][rng.randrange(len(rows[0]))] = rng.choice(
                    ("", "id", "question", rows[0][0], "better", "é", "x")
                )
            case 4:
                rows.insert(rng.randrange(len(rows)), rng.choice(rows)[:])
            case _:
                if rng.random() < 0.5:
                    row.pop(at_)
                    if not row:
                        row.append("")
                else:
                    row.insert(at_, rng.choice(('"', "'", "x", "")))
    return "\n".join(sign.join(row) for row in rows).encode()


TOML = (
    *(
        b"1",
        b"-1",
        b"0",
        b"1.5",
        b"nan",
        b"inf",
        b"-inf",
        b"true",
        b'""',
        b'"x"',
        b"[]",
        b"{}",
        b"[1, 'a']",
        b"{a = 1}",
    ),
    *(
        b"2026-01-01",
        b"07:00:00",
        b"1979-05-27T07:32:00Z",
        b"9223372036854775808",
        b"7" * 250,
        b"7" * 350,
        b'"\\u0000"',
    ),
    *(
        b"1e999",
        b"0x" + b"f" * 200,
        b"[" * 50 + b"]" * 50,
        b"[" * 200 + b"]" * 200,
        b'"../x"',
        b'"/dev/null"',
        b'"' + b"a" * 9000 + b'"',
    ),
    *(b"[[1], [2]]", b"'''\n'''", b'"{{ question }}"', b'"("', b'"(a+)+$"', b'"\\u202e"', b"[{a = 1}, {b = 2}]"),
)


def toml(data, rng):
    """Return settings with the value of a key, a key or a table changed."""
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        line = rng.randrange(len(lines))
        key, equals, _ = lines[line].partition(b"=")
        keys = [one.partition(b"=")[0] for one in lines if b"=" in one] or [b"a "]
        match rng.randrange(5):
            case 0 | 1 if equals:
                lines[line] = key + b"= " + rng.choice(TOML)
            case 2 if equals:
                del lines[line]
            case 3:
                lines.insert(line, rng.choice(keys) + b"= " + rng.choice(TOML))
            case _:
                lines[line] = bytes_of(lines[line], rng)
    return b"\n".join(lines)


COLUMNS = (
    *(
        "payload_json",
        "payload_json text",
        "payload_json blob",
        "payload_json integer",
        "payload_json any",
        "rowid text",
    ),
    *(
        "a integer primary key",
        "payload_json text collate nocase",
        "b text",
        '"PAYLOAD_JSON"',
        "oid",
        "payload_json real",
    ),
    "payload_json text generated always as (printf('%.*c', 900000000, 'x')) virtual",
    "payload_json text as (json_object('a', b)) stored",
    "payload_json as (b || b)",
)
TABLES = (
    *("create table test_runs ({})", "create table TEST_RUNS ({})", "create table test_runs ({}) strict"),
    "create table x ({})",
    "create view test_runs as with recursive n(i) as (select 1 union all select i + 1 from n) "
    "select i payload_json from n",
    "create view test_runs as select randomblob(900000000) as payload_json, 1 as rowid",
    "create view test_runs as select '{{}}' as payload_json, 1 as rowid",
    "create table test_runs ({}, primary key (payload_json)) without rowid",
    *("create virtual table test_runs using fts5({})", "create virtual table test_runs using rtree(a, b, c)"),
    "create index i on test_runs (length(payload_json))",
    "create trigger t after insert on test_runs begin delete from test_runs; end",
    'create table "a\'""b" ({})',
)
VALUES = (
    *(
        "null",
        "5",
        "1.5",
        "x'00ff'",
        "''",
        "'{{}}'",
        "'{'",
        "'[]'",
        "?",
        "?",
        "?",
        "cast(x'ff7b' as text)",
        "zeroblob(100)",
    ),
    *("'[' || printf('%.*c', 5000, '[')", "'{\"testCases\": ' || printf('%.*c', 5000, '9') || '}'", "char(55296)"),
)


def database(path, payload, rng):
    """Write a database that nearly is one of deepeval, or is none."""
    with closing(sqlite3.connect(path)) as base:
        base.execute(f"pragma encoding='{rng.choice(('UTF-8', 'UTF-16le', 'UTF-16be'))}'")
        base.execute(f"pragma page_size={rng.choice((512, 4096))}")
        for _ in range(rng.choice((1, 1, 2, 3))):
            names = [rng.choice(COLUMNS) for _ in range(rng.choice((1, 1, 2, 3)))]
            with suppress(sqlite3.Error):
                base.execute((TABLES[0] if rng.random() < 0.5 else rng.choice(TABLES)).format(", ".join(names)))
        for _ in range(rng.choice((0, 1, 1, 3))):
            value = rng.choice(VALUES).format()
            with suppress(sqlite3.Error):
                sent = json_lines(payload, rng).decode("utf-8", "replace") if rng.random() < 0.8 else payload.decode()
                base.execute(f"insert into test_runs (payload_json) values ({value})", [sent] * value.count("?"))
        if rng.random() < 0.1:
            with suppress(sqlite3.Error):
                base.execute("pragma writable_schema=on")
                base.execute(
                    f"update sqlite_master set {rng.choice(('type', 'name', 'sql', 'rootpage'))} = "
                    + rng.choice(VALUES).format().replace("?", "7")
                )
        with suppress(sqlite3.Error):
            base.commit()
    if rng.random() < 0.3:
        path.write_bytes(bytes_of(path.read_bytes(), rng))
