"""A user id that the machine's user database does not have, as containers are often given one.

Java then has the home directory '?', in which Spark's launcher looks for Ivy's files, and Hadoop cannot log in.
"""

from __future__ import annotations

import os
import pwd
import shlex

from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]

from penstock.host.directories import temporary_directory

_OPTIONS = "spark.driver.extraJavaOptions"


def is_unknown() -> bool:
    """Whether this process's user id has no entry in the user database."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return True
    return False


def with_home(settings: dict[str, str]) -> dict[str, str]:
    """Settings that give Java a home directory and a user's name where the user database has none."""
    if not is_unknown():
        return settings
    home = os.path.join(temporary_directory(), "home")
    os.makedirs(home, mode=0o700, exist_ok=True)
    own = f"-Duser.home={shlex.quote(home)} -Duser.name={_name()}"
    options = f"{own} {settings.get(_OPTIONS, '')}".strip()
    return {"spark.jars.ivy": os.path.join(home, "ivy"), **settings, _OPTIONS: options}


def log_in(gateway: JavaGateway) -> None:
    """Tells Hadoop, in a JVM without a Spark context yet, who its user is; nothing where it can find out itself."""
    if is_unknown():
        users = gateway.jvm.org.apache.hadoop.security.UserGroupInformation
        users.setLoginUser(users.createRemoteUser(_name()))


def _name() -> str:
    return f"uid-{os.getuid()}"
