"""What one test with a probe found, as it travels from the test to the process that the user sees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calm.core.texts import CaseTexts
    from calm.results.audit import Finding


@dataclass(frozen=True, slots=True)
class Record:
    """What a test with a probe found, and what that took."""

    node: str
    subject: dict[str, Any] | None
    findings: Sequence[Finding]
    texts: Sequence[CaseTexts]
    seconds: dict[str, float]
    asks: list[int]
    """Asks that were needed, and that all cases would have needed before any top-up."""
    extras: dict[str, Any]

    def to_json(self) -> str:
        """Return it as ASCII: xdist cannot carry every text."""
        from calm.results.audit import finding_to_json, texts_to_json

        body = {name: getattr(self, name) for name in ("node", "subject", "seconds", "asks", "extras")}
        body["findings"] = [finding_to_json(one) for one in self.findings]
        body["texts"] = [texts_to_json(one) for one in self.texts]
        return json.dumps(body)

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Return what `to_json` wrote."""
        from calm.results.audit import finding_from_json, texts_from_json

        body = json.loads(text)
        findings = [finding_from_json(one) for one in body.pop("findings")]
        texts = [texts_from_json(one).set_aside() for one in body.pop("texts")]
        return cls(findings=findings, texts=texts, **body)
