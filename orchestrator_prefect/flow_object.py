"""OptimizedFlow: a flow that keeps what its decorator was told, under whatever task runner."""

from __future__ import annotations

from typing import Any, ParamSpec, TypeVar

from prefect.flows import Flow

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
    URL; where a deployment loads the flow, the decorator is there.
    """

    # Not in `vars`, where what was set on the function is, too.
    __slots__ = ("options",)

    options: Options

    @classmethod
    def of(cls, made: Flow[P, R], options: Options) -> OptimizedFlow[P, R]:
        """The same flow, with these options."""
        found: OptimizedFlow[P, R] = cls.__new__(cls)
        vars(found).update(vars(made))
        found.options = options
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
        return OptimizedFlow.of(super().with_options(**changes), self.options)

    def __get__(self, instance: Any, owner: Any) -> Flow[P, R]:
        found = super().__get__(instance, owner)
        return found if found is self else OptimizedFlow.of(found, self.options)

    def __reduce__(self) -> tuple[Any, ...]:
        return object.__new__, (Flow,), vars(self)


def options_of(flow: object) -> Options:
    """What the decorator of this flow was told; nothing for a plain flow, or none."""
    return flow.options if isinstance(flow, OptimizedFlow) else Options()
