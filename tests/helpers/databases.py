"""Databases that tests start themselves: a table of theirs, and what a query of it gives.

Each is opened once for all tests of a process, holds one table ``rows`` with ``id``, and is asked
by ``ask(expression)`` or ``scored(view)``: rows as dicts, in the order of ``id``.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import needed
import pandas as pd

TABLE = "all rows"


class ClickHouse:
    """ClickHouse in this process, by chdb."""

    dialects = ("clickhouse",)

    def __init__(self):
        self.session = needed.module("chdb.session").Session()
        self.folder = tempfile.mkdtemp()

    def load(self, table):
        path = os.path.join(self.folder, "rows.parquet")
        with_ids(table).to_parquet(path)
        self.session.query("CREATE DATABASE IF NOT EXISTS own ENGINE = Atomic")
        self.session.query("USE own")
        for kind, name in (("VIEW", "scored"), ("TABLE", f'"{TABLE}"')):
            self.session.query(f"DROP {kind} IF EXISTS {name}")
        self.session.query(
            f"CREATE TABLE \"{TABLE}\" ENGINE = Memory AS SELECT * FROM file('{path}', Parquet)"
        )

    def ask(self, expression):
        return self._rows(f'SELECT id, {expression} AS found FROM "{TABLE}" ORDER BY id')["found"]

    def scored(self, view):
        self.session.query(view)
        return self._rows("SELECT * FROM scored ORDER BY id")

    def close(self):
        self.session.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _rows(self, query):
        pa = needed.module("pyarrow")
        found = self.session.query(query, "Arrow")
        return pa.ipc.open_file(pa.py_buffer(found.bytes())).read_all().to_pandas()


class MariaDb:
    """Debian's MariaDB, as a process of its own in a folder of its own."""

    dialects = ("mariadb", "mysql")

    def __init__(self):
        server = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
        if server is None:
            needed.missing("MariaDB", "apt-get install mariadb-server")
        pymysql = needed.module("pymysql")
        self.folder = tempfile.mkdtemp()
        Path(self.folder, "data").mkdir()
        user = ["--user=root"] if os.getuid() == 0 else []
        # Without users there is nothing to install: an empty folder becomes a database.
        self.process = subprocess.Popen(
            [server, "--no-defaults", f"--datadir={self.folder}/data", *user, "--skip-networking",
             f"--socket={self.folder}/s", f"--pid-file={self.folder}/pid", "--skip-log-bin",
             "--skip-grant-tables", "--innodb-buffer-pool-size=32M"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.connection = self._connected(pymysql)
        self.run("CREATE DATABASE own CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        self.run("USE own")

    def _connected(self, pymysql):
        for _ in range(600):
            if Path(self.folder, "s").exists():
                try:
                    return pymysql.connect(unix_socket=f"{self.folder}/s", user="root",
                                           charset="utf8mb4")  # fmt: skip
                except pymysql.err.OperationalError:
                    pass
            time.sleep(0.1)
        raise RuntimeError("MariaDB did not start")

    def run(self, statement, rows=None):
        with self.connection.cursor() as cursor:
            if rows is None:
                cursor.execute(statement)
            else:
                cursor.executemany(statement, rows)
            names = [column[0] for column in cursor.description or ()]
            return pd.DataFrame(cursor.fetchall(), columns=names or None)

    def load(self, table):
        self.run("DROP VIEW IF EXISTS scored")
        self.run(f"DROP TABLE IF EXISTS `{TABLE}`")
        table = with_ids(table)
        kinds = [
            "INT" if name == "id" else "DOUBLE" if table[name].dtype == float else "VARCHAR(60)"
            for name in table
        ]
        names = ["`" + name.replace("`", "``") + "`" for name in table]
        columns = ", ".join(f"{n} {k}" for n, k in zip(names, kinds, strict=True))
        self.run(f"CREATE TABLE `{TABLE}` ({columns})")
        rows = table.astype(object).where(table.notna(), None).values.tolist()
        marks = ", ".join(["%s"] * len(names))
        self.run(f"INSERT INTO `{TABLE}` VALUES ({marks})", rows)

    def ask(self, expression):
        found = self.run(f"SELECT id, {expression} AS found FROM `{TABLE}` ORDER BY id")
        return found["found"]

    def scored(self, view):
        self.run(view)
        return self.run("SELECT * FROM scored ORDER BY id")

    def close(self):
        self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def with_ids(table):
    return table.assign(id=range(len(table)))
