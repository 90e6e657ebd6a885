"""Listeners in Spark's JVM, written in Java as text.

A listener in Python would be called across the socket for every event.  These are a few lines of Java, compiled by the
compiler that Spark has for its own generated code; an event costs them microseconds.
"""

from __future__ import annotations

from typing import Any, cast

from pyspark import SparkContext


def compiled_listener(context: SparkContext, name: str, source: str) -> Any:
    """An object of the class that a text in Java defines, which hears the events of a context from now on."""
    jvm = cast(Any, context._jvm)
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(source)
    listener = compiler.getClassLoader().loadClass(name).newInstance()
    context._jsc.sc().addSparkListener(listener)
    return listener
