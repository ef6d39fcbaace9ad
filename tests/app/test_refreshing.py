"""What follows a part that refreshes itself keeps its place, whenever that part starts again."""

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from ui.shell import refreshed

    st.title("Above")
    refreshed(lambda: st.markdown("now and again"), 5.0)()
    st.caption("Below")


def test_a_refresh_before_the_page_was_sent_leaves_no_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[ForwardMsg] = []
    enqueue = ForwardMsgQueue.enqueue

    def kept(self: ForwardMsgQueue, message: ForwardMsg) -> None:
        sent.append(message)
        enqueue(self, message)

    monkeypatch.setattr(ForwardMsgQueue, "enqueue", kept)
    app = AppTest.from_function(page).run()
    assert (app.title[0].value, app.markdown[0].value, app.caption[0].value) == ("Above", "now and again", "Below")
    deltas = [message for message in sent if message.WhichOneof("type") == "delta"]
    fragments = {message.delta.fragment_id for message in deltas} - {""}
    assert len(fragments) == 1
    waiting = ForwardMsgQueue()
    for message in deltas:
        enqueue(waiting, message)
    waiting.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=list(fragments))
    left = [tuple(message.metadata.delta_path) for message in waiting.flush()]
    assert len(left) < len(deltas), "what the fragment had drawn is dropped"
    assert left == [(0, 0), (0, 1), (0, 2)], "the page keeps its places"
