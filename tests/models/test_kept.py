"""What the table of models says is looked up once a day, and a file that cannot serve costs a look-up, not a run."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from genai_prices import calc_price
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import TimeOfDateConstraint

from calm.models.pricing import KEPT, Kept, look_up, window_of

LATER = """
import sys
from pathlib import Path
from calm.models.pricing import KEPT
from calm.models.pricing import look_up

KEPT.beside(Path(sys.argv[1]))
for model in sys.argv[2:]:
    print(look_up(model))
print("genai_prices" in sys.modules)
"""
"""What a later process does; it says at the end whether it imported the table."""


@pytest.fixture
def cache(tmp_path):
    """Return a place for a cache, beside which this process keeps what it looks up until the test ends."""
    window_of.cache_clear()
    KEPT.beside(tmp_path / "cache.sqlite")
    yield tmp_path / "cache.sqlite"
    KEPT.beside(None)
    window_of.cache_clear()


class Table:
    """A table that counts how often it is asked."""

    def __init__(self, value, *, lasting=True):
        self.value, self.lasting, self.asked = value, lasting, 0

    def __call__(self):
        self.asked += 1
        return self.value, self.lasting


def known_by_another_process(cache, table):
    """Return what a later process finds under the same key."""
    later = Kept()
    later.beside(cache)
    return later.once("key", lambda _: True, table)


def keep(cache, value):
    """Let a process look a value up and keep it."""
    first = Kept()
    first.beside(cache)
    assert first.once("key", lambda _: True, Table(value)) == value


@pytest.mark.parametrize("value", [128_000, None, [[0.15], [0.6]]])
def test_a_second_process_of_the_day_asks_nothing(tmp_path, value):
    """Also of a model that the table does not have."""
    keep(tmp_path / "cache.sqlite", value)
    table = Table("anew")

    assert known_by_another_process(tmp_path / "cache.sqlite", table) == value
    assert table.asked == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one | {"day": f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"},
        lambda one: one | {"table": "0.0.1"},
        lambda one: one | {"known": [1]},
        lambda one: one | {"known": {}},
        lambda one: {"calm": "results/2"},
        lambda one: 7,
    ],
    ids=["yesterday", "another release", "a list", "empty", "another file", "a number"],
)
def test_what_is_not_of_today_is_asked_anew(tmp_path, change):
    """A day, a release of the table and a form have to be those of this process."""
    cache = tmp_path / "cache.sqlite"
    keep(cache, 5)
    path = tmp_path / "cache.models.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    table = Table("anew")

    assert known_by_another_process(cache, table) == "anew"
    assert table.asked == 1


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"calm": "models/1", "known": '])
def test_a_damaged_file_is_no_error(tmp_path, content):
    """Nothing is known then; one that calm began is written anew."""
    cache, path = tmp_path / "cache.sqlite", tmp_path / "cache.models.json"
    path.write_bytes(content)

    keep(cache, 5)

    ours = content.startswith(b'{"calm": "models/1"')
    assert path.read_bytes() == content or ours
    assert known_by_another_process(cache, Table("anew")) == (5 if ours else "anew")


def test_a_file_of_somebody_else_stays_as_it_is(tmp_path):
    """It only has the name."""
    path = tmp_path / "cache.models.json"
    path.write_text('{"mine": 1}')

    keep(tmp_path / "cache.sqlite", 5)

    assert path.read_text() == '{"mine": 1}'


def test_a_place_that_cannot_be_written_is_no_error(tmp_path):
    """A folder that is none, a folder that does not exist, and one in the place of the file."""
    (tmp_path / "file").write_text("")
    (tmp_path / "taken.models.json").mkdir()

    for cache in ("file/cache.sqlite", "none/cache.sqlite", "taken.sqlite"):
        keep(tmp_path / cache, 5)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken.models.json"]


def test_what_does_not_fit_is_asked_anew(cache):
    """A price below nothing, a price that is a text, and a window of no size, as a wrong hand may write them."""
    look_up("gpt-4o-mini"), window_of("gpt-4o-mini")
    path = cache.with_suffix(".models.json")
    kept = json.loads(path.read_text())
    for price, window in (([[-1.0], [0.6]], 0), ("free", "long"), ([[0.1]], 1.5), ([[1], [2], [3]], True)):
        known = {"price gpt-4o-mini": price, "window gpt-4o-mini": window}
        path.write_text(json.dumps(kept | {"known": known}))
        KEPT.beside(None)
        KEPT.beside(cache)
        window_of.cache_clear()

        assert (look_up("gpt-4o-mini").input, window_of("gpt-4o-mini")) == (0.15, 128_000)


def test_a_price_is_the_same_from_the_file(cache):
    """With its tiers and its source; and no package of prices is asked."""
    models = ("gemini-2.5-pro", "gpt-4o-mini", "claude-sonnet-4-5", "a-model-of-nobody")
    asked = [look_up(model) for model in models]

    said = subprocess.run([sys.executable, "-c", LATER, cache, *models], capture_output=True, text=True, check=True)

    assert said.stdout.split("\n")[:-1] == [*map(repr, asked), "False"]
    assert asked[0].tiers
    assert asked[-1] is None


def test_a_price_that_goes_by_the_hour_is_not_kept(cache):
    """It is another one later in the day."""
    by_hour = [
        (provider.id, model.id)
        for provider in get_snapshot().providers
        for model in provider.models
        if isinstance(model.prices, list) and any(isinstance(p.constraint, TimeOfDateConstraint) for p in model.prices)
    ]
    assert by_hour

    model = next(one for _, one in by_hour if calc_price_finds(one))
    assert look_up(model) is not None

    path = cache.with_suffix(".models.json")
    assert not path.exists() or f"price {model}" not in json.loads(path.read_text())["known"]


def calc_price_finds(model):
    """Return whether the name alone leads to a model whose price goes by the hour."""
    from genai_prices import Usage

    try:
        found = calc_price(Usage(), model_ref=model).model.prices
    except LookupError:
        return False
    return isinstance(found, list) and any(isinstance(one.constraint, TimeOfDateConstraint) for one in found)


def test_nothing_is_left_half_written(tmp_path):
    """Another name is written first; what it leaves is the whole file alone."""
    keep(tmp_path / "cache.sqlite", 5)

    assert [path.name for path in tmp_path.iterdir()] == ["cache.models.json"]
