"""The judges of the page on other tools, as they stand there."""

import re

from calm.plugins.adapters.judge import adapted
from tests.docs.pages import DOCS, load_generator
from tests.planted import engine
from tests.plugins.adapters.twins import cases_in, module_of
from tests.servers import wire_server
from tests.servers.biased import biased, plain

PAGE = DOCS / "how-to" / "audit-a-judge-of-another-tool.md"
JUDGES = sorted(set(re.findall(r"^calm audit (\w+:\w+:\w+)", PAGE.read_text("utf-8"), re.MULTILINE)))


def judges_of(*tools):
    """Return the judges of some tools."""
    return [spec for spec in JUDGES if spec.partition(":")[0] in tools]


def asked(spec, tmp_path, monkeypatch):
    """Return a judge and its verdict on a case, with the address and key that its client takes from the environment."""
    _, module, _ = spec.split(":")
    module_of(tmp_path, monkeypatch, module, load_generator().files_in(PAGE)[f"{module}.py"])
    said = biased(plain, score=lambda text: 0.5, choice=lambda text: "A" if "(A)" in text else "Yes")
    with wire_server(said, limitless=True) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "key-for-a-test-1")
        judge = adapted(spec)
        cases = cases_in(tmp_path, pairwise=judge.task == "pairwise", count=1)
        with engine() as running:
            return judge, running.ask(judge, [(cases[0], 1)])[0].verdict
