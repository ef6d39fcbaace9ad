"""A server that the tests of the client tell what to answer."""

from collections.abc import Iterator

import pytest

from tests.collectors.servers import Server, serving, vector


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(lambda asked: vector(({}, 1))) as running:
        yield running
