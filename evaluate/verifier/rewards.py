"""A process reward model as a scorer: the probability that the last step of a solution is good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from multilingual_math_audit.errors import EngineError, MissingExtra

SEPARATOR = "<extra_0>"
SYSTEM = "Please reason step by step, and put your final answer within \\boxed{}."


def with_steps(solution: str, answer: str) -> str:
    """A solution with its answer, a separator after every paragraph and at the end.

    >>> with_steps("First.\\n\\nThen.", "7")
    'First.<extra_0>Then.\\n\\nThe answer is \\\\boxed{7}.<extra_0>'
    """
    steps = [part.strip() for part in solution.split("\n\n") if part.strip()]
    closing = f"The answer is \\boxed{{{answer}}}."
    last = f"{steps[-1]}\n\n{closing}" if steps else closing
    return SEPARATOR.join([*steps[:-1], last]) + SEPARATOR


class RewardModel:
    """A token classifier with two classes per token, read at the last separator: softmax of the second class.

    Any model in the manner of Qwen2.5-Math-PRM: `model` gives logits [batch, tokens, 2] and knows `<extra_0>`.
    """

    def __init__(self, model: str, *, device: str = "cpu") -> None:
        try:
            import torch
            from transformers import AutoModel, AutoModelForTokenClassification, AutoTokenizer
        except ImportError:
            raise MissingExtra("A process reward model", "verifier") from None
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(model)
            try:
                self.model = AutoModelForTokenClassification.from_pretrained(model, dtype=torch.float32)
            except ValueError:
                self.model = AutoModel.from_pretrained(model, dtype=torch.float32)
        except (OSError, ValueError) as error:
            raise EngineError(f"The reward model {model} cannot be loaded: {str(error).splitlines()[0]}") from None
        self.model = self.model.eval().to(device)
        marks = self.tokenizer.encode(SEPARATOR, add_special_tokens=False)
        if len(marks) != 1:
            raise EngineError(f"{model} does not know the token {SEPARATOR}.", "Give a process reward model.")
        self.mark = marks[0]

    def score(self, question: str, traces: Sequence[tuple[str, str]]) -> list[float]:
        """The score of each (solution so far, answer) of a problem, in [0, 1]."""
        return [self._score(question, with_steps(solution, answer)) for solution, answer in traces]

    def _score(self, question: str, text: str) -> float:
        import torch

        turns = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": question},
            {"role": "assistant", "content": text},
        ]
        if getattr(self.tokenizer, "chat_template", None):
            text = self.tokenizer.apply_chat_template(turns, tokenize=False)
        ids = torch.tensor([self.tokenizer.encode(text, add_special_tokens=False)], device=self.model.device)
        with torch.inference_mode():
            output: Any = self.model(input_ids=ids)
        logits = output.logits if hasattr(output, "logits") else output[0]
        places = (ids[0] == self.mark).nonzero().ravel()
        if logits.shape[-1] != 2 or len(places) == 0:
            raise EngineError("The reward model does not give two classes at its separators.")
        return float(torch.softmax(logits[0, places[-1]].float(), -1)[1].item())
