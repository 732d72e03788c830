"""Which weights an engine runs: a public name, a revision, and why they cannot be loaded."""

from __future__ import annotations

import hashlib
from pathlib import Path

from multilingual_math_audit.errors import AuditError, EngineError

DTYPES = ("auto", "float32", "bfloat16", "float16")
_DIGESTED = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


def check_dtype(dtype: str | None) -> str | None:
    """The dtype, if it is one; raises EngineError.

    >>> check_dtype("bfloat16")
    'bfloat16'
    """
    if dtype is not None and dtype not in DTYPES:
        raise EngineError(f"There is no dtype {dtype!r} to load a model in.", f"Give one of {', '.join(DTYPES)}.")
    return dtype


def public_name(model: str) -> str:
    """A model's name without the machine's folders: a Hub id as it is, a folder's own name.

    >>> public_name("Qwen/Qwen3-8B")
    'Qwen/Qwen3-8B'
    """
    path = Path(model).expanduser()
    return path.resolve().name if path.exists() else model


def folder_revision(model: str) -> str | None:
    """A digest of a local model folder (its configuration, the names and sizes of the rest); None for a Hub id."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return None
    state = hashlib.sha256()
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        content = file.read_bytes() if file.name in _DIGESTED else str(file.stat().st_size).encode()
        state.update(file.name.encode() + b"\0" + content + b"\0")
    return f"folder-{state.hexdigest()[:16]}"


def require_model(model: str, revision: str | None) -> None:
    """Raise EngineError unless `model` is a model folder or a model on the Hub, before anything heavy is started."""
    path = Path(model).expanduser()
    if path.exists():
        if not (path / "config.json").exists():
            raise EngineError(f"{model} holds no model: it has no config.json.", "Give a folder in the Hub's format.")
        return
    from huggingface_hub import hf_hub_download

    try:
        hf_hub_download(model, "config.json", revision=revision)
    except Exception as error:
        raise explain_load_error(model, error) from None


def explain_load_error(model: str, error: Exception) -> AuditError:
    """What went wrong when a model was loaded, as an error the user can act on."""
    if isinstance(error, AuditError):
        return error
    said = " ".join(str(error).split())
    low = said.lower()
    if "gated repo" in low or "401 client error" in low or "403 client error" in low:
        return EngineError(
            f"The model {model!r} is gated or private.", "Ask for access on its page, then log in with: hf auth login"
        )
    unknown = ("is not a local folder", "repo id must", "not a valid model identifier", "404 client error")
    if any(words in low for words in unknown):
        return EngineError(
            f"There is no model {model!r}: it is neither a folder here nor a model on the Hub.",
            "Give a Hub id (ORG/NAME), a folder with config.json and weights, or 'smollm2'.",
        )
    away = ("couldn't connect", "check your connection", "offline", "name resolution")
    if any(words in low for words in away):
        return EngineError(
            f"The model {model!r} is not on this machine and the Hub cannot be reached.",
            "Give a folder that holds it, or try again with a network.",
        )
    if "trust_remote_code" in low:
        return EngineError(
            f"The model {model!r} brings code of its own, which is not run unasked.",
            "If you trust it: --engine-args trust_remote_code=true.",
        )
    if "out of memory" in low or isinstance(error, MemoryError):
        return EngineError(
            f"The model {model!r} does not fit into memory.", "Give a smaller model or --dtype bfloat16."
        )
    return EngineError(f"The model {model!r} cannot be loaded: {type(error).__name__}: {said[:600]}")
