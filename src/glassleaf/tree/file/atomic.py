"""Files that are written whole or not at all: whoever reads one sees the old content or the new."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole or not at all."""
    with atomic_file(path) as file:
        file.write(content)


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to. It takes its place if all went well, and leaves no trace otherwise.

    What is no file but can be written to, such as /dev/null or a named pipe, is written to.
    """
    target = os.path.realpath(path)
    if not os.fspath(path) or os.path.isdir(target):
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder; give the name of a file in it.")
    if not os.path.isdir(os.path.dirname(target)):
        raise FileNotFoundError(f"There is no folder {os.path.dirname(os.fspath(path))!r}.")
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as direct:
            yield direct
        return
    beside = f"{target}.{os.urandom(6).hex()}.tmp"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        _sync(beside, os.O_RDWR)  # opened anew: the writer may have closed it
        if os.path.exists(target):
            os.chmod(beside, os.stat(target).st_mode & 0o777)
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise
    if hasattr(os, "O_DIRECTORY"):  # where a folder can be opened: make the new name last
        _sync(os.path.dirname(target), os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: str, flags: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
