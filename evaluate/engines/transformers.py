"""The transformers engine: plain generation on a CPU or GPU, in batches, each row by its own seed."""

from __future__ import annotations

import importlib.metadata
import os
import random
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from multilingual_math_audit.errors import MissingExtra
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig
from multilingual_math_audit.evaluate.engines.grouped_attention import register
from multilingual_math_audit.evaluate.engines.protocol import EngineFacts, Request, Sample, SamplingSettings
from multilingual_math_audit.evaluate.engines.refusals import Refusals, context_overflow
from multilingual_math_audit.evaluate.engines.sampler import draw_tokens
from multilingual_math_audit.evaluate.engines.template import PromptTemplate
from multilingual_math_audit.evaluate.engines.weights import (
    check_dtype,
    explain_load_error,
    folder_revision,
    public_name,
    require_model,
)  # fmt: skip
from multilingual_math_audit.records import FinishReason

if TYPE_CHECKING:
    import torch

BATCH = 32
# A batch of so many rows is not held open for prompts that begin otherwise.
LEAST = 8


@dataclass(slots=True)
class Row:
    """One request on its way: its prompt, its own random numbers and the tokens drawn so far."""

    request: Request
    prompt: list[int]
    generator: random.Random
    tokens: list[int] = field(default_factory=list)


class TransformersEngine:
    """Samples of a model run in this process, `config.concurrency` rows at a time (32 by default).

    On a CPU the default dtype is float32. Rows of one batch that share a prompt share its computation; a row that is
    finished leaves the batch. Engine arguments `device` and `threads` are read here, all others go to
    `from_pretrained`. Raises MissingExtra without torch or transformers, and EngineError when the model cannot be
    loaded.
    """

    def __init__(self, config: EngineConfig) -> None:
        try:
            import torch
            import transformers
        except ImportError:
            raise MissingExtra("The transformers engine", "transformers") from None
        options = dict(config.options)
        self.config = config
        self.device = str(options.pop("device", "cuda" if torch.cuda.is_available() else "cpu"))
        self.batch = config.concurrency or BATCH
        dtype = check_dtype(config.dtype) or ("float32" if self.device == "cpu" else "auto")
        _set_threads(options.pop("threads", None), self.device)
        require_model(config.model, config.revision)
        transformers.logging.set_verbosity_error()
        # Newer versions call the argument `cache`, older ones know it by this name alone.
        warnings.filterwarnings("ignore", message=".*past_key_values.*", category=FutureWarning)
        transformers.logging.disable_progress_bar()
        if self.device == "cpu" and "attn_implementation" not in options and (grouped := register()) is not None:
            options["attn_implementation"] = grouped
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(config.model, revision=config.revision)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                config.model, revision=config.revision, dtype=dtype, **options
            )
            self.model = model.eval() if "device_map" in options else model.eval().to(self.device)
        except Exception as error:
            raise explain_load_error(config.model, error) from error
        self.tokenizer = tokenizer
        self.template = PromptTemplate(tokenizer, public_name(config.model))
        self._stops = _stop_tokens(model, tokenizer)
        longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.context = int(config.max_model_len or longest or 2**31)

    def facts(self) -> EngineFacts:
        """Versions, dtype and whether seeds repeat."""
        import torch

        exact = self.model.dtype == torch.float32
        return EngineFacts(
            engine="transformers",
            model=public_name(self.config.model),
            revision=self.config.revision or folder_revision(self.config.model) or self.model.config._commit_hash,
            versions={name: importlib.metadata.version(name) for name in ("torch", "transformers")},
            template_digest=self.template.digest(),
            repeatable=exact,
            repeatable_why=(
                "float32 and a seed a row: the same text in any batch, but for a draw within rounding of a boundary"
                if exact
                else f"{str(self.model.dtype).removeprefix('torch.')} rounds differently in another batch"
            ),
            details={
                "device": self.device,
                "dtype": str(self.model.dtype).removeprefix("torch."),
                "threads": torch.get_num_threads(),
                "batch": self.batch,
                "max_model_len": self.context,
                **self.template.facts(),
            },
        )

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        """Samples batch by batch, each the moment its row is finished."""
        refusals = Refusals()
        for group in self._batches(requests, settings):
            rows = []
            for request, prompt in group:
                if (why := context_overflow(len(prompt), settings, self.context)) is not None:
                    yield refusals.refuse(request, why)
                else:
                    rows.append(Row(request, prompt, random.Random(request.seed)))
            refusals.check(finished=False)
            for sample in self._run_batch(rows, settings):
                refusals.answer()
                yield sample
        refusals.check(finished=True)

    def _batches(
        self, requests: Iterable[Request], settings: SamplingSettings
    ) -> Iterator[list[tuple[Request, list[int]]]]:
        """Requests with their prompts, as many as a batch holds; one that shares little with a batch opens the next."""
        group: list[tuple[Request, list[int]]] = []
        shared = 0
        for request in requests:
            prompt = self.template.encode(request.messages, settings.mode)
            common = shared_length([group[0][1], prompt]) if group else len(prompt)
            if len(group) >= LEAST and common < min(shared, len(prompt)) // 2:
                yield group
                group, common = [], len(prompt)
            shared = min(shared, common) if group else len(prompt)
            group.append((request, prompt))
            if len(group) == self.batch:
                yield group
                group = []
        if group:
            yield group

    def close(self) -> None:
        """Let go of the model."""
        import gc

        import torch

        self.model = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _run_batch(self, rows: list[Row], settings: SamplingSettings) -> Iterator[Sample]:
        import torch

        if not rows:
            return
        logits, cache, mask = self._prefill(rows)
        while True:
            drawn = draw_tokens(
                logits, [row.generator for row in rows], temperature=settings.temperature, top_p=settings.top_p
            )
            alive: list[int] = []
            for place, (row, token) in enumerate(zip(rows, drawn, strict=True)):
                row.tokens.append(token)
                if (sample := self._finish(row, settings)) is not None:
                    yield sample
                else:
                    alive.append(place)
            if not alive:
                return
            if len(alive) < len(rows):
                chosen = torch.tensor(alive, device=mask.device)
                cache.batch_select_indices(chosen)
                mask, rows = mask[chosen], [rows[place] for place in alive]
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
            last = torch.tensor([[row.tokens[-1]] for row in rows], device=mask.device)
            logits, cache = self._forward(last, mask, cache)

    def _prefill(self, rows: Sequence[Row]) -> tuple[torch.Tensor, Any, torch.Tensor]:
        import torch

        prompts = list(dict.fromkeys(tuple(row.prompt) for row in rows))
        device, pad = self.model.device, self._stops[0] if self._stops else 0
        start = min(shared_length(prompts), min(map(len, prompts)) - 1)
        cache = None
        if start > 0 and len(prompts) > 1:
            # What all prompts begin with, worked examples say, is read once.
            once = torch.tensor([prompts[0][:start]], device=device)
            _, cache = self._forward(once, torch.ones_like(once), None)
            cache.batch_repeat_interleave(len(prompts))
        else:
            start = 0
        rest = [prompt[start:] for prompt in prompts]
        width = max(map(len, rest))
        ids = torch.tensor([[pad] * (width - len(tail)) + list(tail) for tail in rest], device=device)
        mask = torch.tensor([[1] * start + [0] * (width - len(tail)) + [1] * len(tail) for tail in rest], device=device)
        logits, cache = self._forward(ids, mask, cache)
        places = {prompt: place for place, prompt in enumerate(prompts)}
        chosen = torch.tensor([places[tuple(row.prompt)] for row in rows], device=device)
        cache.batch_select_indices(chosen)
        return logits[chosen], cache, mask[chosen]

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        import torch

        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        with torch.inference_mode():
            output = self.model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
        return output.logits[:, -1], output.past_key_values

    def _finish(self, row: Row, settings: SamplingSettings) -> Sample | None:
        reason: FinishReason | None = None
        ids, cut = row.tokens, None
        if row.tokens[-1] in self._stops:
            reason, ids = "stop", row.tokens[:-1]
        elif settings.stop and any(words in self.tokenizer.decode(row.tokens[-32:]) for words in settings.stop):
            reason, cut = "stop", settings.stop
        elif len(row.tokens) >= settings.max_tokens:
            reason = "length"
        if reason is None:
            return None
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        if cut is not None:
            text = text[: min((place for words in cut if (place := text.find(words)) >= 0), default=len(text))]
        return Sample(
            request_id=row.request.id,
            text=self.template.opening(settings.mode) + text,
            finish_reason=reason,
            prompt_tokens=len(row.prompt),
            completion_tokens=len(row.tokens),
            seed=row.request.seed,
        )


def shared_length(prompts: Sequence[Sequence[int]]) -> int:
    """How many tokens all prompts begin with.

    >>> shared_length([[1, 2, 3], [1, 2, 4, 5]])
    2
    """
    first, last = min(map(tuple, prompts)), max(map(tuple, prompts))
    return next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))


def _stop_tokens(model: Any, tokenizer: Any) -> list[int]:
    named = getattr(model.generation_config, "eos_token_id", None)
    stops = named if isinstance(named, list) else [named]
    return [token for token in dict.fromkeys([*stops, tokenizer.eos_token_id]) if token is not None]


def _set_threads(threads: int | None, device: str) -> None:
    """On a CPU leave one core free: threads that wait for each other on a busy machine are many times slower."""
    import torch

    if threads is None and (device != "cpu" or "OMP_NUM_THREADS" in os.environ):
        return
    torch.set_num_threads(threads or max(1, len(os.sched_getaffinity(0)) - 1))
