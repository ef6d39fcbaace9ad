"""The first run that a session asks for is one of the whole page."""

from collections.abc import Iterator

import pytest
from starlette.types import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState

from tests.loops import awaited
from ui.gate.requests import whole_at_first


def run(fragment: str = "") -> bytes:
    state = ClientState(query_string="isl=7", fragment_id=fragment, is_auto_rerun=bool(fragment))
    return BackMsg(rerun_script=state).SerializeToString()


def received(*sent: bytes) -> list[bytes]:
    """What Streamlit is given of what a browser sends."""
    messages: Iterator[Message] = iter({"type": "websocket.receive", "bytes": one} for one in sent)

    async def receive() -> Message:
        return next(messages)

    async def all_of_them() -> list[bytes]:
        guarded = whole_at_first(receive)
        return [(await guarded())["bytes"] for _ in sent]

    return awaited(all_of_them)


def test_a_part_of_a_page_is_asked_for_only_after_all_of_it() -> None:
    assert received(run("part"), run("part")) == [run(), run("part")]
    assert received(run(), run("part")) == [run(), run("part")]


@pytest.mark.parametrize("before", [BackMsg(clear_cache=True).SerializeToString(), b"\xff\xffnonsense"])
def test_what_is_no_run_goes_through_as_it_is(before: bytes) -> None:
    assert received(before, run("part")) == [before, run()]
