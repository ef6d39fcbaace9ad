"""The first run of a session is one of the whole page, whatever part of it a browser asks for.

A page that has lost its server goes on to ask the next one for the parts that refresh by themselves. That one does not
know them, and Streamlit answers nothing: what was on the screen would stay there, as old as it is.
"""

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from starlette.types import Message, Receive
from streamlit.proto.BackMsg_pb2 import BackMsg


def whole_at_first(receive: Receive) -> Receive:
    """The messages of a session's web socket, the first that asks for a run without the part that it asks for."""
    is_first = True

    async def received() -> Message:
        nonlocal is_first
        message = await receive()
        if is_first and message["type"] == "websocket.receive" and message.get("bytes"):
            asking = _run_of(message["bytes"])
            if asking is not None:
                is_first = False
                if asking.rerun_script.fragment_id:
                    message = {**message, "bytes": _whole(asking)}
        return message

    return received


def _run_of(sent: bytes) -> BackMsg | None:
    """A message that asks for a run; None for any other, which is for Streamlit to refuse or answer."""
    try:
        asking = BackMsg.FromString(sent)
    except DecodeError:
        return None
    return asking if asking.WhichOneof("type") == "rerun_script" else None


def _whole(asking: BackMsg) -> bytes:
    asking.rerun_script.ClearField("fragment_id")
    asking.rerun_script.ClearField("is_auto_rerun")
    return bytes(asking.SerializeToString())
