"""`--calm-seed I`: the seed of every random choice."""


def sampled(project, seed, *options):
    project.run(f"--calm-seed={seed}", "--calm-sample=40", "--calm-results=results.json", *options)
    return project.results()


def test_another_seed_draws_other_cases(project):
    """The sample depends on the seed, and the record says which it was."""
    first, second = sampled(project, 1), sampled(project, 2)

    assert (first["seed"], second["seed"]) == (1, 2)
    assert first["cases"]["sha256"] != second["cases"]["sha256"]


def test_one_seed_gives_one_record(project, workers):
    """The same seed gives the same findings, with workers or without."""
    first, second = sampled(project, 3), sampled(project, 3, *workers)

    assert first["findings"] == second["findings"]


def test_the_ini_setting_does_the_same(project):
    """`calm_seed` in the ini file is the seed."""
    project.ini(seed="5")

    project.run("--calm-results=results.json")

    assert project.results()["seed"] == 5
