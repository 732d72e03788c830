"""A conversation as the model's own prompt: its chat template with thinking on or off, or plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from multilingual_math_audit.errors import EngineError
from multilingual_math_audit.evaluate.engines.protocol import Message
from multilingual_math_audit.records import Mode, digest

OPENING = re.compile(r"(<think>|<thinking>|\[THINK\]|<seed:think>)\s*$")


def thinking_flags(mode: Mode) -> dict[str, bool]:
    """What chat templates read to switch thinking; both names in use are set, and a template ignores what it lacks.

    >>> thinking_flags("non-thinking")
    {'enable_thinking': False, 'thinking': False}
    """
    return {"enable_thinking": mode == "thinking", "thinking": mode == "thinking"}


def plain_text(messages: Sequence[Message]) -> str:
    """A conversation as plain text, for a model that continues text: the turns, a blank line between them.

    >>> plain_text([Message("user", "1+1?"), Message("assistant", "2"), Message("user", "2+2?")])
    '1+1?\\n\\n2\\n\\n2+2?'
    """
    return "\n\n".join(message.content for message in messages)


class PromptTemplate:
    """A tokenizer's way from a conversation to token ids.

    `tokenizer` is a Hugging Face tokenizer or one with the same methods. A prompt never begins with two BOS tokens:
    text from a chat template is encoded without special tokens, since a template writes its own.
    """

    def __init__(self, tokenizer: Any, model: str) -> None:
        self.tokenizer = tokenizer
        self.model = model
        self._openings: dict[Mode, str] = {}
        self._last: tuple[Sequence[Message], Mode, list[int]] | None = None

    def render(self, messages: Sequence[Message], mode: Mode) -> str:
        """The prompt as text; raises EngineError when a chat mode is asked of a model without a chat template."""
        if mode == "base":
            return plain_text(messages)
        turns = [{"role": message.role, "content": message.content} for message in messages]
        try:
            text: str = self.tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=True, **thinking_flags(mode)
            )
        except Exception as error:
            if not getattr(self.tokenizer, "chat_template", None):
                raise EngineError(
                    f"{self.model} has no chat template, and mode {mode!r} needs one.",
                    "It is a base model: give --mode base.",
                ) from None
            raise EngineError(f"The chat template of {self.model} refuses the conversation: {error}.") from error
        return text

    def encode(self, messages: Sequence[Message], mode: Mode) -> list[int]:
        """The prompt as token ids; the last one is remembered, since samples of one prompt follow each other."""
        if self._last is not None and self._last[:2] == (messages, mode):
            return self._last[2]
        text = self.render(messages, mode)
        ids: list[int] = list(self.tokenizer.encode(text, add_special_tokens=mode == "base"))
        bos, eos = self.tokenizer.bos_token_id, self.tokenizer.eos_token_id
        if mode == "base" and len(ids) > 1 and ids[-1] == eos:
            ids.pop()  # some tokenizers close a plain text, and a closed text is not continued
        while bos is not None and ids[:2] == [bos, bos]:
            ids.pop(0)
        self._last = (messages, mode, ids)
        return ids

    def opening(self, mode: Mode) -> str:
        """The thinking tag with which the prompt itself opens the answer, or an empty string.

        Some templates end in `<think>`: the model then never writes the tag, and a text cut at the limit would read as
        if it had not been thinking. Engines put it back in front of the text.
        """
        if mode not in self._openings:
            found = OPENING.search(self.render([Message("user", "?")], mode)) if mode != "base" else None
            self._openings[mode] = found[0] if found else ""
        return self._openings[mode]

    def digest(self) -> str | None:
        """A digest of the chat template; None where there is none."""
        template = getattr(self.tokenizer, "chat_template", None)
        return digest(template) if template else None

    def facts(self) -> dict[str, Any]:
        """Whether the template can switch thinking and where it opens it, for the manifest."""
        template = str(getattr(self.tokenizer, "chat_template", None) or "")
        if not template:
            return {"chat_template": False}
        return {
            "chat_template": True,
            "thinking_switch": "enable_thinking" in template or bool(re.search(r"\bthinking\b", template)),
            "opens_thinking": bool(self.opening("thinking")),
        }
