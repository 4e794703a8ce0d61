"""Workers of pytest-xdist beside the batch API."""

import pytest

from tests.pytest_plugin.test_workers import edited, greeted, ran
from tests.servers.batching.apart import apart


@pytest.mark.slow
def test_what_goes_by_batch_is_not_shared(projects):
    """Each worker counts its own waves, and a share of a wave may be too small for a batch; each call is paid once."""
    project = greeted(projects, "batch")
    with apart("Both are fine. [[A]]") as server:
        project.write(
            "judge.toml",
            '[judge]\nname = "patient"\ntask = "pairwise"\n'
            f'[model]\nprovider = "openai"\nmodel = "tiny"\nbase_url = "{server.url}"\nmax_tokens = 50\n',
        )
        env = {"OPENAI_API_KEY": "unused"}
        options = ("--calm-batch", "--calm-stopping=fixed", "--calm-repeats=2+2")
        done = ran(project, "-n2", *options, judge="judge.toml", env=env)
        told = server.told()

    assert project.results()["findings"], done.stdout
    assert {len(processes) for processes in edited(project)[0].values()} == {2}
    assert {times for times, _, _ in told["billed"].values()} == {1}
