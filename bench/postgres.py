"""A real PostgreSQL for benchmarks and tests: a server of its own on a free port, gone with its folder at the end."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg

USER = "postgres"


def programs() -> Path | None:
    """The folder with the server's programs: Debian keeps them out of PATH. None where there is no server."""
    on_path = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    return Path(on_path).parent if on_path else folders[-1] if folders else None


class Postgres:
    """A server that can be stopped and started again; ``durable``: also where the machine goes away under it, which
    writes every file of every database to the disk at the next start."""

    def __init__(self, programs: Path, folder: Path, *, durable: bool) -> None:
        self._programs, self._folder, self._durable = programs, folder, durable
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._databases = 0
        self._call("initdb", "-D", str(folder / "data"), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c max_connections=200 -k {self._folder}"
        options += "" if self._durable else " -c fsync=off"
        self._control("start", "-o", options, "-l", str(self._folder / "log"))

    def stop(self) -> None:
        """Stop it as if the machine went away: connections are cut, the next start recovers."""
        self._control("stop", "-m", "immediate")

    def stall(self) -> None:
        """Stop every process of it where it stands; the machine goes on to acknowledge what it is sent."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the processes go on that :meth:`stall` has stopped."""
        self._signal(signal.SIGCONT)

    def _signal(self, wanted: signal.Signals) -> None:
        server = psutil.Process(int((self._folder / "data" / "postmaster.pid").read_text().splitlines()[0]))
        for process in [server, *server.children(recursive=True)]:
            process.send_signal(wanted)

    def new_database(self) -> str:
        """The address of an empty database."""
        self._databases += 1
        name = f"library_{self._databases}"
        with psycopg.connect(self.address(USER), autocommit=True) as connection:
            connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))
        return self.address(name)

    def address(self, name: str) -> str:
        """The address of a database."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{name}"

    def _control(self, *arguments: str) -> None:
        self._call("pg_ctl", "-D", str(self._folder / "data"), "-w", "-t", "120", *arguments)

    def _call(self, program: str, *arguments: str) -> None:
        # The server refuses to run as root; Debian's package has made a user for it.
        user = USER if os.geteuid() == 0 else None
        with (self._folder / "calls").open("a+") as log:
            done = subprocess.run(
                [self._programs / program, *arguments],
                user=user,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
            )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {(self._folder / 'calls').read_text()[-2000:]}")


@contextmanager
def running_postgres(programs: Path, *, durable: bool = True) -> Iterator[Postgres]:
    """A server with nothing in it."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        server = Postgres(programs, folder, durable=durable)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
