"""`--calm-cache-file FILE`: where replies are kept."""


def test_replies_are_kept_where_asked(project, workers):
    """The file is made with its folder, the default one is not, and a second run reads it."""
    project.run("--calm-cache-file=kept/replies.sqlite", *workers, judge="judges:counted")
    project.run("--calm-cache-file=kept/replies.sqlite", *workers, judge="judges:counted")

    assert (project.path / "kept" / "replies.sqlite").exists()
    assert not (project.path / ".calm").exists()
    assert project.calls() == 225


def test_the_ini_setting_is_relative_to_the_ini_file(project, monkeypatch):
    """`calm_cache_file` names one file whatever folder pytest is started in."""
    project.ini(cache_file="kept.sqlite")
    folder = project.path / "deep"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(project.path)

    project.run("..", cases="../cases.jsonl")

    assert (project.path / "kept.sqlite").exists()
    assert not list(folder.iterdir())


def test_a_file_that_is_no_cache_is_left_alone(project, workers):
    """Somebody else's file is an error that names it, and stays as it was."""
    text = "my diary\n" * 500
    project.write("diary.txt", text)

    result = project.run("--calm-cache-file=diary.txt", *workers)

    assert result.ret == 4
    assert "diary.txt: expected a cache of calm" in f"{result.stdout}{result.stderr}"
    assert "Traceback" not in f"{result.stdout}{result.stderr}"
    assert (project.path / "diary.txt").read_text() == text
