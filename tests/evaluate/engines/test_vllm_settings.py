"""What vLLM is started with, without vLLM: defaults on a CPU and the refusal of what is known to break."""

from __future__ import annotations

import sys

import pytest

from multilingual_math_audit.errors import EngineError, MissingExtra, UsageError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
from multilingual_math_audit.evaluate.engines.vllm_settings import check_names, engine_arguments, repeatability


def test_a_cpu_gets_the_settings_under_which_seeds_and_the_prefix_cache_work() -> None:
    """Chunked prefill is off (it kills requests with seeds), blocks are of 32, and a whole prompt fits into a step."""
    arguments = engine_arguments(EngineConfig("vllm", "m"), cpu=True, context=32_768)
    assert arguments["enable_chunked_prefill"] is False
    assert arguments["block_size"] == 32
    assert arguments["max_num_batched_tokens"] == arguments["max_model_len"] == 32_768
    assert arguments["enable_prefix_caching"] is True


def test_a_gpu_keeps_vllms_own_defaults() -> None:
    """On a GPU nothing is set but what was asked for, prefix caching and quiet logs."""
    config = EngineConfig("vllm", "m", tensor_parallel=2, data_parallel=4, dtype="bfloat16", revision="abc")
    arguments = engine_arguments(config, cpu=False)
    assert (arguments["tensor_parallel_size"], arguments["data_parallel_size"]) == (2, 4)
    assert (arguments["dtype"], arguments["revision"]) == ("bfloat16", "abc")
    assert not {"block_size", "enable_chunked_prefill", "max_num_batched_tokens", "enforce_eager"} & set(arguments)


def test_engine_arguments_are_passed_through() -> None:
    """An engine argument of the user goes before a default."""
    config = EngineConfig("vllm", "m", options={"max_num_seqs": 7, "block_size": 64, "quantization": "fp8"})
    arguments = engine_arguments(config, cpu=True)
    assert (arguments["max_num_seqs"], arguments["block_size"], arguments["quantization"]) == (7, 64, "fp8")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"enable_chunked_prefill": True}, "dies of chunked prefill together with seeds"),
        ({"max_num_batched_tokens": 512}, "max_num_batched_tokens=512 is less than the longest prompt of 8192"),
        ({"block_size": 16}, "multiple of 32"),
    ],
)
def test_settings_known_to_break_on_a_cpu_are_refused(options: dict[str, object], said: str) -> None:
    """Each setting that would kill the engine on a CPU is refused before it starts, and accepted on a GPU."""
    config = EngineConfig("vllm", "m", options=options)
    with pytest.raises(EngineError, match=said):
        engine_arguments(config, cpu=True)
    assert engine_arguments(config, cpu=False)


def test_an_argument_vllm_does_not_have_names_a_near_one() -> None:
    """A misspelt engine argument is an error with a suggestion, not a traceback."""
    with pytest.raises(UsageError, match="Did you mean 'max_num_seqs'"):
        check_names({"max_num_seq": 1}, {"max_num_seqs": None, "dtype": None})


def test_what_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """float32 on a CPU repeats, bfloat16 does not, a GPU does only with batch-invariant kernels."""
    monkeypatch.delenv("VLLM_BATCH_INVARIANT", raising=False)
    assert repeatability(cpu=True, dtype="float32")[0]
    assert not repeatability(cpu=True, dtype="bfloat16")[0]
    assert not repeatability(cpu=False, dtype="float32")[0]
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")
    assert repeatability(cpu=False, dtype="bfloat16")[0]


def test_without_vllm_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing vLLM names the extra."""
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingExtra, match=r"pip install 'multilingual-math-audit\[vllm\]'"):
        open_engine(EngineConfig("vllm", "m"))
