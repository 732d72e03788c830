"""The errors a user can meet.

AuditError
├── UsageError        wrong words on a command line or wrong arguments of a function
├── UnknownName       a benchmark, solver, problem or field that does not exist
├── MissingExtra      an optional dependency is not installed
├── SourceError       a benchmark's source cannot be had or is another one
├── RecordError       a line of a run folder or an input file cannot be read
├── SettingsMismatch  a run folder holds other settings than asked for
├── RunLocked         another process is writing this run folder
├── StorageError      the disk is full, or the folder cannot be written
├── EngineError       a model cannot be loaded or a server does not answer as it should
└── UndefinedScore    a number was asked for that the data do not define
"""

from __future__ import annotations


class AuditError(Exception):
    """Something the user can mend: the message says what was asked, what was seen and what to do.

    >>> print(AuditError("Asked for n=4.", "Saw k=8.", "Give k no larger than n."))
    Asked for n=4. Saw k=8. Give k no larger than n.
    """

    def __init__(self, *sentences: str) -> None:
        super().__init__(" ".join(part.strip() for part in sentences if part.strip()))


class UsageError(AuditError):
    """Wrong words on a command line or wrong arguments of a function."""


class UnknownName(AuditError):
    """A name that does not exist; the message lists those that do."""


class MissingExtra(AuditError):
    """An optional dependency is not installed.

    >>> print(MissingExtra("the vllm engine", "vllm"))
    the vllm engine needs an optional dependency. Install it with: pip install 'multilingual-math-audit[vllm]'
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs an optional dependency.",
            f"Install it with: pip install 'multilingual-math-audit[{extra}]'",
        )


class SourceError(AuditError):
    """A benchmark's source cannot be had or is another one than pinned."""


class RecordError(AuditError):
    """A line of a run folder or an input file cannot be read."""


class SettingsMismatch(AuditError):
    """A run folder holds other settings than asked for."""


class RunLocked(AuditError):
    """Another process is writing this run folder."""


class StorageError(AuditError):
    """The disk is full, or the folder cannot be written."""


class EngineError(AuditError):
    """A model cannot be loaded, or a server does not answer as it should."""


class UndefinedScore(AuditError):
    """A number was asked for that the data do not define."""
