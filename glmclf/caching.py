"""Attributes that are computed once, without a lock."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """`functools.cached_property` as it is from Python 3.12 on.

        In 3.11 all instances share a lock while one computes: other threads wait, and a process that is forked
        meanwhile waits for ever, as none of its own threads has the lock.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            known = instance.__dict__
            if self.attrname not in known:
                known[self.attrname] = self.func(instance)
            return known[self.attrname]
