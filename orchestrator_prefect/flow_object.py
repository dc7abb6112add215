"""OptimizedFlow: a flow that keeps what its decorator was told, under whatever task runner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, runtime_checkable

from prefect.flows import Flow
from prefect.task_runners import TaskRunner

from orchestrator_prefect.loading import begin_loading
from orchestrator_prefect.settings.flow_settings import switched_off
from orchestrator_prefect.settings.misuse import refuse_flow_of
from orchestrator_prefect.settings.options import Options

P = ParamSpec("P")
R = TypeVar("R")


class OptimizedFlow(Flow[P, R]):
    """A `prefect.Flow` with the options of `@optimized_flow`.

    They go with the flow, not with its function: of one function many flows can be made. It travels
    as a plain `Flow`: workers need not have this package, nor learn of a password in the store's
    URL. Only what is deployed travels as it is: Prefect's `serve` hands it to the processes that
    run it. (Where a worker of Prefect loads the flow from its file, the decorator is there.)

    Attributes:
        options: what the decorator was told. is_deployed: has a deployment been made of it?
    """

    # Not in `vars`, where what was set on the function is, too.
    __slots__ = ("is_deployed", "options")

    options: Options
    is_deployed: bool

    @classmethod
    def of(cls, made: Flow[P, R], options: Options) -> OptimizedFlow[P, R]:
        """The same flow, with these options."""
        found: OptimizedFlow[P, R] = cls.__new__(cls)
        vars(found).update(vars(made))
        found.options, found.is_deployed = options, False
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As `prefect.Flow`; what planning needs is loaded meanwhile.

        Raises:
            TypeError: where another flow was made of this one.
        """
        refuse_flow_of(self)
        if self.options.mode != "off" and not switched_off():
            begin_loading()
        return super().__call__(*args, **kwargs)

    @property
    def __globals__(self) -> dict[str, Any]:
        """Asked for by Prefect where a flow was made of this one, before that is refused."""
        found: dict[str, Any] = getattr(self.fn, "__globals__", {})
        return found

    def with_options(self, **changes: Any) -> OptimizedFlow[P, R]:
        """As `prefect.Flow.with_options`; what the decorator was told still holds."""
        return self.of(super().with_options(**changes), self.options)

    def __get__(self, instance: Any, owner: Any) -> Flow[P, R]:
        found = super().__get__(instance, owner)
        return found if found is self else self.of(found, self.options)

    def plain(self) -> Flow[P, R]:
        """The same flow without what the decorator was told."""
        return _flow_of(vars(self))

    def to_deployment(self, *args: Any, **kwargs: Any) -> Any:
        """As `prefect.Flow.to_deployment`."""
        self.is_deployed = True
        return super().to_deployment(*args, **kwargs)

    async def ato_deployment(self, *args: Any, **kwargs: Any) -> Any:
        """As `prefect.Flow.ato_deployment`; asked for by `serve`."""
        self.is_deployed = True
        return await super().ato_deployment(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.is_deployed:
            return object.__new__, (Flow,), vars(self)
        if not isinstance(self.task_runner, Travels):
            return _arrived, (type(self), vars(self), self.options)
        make = self.task_runner.elsewhere()
        return _arrived, (type(self), vars(self) | {"task_runner": None}, self.options, make)


@runtime_checkable
class Travels(Protocol):
    """A task runner that can be made again in another process."""

    def elsewhere(self) -> Callable[[], TaskRunner[Any]]:
        """What makes it there; can be pickled."""
        ...


def _arrived(
    kind: type[OptimizedFlow[Any, Any]],
    state: dict[str, Any],
    options: Options,
    make: Callable[[], TaskRunner[Any]] | None = None,
) -> OptimizedFlow[Any, Any]:
    """A deployed flow in the process that runs it; `make` makes its task runner there."""
    found = _flow_of(state)
    if make is not None:
        found.task_runner = make()
    return kind.of(found, options)


def _flow_of(state: dict[str, Any]) -> Flow[Any, Any]:
    found: Flow[Any, Any] = Flow.__new__(Flow)
    vars(found).update(state)
    return found


def options_of(flow: object) -> Options:
    """What the decorator of this flow was told; nothing for a plain flow, or none."""
    return flow.options if isinstance(flow, OptimizedFlow) else Options()
