"""How the bad-input tests ask for an error: its family and every word that its message must hold."""

import contextlib

import pytest


@contextlib.contextmanager
def refused(*words, error=ValueError, but=()):
    """The block raises `error`, whose message holds all of `words` (column, level, value, rows) and none of `but`."""
    with pytest.raises(error) as caught:
        yield caught
    message = str(caught.value)
    missing = [word for word in words if str(word) not in message]
    assert not missing, f"{message!r} does not say {missing}"
    assert not [word for word in but if word in message], message
    assert message.strip() and len(message) < 1200
