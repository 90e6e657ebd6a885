"""A Kafka broker of its own on loopback, in KRaft mode, from the jars that `make services` fetches with Maven."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from tests.checkout import ROOT
from tests.services.postgres_server import WITHIN_S, free_ports

VERSION = "4.1.0"
JARS = ROOT / ".services" / f"kafka-{VERSION}"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>penstock</groupId><artifactId>services</artifactId><version>1</version><dependencies>
{dependencies}
</dependencies></project>"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
USER, PASSWORD = "ann", "very-secret"  # of the listener that asks for them
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={login} required user_{user}="{password}";
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms={rebalance_delay_ms}
log.cleaner.backoff.ms=200
"""


def fetch(within_s: float = 900.0) -> str | None:
    """Fetches the broker's jars, once; gives what went wrong, None where they are there."""
    return fetch_jars(JARS, [("org.apache.kafka", "kafka_2.13", VERSION)], within_s=within_s)


def fetch_jars(
    folder: Path, wanted: list[tuple[str, str, str]], *, alone: bool = False, within_s: float = 900.0
) -> str | None:
    """Fetches artifacts (group, name, version) with Maven into a folder that is not there yet.

    `alone`: without what they depend on.  Gives what went wrong, None where the jars are there.
    """
    if any(folder.glob("*.jar")):
        return None
    maven = shutil.which("mvn")
    if maven is None or shutil.which("java") is None:
        return "Maven or Java is not installed"
    dependencies = "\n".join(_DEPENDENCY.format(*own, _ALONE if alone else "") for own in wanted)
    with tempfile.TemporaryDirectory() as drafts:
        Path(drafts, "pom.xml").write_text(_POM.format(dependencies=dependencies))
        command = [maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={drafts}/jars"]
        try:
            done = subprocess.run(command, cwd=drafts, check=False, timeout=within_s, stdout=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"Maven did not end within {within_s:g} s"
        if done.returncode != 0:
            return f"Maven could not fetch {wanted[0][1]} {wanted[0][2]}"
        folder.parent.mkdir(exist_ok=True)
        shutil.copytree(f"{drafts}/jars", folder)
    return None


class KafkaServer:
    """Runs until `stop`; `kill` ends it as a crash does, `start` brings it back with what its disk has."""

    def __init__(self, rebalance_delay_ms: int = 0) -> None:
        self._folder = tempfile.mkdtemp(prefix="penstock-kafka-")
        self.port, self._sasl_port, controller = free_ports(3)
        self._properties = f"{self._folder}/server.properties"
        text = _PROPERTIES.format(
            port=self.port, sasl=self._sasl_port, controller=controller, folder=self._folder, login=_LOGIN,
            user=USER, password=PASSWORD, rebalance_delay_ms=rebalance_delay_ms,
        )  # fmt: skip
        Path(self._properties).write_text(text)
        cluster = urlsafe_b64encode(b"p" + uuid.uuid4().bytes[1:]).decode().rstrip("=")  # no option: begins with no "-"
        format_ = ["kafka.tools.StorageTool", "format", "--standalone", "-t", cluster, "-c", self._properties]
        done = subprocess.run([*self._java(), *format_], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        self.start()

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def sasl_servers(self) -> str:
        """The same broker by the listener that asks for a name and a password."""
        return f"127.0.0.1:{self._sasl_port}"

    @property
    def written_bytes(self) -> int:
        """What the broker's process has written so far, to clients and to its log."""
        text = Path(f"/proc/{self._process.pid}/io").read_text()
        return int(dict(line.split(": ") for line in text.splitlines())["wchar"])

    def start(self) -> None:
        with open(f"{self._folder}/log", "ab") as log:
            # Whatever ends the thread that starts it, a time limit of CI for example, ends the broker.
            ends_with_it = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
            command = [*ends_with_it, *self._java(), "kafka.Kafka", self._properties]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.2)
        raise AssertionError(Path(self._folder, "log").read_text()[-2000:])

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(WITHIN_S)

    def stop(self) -> None:
        if self._process.poll() is None:
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _java() -> list[str]:
        return ["java", "-Xmx384m", "-cp", f"{JARS}{os.sep}*"]
