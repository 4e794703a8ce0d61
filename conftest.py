"""
This repository's wiring of the gate: nothing to wire, as the default judge and the bundled cases are meant.

A project of yours would override the fixtures `judge` or `cases` here, in plain pytest fashion:

    @pytest.fixture(scope="session")
    def cases():
        return calm.cases.read_cases(Path("cases.jsonl"), task="pairwise")
"""
