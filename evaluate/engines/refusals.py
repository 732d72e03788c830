"""When refused requests are a run's fault: one prompt that is too long is passed over, only such prompts stop it."""

from __future__ import annotations

from multilingual_math_audit.errors import EngineError
from multilingual_math_audit.evaluate.engines.protocol import Request, Sample, SamplingSettings

PATIENCE = 8
STREAK = 256


class Refusals:
    """Counts answers and refusals, and stops a run of which the first requests are all refused.

    A prompt that is too long says nothing of the next one, so later refusals of that kind stop nothing; but `STREAK`
    requests given up one after another, without an answer between them, mean that the server is of no use any more.

    >>> refusals = Refusals()
    >>> refusals.refuse(Request("a", (), 0), "too long").error
    'too long'
    >>> refusals.check(finished=True)
    Traceback (most recent call last):
        ...
    multilingual_math_audit.errors.EngineError: Every request was refused (1 so far). too long
    """

    def __init__(self) -> None:
        self.answered = 0
        self.refused = 0
        self.streak = 0
        self.last = ""

    def answer(self) -> None:
        """Count a request that was answered."""
        self.answered += 1
        self.streak = 0

    def give_up(self, request: Request, why: str) -> Sample:
        """Count a request that was sent again and again in vain."""
        self.streak += 1
        return self.refuse(request, why)

    def refuse(self, request: Request, why: str) -> Sample:
        """Count a refused request; the sample that says why there is no answer."""
        self.refused += 1
        self.last = why
        return Sample(request.id, finish_reason="error", seed=request.seed, error=why)

    def check(self, *, finished: bool) -> None:
        """Raise EngineError on a streak, or when none was answered and `PATIENCE` were refused or the run is over."""
        if self.answered == 0 and self.refused > 0 and (finished or self.refused >= PATIENCE):
            raise EngineError(f"Every request was refused ({self.refused} so far).", self.last)
        if self.streak >= STREAK:
            raise EngineError(f"{self.streak} requests in a row were given up.", self.last)


def context_overflow(prompt_tokens: int, settings: SamplingSettings, context: int) -> str | None:
    """Why a prompt and its budget do not fit into a model's context; None when they fit.

    >>> context_overflow(1000, SamplingSettings(max_tokens=512), 4096) is None
    True
    """
    if prompt_tokens + settings.max_tokens <= context:
        return None
    return (
        f"The prompt has {prompt_tokens:,} tokens and the budget is {settings.max_tokens:,}, together more than the "
        f"model's context of {context:,}. Give a smaller --budget or --judge-budget, or a larger --max-model-len."
    )
