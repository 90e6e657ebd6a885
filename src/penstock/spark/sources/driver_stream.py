"""A streaming source whose reader lives in the driver: no Python process of its own, no Python worker that reads rows.

Spark's API for data sources in Python starts a cold process for each question before a query begins, and reads the rows
of a batch in a second worker per task (docs/design/0050-start.md has what that cost).  Here Spark's stream is some Java
over its public interfaces, compiled by the compiler that Spark has for its own generated code; it asks the reader by a
callback, as `foreachBatch` does.  Rows are small, and go to tasks in the partitions that Spark has for streams
in memory, whose classes every executor knows.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InputError
from penstock.runtime.replica.source_rows import SQL

_log = logging.getLogger(__name__)
_NAME = "PenstockDriverStream"
# Of the partitions in memory, newest version of Spark first.
_PACKAGES = ("org.apache.spark.sql.execution.streaming.runtime", "org.apache.spark.sql.execution.streaming")
# The compiler knows no generics.
_SOURCE = """
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import PACKAGE.MemoryStreamInputPartition;
import PACKAGE.MemoryStreamReaderFactory$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

public class PenstockDriverStream implements TableProvider {
    private static final ConcurrentHashMap READERS = new ConcurrentHashMap();

    public static void put(String id, Function reader) {
        READERS.put(id, reader);
    }

    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return StructType.fromDDL(options.get("rows"));
    }

    public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
        return new Rows(schema, (String) properties.get("reader"));
    }

    public static class Rows implements SupportsRead, ScanBuilder, Scan {
        private final StructType schema;
        private final String id;

        Rows(StructType schema, String id) {
            this.schema = schema;
            this.id = id;
        }

        public String name() {
            return "penstock";
        }

        public StructType schema() {
            return schema;
        }

        public Set capabilities() {
            return Collections.singleton(TableCapability.MICRO_BATCH_READ);
        }

        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return this;
        }

        public Scan build() {
            return this;
        }

        public StructType readSchema() {
            return schema;
        }

        public String description() {
            return "penstock";
        }

        public MicroBatchStream toMicroBatchStream(String checkpoint) {
            return new Stream(id, (Function) READERS.get(id));
        }
    }

    public static class At extends Offset {
        private final String json;

        At(String json) {
            this.json = json;
        }

        public String json() {
            return json;
        }
    }

    public static class Stream implements MicroBatchStream, SupportsAdmissionControl {
        private final String id;
        private final Function reader;

        Stream(String id, Function reader) {
            this.id = id;
            this.reader = reader;
        }

        public Offset initialOffset() {
            return new At((String) reader.apply("initial"));
        }

        public Offset latestOffset() {
            throw new UnsupportedOperationException("latestOffset");
        }

        public Offset latestOffset(Offset start, ReadLimit limit) {
            return new At((String) reader.apply("latest\\n" + start.json()));
        }

        public Offset deserializeOffset(String json) {
            return new At(json);
        }

        public void commit(Offset end) {
        }

        public void stop() {
            READERS.remove(id);
        }

        public PartitionReaderFactory createReaderFactory() {
            return MemoryStreamReaderFactory$.MODULE$;
        }

        public InputPartition[] planInputPartitions(Offset start, Offset end) {
            byte[] rows = (byte[]) reader.apply("rows\\n" + start.json() + "\\n" + end.json());
            try {
                return read(new DataInputStream(new ByteArrayInputStream(rows)));
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        private static InputPartition[] read(DataInputStream in) throws IOException {
            InputPartition[] partitions = new InputPartition[in.readInt()];
            for (int i = 0; i < partitions.length; i++) {
                UnsafeRow[] rows = new UnsafeRow[in.readInt()];
                for (int j = 0; j < rows.length; j++) {
                    rows[j] = row(in);
                }
                partitions[i] = new MemoryStreamInputPartition(rows);
            }
            return partitions;
        }

        private static UnsafeRow row(DataInputStream in) throws IOException {
            UnsafeRowWriter writer = new UnsafeRowWriter(5);
            writer.reset();
            writer.zeroOutNullBytes();
            writer.write(0, UTF8String.fromBytes(bytes(in)));
            writer.write(1, in.readLong());
            writer.write(2, in.readLong());
            for (int column = 3; column < 5; column++) {
                byte[] value = bytes(in);
                if (value == null) {
                    writer.setNullAt(column);
                } else {
                    writer.write(column, value);
                }
            }
            return writer.getRow().copy();
        }

        private static byte[] bytes(DataInputStream in) throws IOException {
            int length = in.readInt();
            if (length < 0) {
                return null;
            }
            byte[] value = new byte[length];
            in.readFully(value);
            return value;
        }
    }
}
"""


class StreamReader(Protocol):
    """What plans the batches of a source in the driver; offsets are what JSON has."""

    def initialOffset(self) -> Any: ...

    def latestOffset(self, start: Any, limit: object) -> Any: ...

    def partitions(self, start: Any, end: Any) -> Sequence[Any]: ...

    def read(self, partition: Any) -> Iterable[pa.RecordBatch]: ...


class _Callback:
    """What the stream in the JVM calls."""

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader

    def apply(self, request: str) -> str | bytes:
        try:
            return self._answer(request)
        except Exception as error:
            _log.info("planning a micro-batch failed", exc_info=True)
            raise error from None  # Spark passes on a text alone, which must be short

    def _answer(self, request: str) -> str | bytes:
        match request.split("\n"):
            case ["initial"]:
                return json.dumps(self._reader.initialOffset())
            case ["latest", start]:
                return json.dumps(self._reader.latestOffset(json.loads(start), None))
            case ["rows", start, end]:
                return self._rows(json.loads(start), json.loads(end))
        raise ValueError(request)

    def _rows(self, start: Any, end: Any) -> bytes:
        shares = [
            [row for batch in self._reader.read(partition) for row in batch.to_pylist()]
            for partition in self._reader.partitions(start, end)
        ]
        return packed_shares(shares)

    class Java:
        implements = ("java.util.function.Function",)


def packed_shares(shares: Sequence[Sequence[dict[str, Any]]]) -> bytes:
    """The rows of each partition as the stream in the JVM reads them."""
    out = [struct.pack(">i", len(shares))]
    for rows in shares:
        out.append(struct.pack(">i", len(rows)))
        for row in rows:
            out += [_sized(row["source"].encode()), struct.pack(">qq", row["start"], row["stop"])]
            out += [_sized(row["payload"]), _sized(row["frontier"])]
    return b"".join(out)


def _sized(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


_MOST_FILES = 1024  # FD_SETSIZE
_loaders: WeakKeyDictionary[SparkContext, Any] = WeakKeyDictionary()
_numbers = itertools.count()


def driver_stream(session: SparkSession, reader: StreamReader) -> DataFrame:
    """The rows that a reader in this process plans, as a streaming DataFrame."""
    context: Any = session.sparkContext
    loader = _loader(context)
    ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]
    check_callbacks(context._gateway.__dict__["_callback_server"].server_socket.fileno())
    number = str(next(_numbers))
    loader.loadClass(_NAME).newInstance().put(number, _Callback(reader))
    thread = context._jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    thread.setContextClassLoader(loader)  # Spark looks for a format's class there
    try:
        return session.readStream.format(_NAME).option("reader", number).option("rows", SQL).load()
    finally:
        thread.setContextClassLoader(before)


def check_callbacks(descriptor: int) -> None:
    """Raises InputError where calls from Spark would hang: py4j waits for them with select(), which has this limit."""
    if descriptor >= _MOST_FILES:
        raise InputError("Spark calls Python through a socket whose file number must be below "
                         f"{_MOST_FILES:,}; got {descriptor:,}: this process has too many open files; "
                         "close some, or start Penstock first")  # fmt: skip


def _package(loader: Any) -> str:
    """Where this version of Spark has its partitions in memory."""
    for package in _PACKAGES:
        with contextlib.suppress(Py4JJavaError):
            loader.loadClass(f"{package}.MemoryStreamInputPartition")
            return package
    raise InputError(f"Spark {pyspark.__version__} has no partitions in memory that Penstock knows; "
                     "docs/spark-versions.md says which versions were tried")  # fmt: skip


def _loader(context: Any) -> Any:
    """The class loader with the compiled stream, one for each context."""
    if context not in _loaders:
        jvm = context._jvm
        compiler, thread = jvm.org.codehaus.janino.SimpleCompiler(), jvm.java.lang.Thread.currentThread()
        compiler.setParentClassLoader(thread.getContextClassLoader())
        compiler.cook(_SOURCE.replace("PACKAGE", _package(thread.getContextClassLoader())))
        _loaders[context] = compiler.getClassLoader()
    return _loaders[context]
