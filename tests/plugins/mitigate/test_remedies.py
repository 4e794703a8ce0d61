"""The remedies that a report names are mitigations that there are."""

from calm.plugins.mitigate.mitigation import EVERY
from calm.plugins.mitigate.mitigations import MITIGATIONS
from calm.results.steps import (
    REMEDIES,
    SERVES,
    WITHOUT_PROMPT,
)


def test_the_table_of_remedies_fits_that_of_mitigations():
    """Every remedy is the name of a mitigation, and serves the tasks that the table says."""
    for names in REMEDIES.values():
        for name in names:
            kind = name.partition(":")[0]
            assert SERVES.get(kind, EVERY) == MITIGATIONS[kind].families
    assert set(MITIGATIONS) >= WITHOUT_PROMPT
