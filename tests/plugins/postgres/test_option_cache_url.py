"""`--calm-cache-url URL` and `--calm-run NAME`: replies and caps on a server, for several machines."""

import psycopg  # noqa: F401 - it has C extensions: pytester must not import it a second time


def test_replies_are_kept_on_a_server(project, workers, shared, monkeypatch):
    """A second run, with the URL from the environment, reads them; no cache is made beside it."""
    url = shared()
    project.run(f"--calm-cache-url={url}", *workers, judge="judges:counted")
    monkeypatch.setenv("CALM_CACHE_URL", url)
    project.run(*workers, judge="judges:counted")

    assert project.calls() == 225
    assert not (project.path / ".calm" / "cache.sqlite").exists()


def test_a_named_run_has_one_cap_on_any_day(project, shared):
    """The second command has what the first one left, and another name begins anew."""
    url = f"--calm-cache-url={shared()}"
    project.run(url, "--calm-run=monday", "--calm-max-calls=100", judge="judges:counted")
    assert project.calls() == 100
    project.run(url, "--calm-run=monday", "--calm-max-calls=120", judge="judges:counted")
    assert project.calls() == 120
    project.run(url, "--calm-run=tuesday", "--calm-max-calls=50", judge="judges:counted")
    assert project.calls() == 170


def test_what_cannot_be_is_refused_before_any_call(project, shared, subtests):
    """Each with what was expected."""
    table = [
        (["--calm-cache-url=postgresql://u:topsecret-word@h/d"], "without a password"),
        (["--calm-cache-url=mysql://h/d"], "expected a URL such as"),
        ([f"--calm-cache-url={shared()}", "--calm-cache-file=x.sqlite"], "expected one place"),
        (["--calm-run=one", "--calm-cache=off"], "--calm-run: expected a cache"),
        ([f"--calm-run={'x' * 300}"], "at most 200 characters"),
        ([f"--calm-cache-url={shared(port=1)}"], "no server listens there"),
    ]
    for options, words in table:
        with subtests.test(words):
            result = project.run(*options, judge="judges:counted")
            text = f"{result.stdout}{result.stderr}"
            assert result.ret == 4
            assert words in " ".join(text.split())
            assert "topsecret-word" not in text
    assert project.calls() == 0
