"""Attributes that are computed once: no thread, and no forked process, waits for another's."""

import threading

from glmclf.caching import cached_property


class Slow:
    def __init__(self):
        self.inside, self.go, self.times = threading.Event(), threading.Event(), 0

    @cached_property
    def value(self):
        """Waits until it is let go."""
        self.times += 1
        self.inside.set()
        return self.go.wait(60)


def test_an_instance_does_not_wait_for_another():
    one, other = Slow(), Slow()
    first = threading.Thread(target=lambda: one.value)
    first.start()
    assert one.inside.wait(60)
    other.go.set()
    second = threading.Thread(target=lambda: other.value, daemon=True)
    second.start()
    second.join(30)
    waiting = second.is_alive()
    one.go.set()
    first.join()
    assert not waiting and other.value is one.value is True and other.times == one.times == 1
    assert isinstance(Slow.value, cached_property)
