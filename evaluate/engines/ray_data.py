"""The Ray engine: a stage on a Ray cluster through Ray Data, one row one sample, an engine of ours in every actor."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from multilingual_math_audit.errors import AuditError, EngineError, MissingExtra, UsageError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
from multilingual_math_audit.evaluate.engines.protocol import (
    EngineFacts,
    Message,
    Request,
    Sample,
    SamplingSettings,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """How work lies on the cluster: every other engine argument goes to the engine in the actors.

    `inner` is that engine; `actors` how many run it; `block` how many requests an actor is given at a time, which is
    what a lost node costs; `cpus` and `gpus` what an actor reserves; `address` the cluster, else RAY_ADDRESS, else a
    cluster of this machine alone.
    """

    inner: str = ""
    actors: int = 0
    block: int = 64
    cpus: float = 1.0
    gpus: float = -1.0
    address: str | None = None


class RayEngine:
    """Samples from actors spread over a Ray cluster; Ray gives the block of a lost actor to another one.

    The actors run vLLM, or, with `endpoints`, ask those servers; `--engine-args inner=NAME` names any other engine.
    `data_parallel` is the number of actors, `tensor_parallel` the GPUs each reserves where the cluster has any.
    Raises MissingExtra without Ray, and EngineError with the actor's own words when its engine cannot start.
    """

    def __init__(self, config: EngineConfig) -> None:
        try:
            import ray
        except ImportError:
            raise MissingExtra("The ray engine", "ray") from None
        self.layout, self.inner = split_config(config)
        self._started = not ray.is_initialized()
        if self._started:
            try:
                ray.init(
                    address=self.layout.address, log_to_driver=False, include_dashboard=False, configure_logging=False
                )
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise EngineError(
                    f"There is no Ray cluster at {self.layout.address or 'RAY_ADDRESS'}: {error}",
                    "Start one with 'ray start --head', or leave the address out.",
                ) from None
        self._gpus = self.layout.gpus
        if self._gpus < 0:
            self._gpus = config.tensor_parallel if ray.cluster_resources().get("GPU") else 0

    def facts(self) -> EngineFacts:
        """The inner engine and Ray's version; whether samples repeat is the inner engine's matter."""
        return EngineFacts(
            engine="ray",
            model=self.inner.model,
            revision=self.inner.revision,
            versions={"ray": importlib.metadata.version("ray")},
            repeatable=self.inner.engine == "replay",
            repeatable_why=f"as the {self.inner.engine} engine in its actors",
            details={"inner": self.inner.engine, "actors": self._actors, "block": self.layout.block},
        )

    @property
    def _actors(self) -> int:
        return self.layout.actors or self.inner.data_parallel

    def generate(self, requests: Iterable[Request], settings: SamplingSettings) -> Iterator[Sample]:
        """Samples block by block as actors finish them; requests wait in Ray's object store, which spills to disk."""
        import ray
        from ray.exceptions import RayError

        blocks = [ray.put(block) for block in _blocks(requests, self.layout.block)]
        if not blocks:
            return
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        data = ray.data.from_arrow_refs(blocks).map_batches(
            Worker,
            fn_constructor_args=(dataclasses.replace(self.inner, data_parallel=1), settings),
            batch_size=self.layout.block,
            compute=ray.data.ActorPoolStrategy(size=min(self._actors, len(blocks))),
            num_cpus=self.layout.cpus,
            num_gpus=self._gpus,
        )
        try:
            for batch in data.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                for packed in batch["sample"].to_pylist():
                    yield Sample(**orjson.loads(packed))
        except RayError as error:
            raise _explained(error) from None

    def close(self) -> None:
        """Leave the cluster; one that this engine started ends."""
        import ray

        if self._started and ray.is_initialized():
            ray.shutdown()


class Worker:
    """What runs in an actor: an engine, loaded once, that answers one block of requests after another."""

    def __init__(self, config: EngineConfig, settings: SamplingSettings) -> None:
        self.settings = settings
        self.engine = open_engine(config)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[bytes]]:
        """The samples of a block of requests, packed as JSON."""
        requests = [unpack_request(packed) for packed in batch["request"]]
        return {"sample": [pack_sample(sample) for sample in self.engine.generate(requests, self.settings)]}


def split_config(config: EngineConfig) -> tuple[Layout, EngineConfig]:
    """How the work lies on the cluster, and the config of the engine in the actors.

    >>> layout, inner = split_config(EngineConfig("ray", "m", options={"block": 16, "max_num_seqs": 64}))
    >>> layout.block, inner.engine, dict(inner.options)
    (16, 'vllm', {'max_num_seqs': 64})
    """
    names = {field.name: field for field in dataclasses.fields(Layout)}
    options = dict(config.options)
    given = {name: options.pop(name) for name in names if name in options}
    inner = given.get("inner") or ("server" if config.endpoints else "replay" if config.recorded else "vllm")
    try:
        layout = Layout(
            inner=str(inner),
            actors=int(given.get("actors", 0)),
            block=int(given.get("block", 64)),
            cpus=float(given.get("cpus", 1.0)),
            gpus=float(given.get("gpus", -1.0)),
            address=given.get("address"),
        )
    except (TypeError, ValueError) as error:
        raise UsageError(f"An engine argument of ray is not a number: {error}.") from None
    if inner == "ray" or layout.block < 1 or layout.actors < 0:
        raise UsageError(f"The ray engine cannot run with {given}.", "Give inner=vllm, actors=4, block=64.")
    return layout, dataclasses.replace(config, engine=str(inner), options=options)


def pack_request(request: Request) -> bytes:
    """A request as JSON."""
    return orjson.dumps([request.id, [[m.role, m.content] for m in request.messages], request.seed])


def unpack_request(packed: bytes) -> Request:
    """The request that was packed.

    >>> request = Request("a", (Message("user", "1+1?"),), 7)
    >>> unpack_request(pack_request(request)) == request
    True
    """
    name, messages, seed = orjson.loads(packed)
    return Request(name, tuple(Message(role, content) for role, content in messages), seed)


def pack_sample(sample: Sample) -> bytes:
    """A sample as JSON; lone surrogates become U+FFFD."""
    row = dataclasses.asdict(sample)
    try:
        return orjson.dumps(row)
    except TypeError:
        return orjson.dumps(
            {k: v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for k, v in row.items()}
        )


def _blocks(requests: Iterable[Request], size: int) -> Iterator[Any]:
    import pyarrow

    rows: list[bytes] = []
    for request in requests:
        rows.append(pack_request(request))
        if len(rows) == size:
            yield pyarrow.table({"request": rows})
            rows = []
    if rows:
        yield pyarrow.table({"request": rows})


def _explained(error: BaseException) -> AuditError:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, AuditError):
            return EngineError(str(cause))
        seen.add(id(cause))
        cause = getattr(cause, "cause", None) or cause.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else type(error).__name__)
    return EngineError(f"An actor of the Ray cluster failed: {said[:500]}", "'ray logs' has its whole output.")
