"""A trained scorer of answers: it reads batches, names its learning rates, and lives in a folder or on the Hub."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import torch
from huggingface_hub import PyTorchModelHubMixin, hf_hub_download
from numpy.typing import NDArray
from torch import Tensor, nn

from multilingual_math_audit.errors import SettingsMismatch, UsageError
from multilingual_math_audit.evaluate.verifier.groups import Batch, Group, collate

WEIGHTS = "model.safetensors"
C = TypeVar("C")


class Checkpoint(nn.Module, PyTorchModelHubMixin, Generic[C]):  # type: ignore[misc]
    """A scorer of answers: `forward(batch)` gives one logit per answer of the batch.

    `config` is a dataclass with at least `kind`, `width`, `streaming` and `source` (the header of the states it was
    trained on, or None). `save_pretrained`, `from_pretrained` and `push_to_hub` come from the Hub's mixin.
    """

    config_class: ClassVar[type[Any]]
    config: Any
    reads_others: ClassVar[bool] = True

    def __init__(self, config: C | Mapping[str, Any]) -> None:
        super().__init__()
        self.config = self.config_class(**config) if isinstance(config, Mapping) else config
        self._hub_mixin_config = dataclasses.asdict(self.config)

    def forward(self, batch: Batch) -> Tensor:
        """[A] float32 logits, one per answer."""
        raise NotImplementedError

    def parameter_groups(self, rates: Mapping[str, float]) -> list[dict[str, Any]]:
        """Parameters by learning rate, for an optimiser; `rates` has body, mixture and slots."""
        return [{"params": list(self.parameters()), "lr": rates["body"]}]

    @torch.no_grad()
    def initialise(self, seed: int) -> Self:
        """Draw all weights anew from `seed`: the same seed gives the same bits."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.reset_parameters()
        return self

    def reset_parameters(self) -> None:
        """Draw all weights anew from torch's generator."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """What the weights are stored in."""
        return next(self.parameters()).dtype

    def require(self, width: int, source: Mapping[str, Any] | None) -> None:
        """Raise SettingsMismatch unless states of this width and header are what the scorer was trained on."""
        if width != self.config.width:
            raise SettingsMismatch(
                f"The states are {width} wide; the checkpoint reads states {self.config.width} wide.",
                "Use the states of the model it was trained on.",
            )
        if source is not None and self.config.source is not None:
            for name in ("model", "revision", "layer", "norm"):
                if self.config.source.get(name) != source.get(name):
                    raise SettingsMismatch(
                        f"The states have {name} {source.get(name)!r}; the checkpoint was trained on "
                        f"{name} {self.config.source.get(name)!r}.",
                        "Collect states with the model, layer and norm of the checkpoint.",
                    )

    @torch.inference_mode()
    def probabilities(self, group: Group) -> NDArray[np.float64]:
        """Probability of being right for each answer of a group (terminal checkpoint: for each terminal answer)."""
        return self.score_groups([group])[0]

    @torch.inference_mode()
    def score_groups(self, groups: list[Group]) -> list[NDArray[np.float64]]:
        """Probabilities of several groups read in one batch; the groups do not see each other."""
        for group in groups:
            self.require(group.width, None)
        batch = collate(groups, streaming=self.config.streaming)
        scores = torch.sigmoid(self(batch.to(self.device, self.dtype)).double()).cpu()
        counts = torch.bincount(batch.group, minlength=len(groups)).tolist()
        return [part.numpy() for part in torch.split(scores, counts)]

    @classmethod
    def _from_pretrained(cls, *, model_id: str, config: Mapping[str, Any] | None = None, **options: Any) -> Self:
        from safetensors.torch import load_file

        options.pop("map_location", None), options.pop("strict", None)
        if config is None:
            raise UsageError(f"{model_id} holds no config.json.", "Give a folder or repository that `train` wrote.")
        if config.get("kind") != cls.config_class.kind:
            raise UsageError(f"{model_id} holds a {config.get('kind')!r} checkpoint, not a {cls.config_class.kind!r}.")
        folder = Path(model_id)
        known = ("revision", "cache_dir", "force_download", "local_files_only", "token")
        file = (
            folder / WEIGHTS
            if folder.is_dir()
            else Path(hf_hub_download(model_id, WEIGHTS, **{name: options[name] for name in known if name in options}))
        )
        try:
            weights = load_file(str(file))
            model = cls(config)
            model.load_state_dict(weights)
        except (TypeError, RuntimeError, OSError, ValueError) as error:
            raise UsageError(f"{file} does not fit its config.json: {str(error).splitlines()[0]}") from None
        except Exception as error:  # safetensors raises its own class, which it does not export everywhere
            raise UsageError(f"{file} cannot be read: {error}.") from None
        return model.to(next(iter(weights.values())).dtype).eval()


def default_device() -> str:
    """The GPU where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def read_config(folder: str | Path) -> dict[str, Any]:
    """The config.json of a checkpoint folder; raises UsageError when there is none."""
    file = Path(folder) / "config.json"
    try:
        config = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file} cannot be read: {error}.", "Give a folder that `math-audit verifier train` wrote."
        ) from None
    if not isinstance(config, dict) or "kind" not in config:
        raise UsageError(f"{file} is not the config of a verifier.")
    return config
