"""Log records without credentials: at DEBUG, the SDKs and HTTP libraries log addresses and headers."""

from __future__ import annotations

import logging
import traceback
from typing import Any

from calm.models.vault import hidden


def veil_logs() -> None:
    """Let no log record of this process, of whatever logger, hold a known credential."""
    made = logging.getLogRecordFactory()
    if not isinstance(made, _Veiled):
        logging.setLogRecordFactory(_Veiled(made))


class _Veiled:
    """A factory of records that takes the credentials out of what another one makes."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def __call__(self, *given: Any, **named: Any) -> logging.LogRecord:
        record: logging.LogRecord = self._made(*given, **named)
        try:
            text = record.getMessage()
        except (TypeError, ValueError):  # a faulty call of whoever logs: logging says so itself, when it formats it
            return record
        if (clean := hidden(text)) != text:
            record.msg, record.args = clean, ()
        if record.exc_info and record.exc_info[0] is not None:
            told = "".join(traceback.format_exception(*record.exc_info)).rstrip()
            if (clean := hidden(told)) != told:
                record.exc_text, record.exc_info = clean, None
        return record
