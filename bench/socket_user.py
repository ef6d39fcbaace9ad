"""A user of the dashboard without a browser: Streamlit's own messages over its web socket.

It does what Streamlit's page does in a browser: keeps large messages and says which it has, runs fragments again when
they are due, sends the address that the server wrote, connects again with what was filled in. It draws nothing, which a
browser does on the user's machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from types import TracebackType
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Navigation_pb2 import Navigation
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Subprotocol

LARGEST_MESSAGE = 1 << 26
"""Bytes of one message of the server at most."""
RUNS_KEPT = 2
"""Runs after which a message that was not seen again is forgotten: global.maxCachedMessageAge of Streamlit."""
NO_TOKEN = "PLACEHOLDER_AUTH_TOKEN"
"""What Streamlit's page sends between the protocol and the session that it had where it has no token."""


class PageFailed(RuntimeError):
    """The page showed an exception, or the server hung up."""


class HungUp(PageFailed):
    """The server hung up, or does not answer at all."""


class SocketUser:
    """One session. ``origin`` is where the dashboard answers, such as http://localhost:8501; ``cookie`` what a proxy
    before it gave this browser."""

    def __init__(self, origin: str, *, cookie: str = "") -> None:
        self._origin, self._cookie, self._slug, self._query = origin, cookie, "", ""
        self._socket: ClientConnection | None = None
        self._listening: asyncio.Task[None] | None = None
        self._refreshing: dict[str, asyncio.Task[None]] = {}
        self._finished = asyncio.Event()
        self._session = ""
        self._pages: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._drawn: set[str] = set()
        self._set: dict[str, WidgetState] = {}
        self._kept: dict[str, int] = {}
        self._run = 0
        self._failure: PageFailed | None = None
        self._texts: list[str] = []

    async def __aenter__(self) -> SocketUser:
        await self._connect()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        await self._hang_up()

    async def _connect(self) -> None:
        """Raises HungUp where nobody answers."""
        protocols = ("streamlit", NO_TOKEN, self._session) if self._session else ("streamlit",)
        try:
            self._socket = await connect(
                self._origin.replace("http", "ws", 1) + "/_stcore/stream",
                subprotocols=[Subprotocol(one) for one in protocols],
                additional_headers={"Cookie": self._cookie} if self._cookie else None,
                origin=None,
                max_size=LARGEST_MESSAGE,
                ping_interval=None,
                compression=None,
                open_timeout=120,
            )
        except (OSError, WebSocketException) as refused:
            raise HungUp(f"nobody answered: {refused}") from refused
        self._failure = None
        self._listening = asyncio.create_task(self._listen())

    async def _hang_up(self) -> None:
        self._stop_refreshing()
        if self._listening is not None:
            self._listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listening
        if self._socket is not None:
            await self._socket.close()

    @property
    def slug(self) -> str:
        """The page that the session is at."""
        return self._slug

    @property
    def address(self) -> str:
        """Where the session is: page and inputs."""
        return f"{self._slug}?{self._query}"

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the last run, in the order they were drawn."""
        return tuple(self._texts)

    def shows(self, key: str) -> bool:
        """Whether the last run of the whole page drew a widget with this key."""
        return key in self._drawn

    async def open(self, slug: str, query: str = "") -> float:
        """Open a page as by its address. Seconds until it is drawn."""
        self._slug, self._query = slug, query
        return await self._answered(ClientState(page_name=slug))

    async def connect(self) -> None:
        """What an idle page does by itself once its connection is lost: it draws nothing until something is asked."""
        await self._hang_up()
        await self._connect()
        self._kept.clear()

    async def connect_again(self) -> float:
        """What a page does whose run was interrupted: all that was filled in goes along. Seconds until it is drawn."""
        await self.connect()
        return await self._answered(ClientState(page_name=self._slug))

    async def go(self, slug: str) -> float:
        """Go to another page by the navigation, inputs in the address. Seconds until it is drawn."""
        self._slug = slug
        self._set.clear()
        return await self._answered(ClientState(page_script_hash=self._pages[slug]))

    async def set(self, key: str, value: str | bool) -> float:
        """Fill in a field or a choice by its key, open a tab by its title. Seconds until the page is drawn again."""
        state = WidgetState(id=self._ids[key])
        if isinstance(value, bool):
            state.bool_value = value
        else:
            state.string_value = value
        self._set[state.id] = state
        return await self._answered(self._at_this_page())

    async def click(self, key: str) -> float:
        """Press a button by its key. Seconds until the page is drawn again."""
        pressed = self._at_this_page()
        pressed.widget_states.widgets.append(WidgetState(id=self._ids[key], trigger_value=True))
        return await self._answered(pressed)

    def _at_this_page(self) -> ClientState:
        return ClientState(page_script_hash=self._pages[self._slug])

    async def _answered(self, state: ClientState) -> float:
        self._stop_refreshing()
        self._finished.clear()
        begun = time.perf_counter()
        try:
            await self._send(state)
        except ConnectionClosed as closed:
            raise HungUp(f"the server hung up: {closed}") from closed
        await self._finished.wait()
        if self._failure:
            raise self._failure
        return time.perf_counter() - begun

    async def _send(self, state: ClientState) -> None:
        assert self._socket is not None
        state.query_string = self._query
        state.widget_states.widgets.extend(self._set.values())
        state.cached_message_hashes.extend(self._kept)
        state.context_info.url = f"{self._origin}/{self._slug}"
        state.context_info.timezone = "UTC"
        state.context_info.locale = "en-US"
        await self._socket.send(BackMsg(rerun_script=state).SerializeToString())

    async def _listen(self) -> None:
        assert self._socket is not None
        try:
            async for data in self._socket:
                assert isinstance(data, bytes)
                self._take(ForwardMsg.FromString(data))
            self._failure = HungUp("the server said goodbye")
        except ConnectionClosed as closed:
            self._failure = HungUp(f"the server hung up: {closed}")
        finally:
            self._finished.set()

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if message.metadata.cacheable:
            self._kept[message.hash] = self._run
        if kind == "new_session":
            self._session = message.new_session.initialize.session_id
            self._begin(whole=not message.metadata.run.fragment_ids)
        elif kind == "navigation":
            self._navigate(message.navigation)
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "ref_hash":
            self._kept[message.ref_hash] = self._run
        elif kind == "delta":
            self._draw(message.delta)
        elif kind == "auto_rerun":
            self._refresh(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "script_finished":
            self._end(message.script_finished)

    def _begin(self, *, whole: bool) -> None:
        self._run += 1
        if whole:
            self._drawn.clear()
        self._texts.clear()
        self._kept = {key: run for key, run in self._kept.items() if self._run - run <= RUNS_KEPT}

    def _navigate(self, navigation: Navigation) -> None:
        self._pages = {page.url_pathname: page.page_script_hash for page in navigation.app_pages}
        self._slug = next((slug for slug, page in self._pages.items() if page == navigation.page_script_hash), "")

    def _draw(self, delta: Delta) -> None:
        drawn = delta.new_element if delta.HasField("new_element") else delta.add_block
        kind = drawn.WhichOneof("type")
        shown: Any = getattr(drawn, kind) if kind else None
        if kind == "exception":
            self._failure = PageFailed(f"{shown.type}: {shown.message}")
        if kind in ("markdown", "alert"):
            self._texts.append(shown.body)
        for identifier in (getattr(shown, "id", ""), getattr(drawn, "id", "")):
            if isinstance(identifier, str) and identifier.startswith("$$ID-"):
                key = identifier.split("-", 2)[2]
                self._ids[key] = identifier
                self._drawn.add(key)

    def _end(self, status: int) -> None:
        if status in (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR):
            self._finished.set()

    def _refresh(self, fragment: str, interval: float) -> None:
        if fragment not in self._refreshing:
            self._refreshing[fragment] = asyncio.create_task(self._every(fragment, interval))

    async def _every(self, fragment: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            page = self._pages.get(self._slug, "")
            with contextlib.suppress(ConnectionClosed):
                await self._send(ClientState(page_script_hash=page, fragment_id=fragment, is_auto_rerun=True))

    def _stop_refreshing(self) -> None:
        for task in self._refreshing.values():
            task.cancel()
        self._refreshing.clear()
