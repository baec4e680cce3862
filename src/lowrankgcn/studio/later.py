"""Values that a thread computes while the server answers already.

>>> numbers = Later(lambda: [3, 4])
>>> numbers.index(4), numbers.ready()
(1, True)
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any, final


@final
class Later:
    """A value whose attributes can be used at once; they wait until it is there.

    Parameters
    ----------
    compute : callable
        Return the value. If it fails, so does every use of the value.

    Attributes
    ----------
    future : Future
    """

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.future: Future[Any] = Future()
        Thread(target=self._run, args=(compute,), daemon=True, name="studio").start()

    def _run(self, compute: Callable[[], Any]) -> None:
        try:
            self.future.set_result(compute())
        except Exception as error:
            self.future.set_exception(error)

    def ready(self) -> bool:
        """Return whether the value is there."""
        return self.future.done() and self.future.exception() is None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.future.result(), name)
