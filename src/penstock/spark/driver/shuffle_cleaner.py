"""Removes the shuffle files of a query's earlier micro-batches while it runs.

Spark's own cleaner waits for the JVM to collect garbage, which an application of small batches may not do for half an
hour.  A listener in the JVM knows which job made which shuffle.  When a job of a later batch starts, it removes the
shuffles of the earlier ones; when the query ends, those of its last batch.  The driver's thread does nothing for it.
docs/design/0041-real-streams.md has the reasons.
"""

from __future__ import annotations

import logging
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.spark.driver.compiled_listener import compiled_listener

_log = logging.getLogger(__name__)
_NAME = "PenstockShuffleCleaner"
# A shuffle stays as long as a job that has it runs, and until a later batch of its query begins: a batch that runs
# again has the same number.  What is removed is made again if a job should ask for it, as after a lost executor.
# Queries that nobody has asked for are left alone.  The compiler knows no generics.
_SOURCE = """
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import scala.collection.Seq;

public class PenstockShuffleCleaner extends SparkListener {
    private final HashSet queries = new HashSet();
    private final TreeMap jobs = new TreeMap();
    private SparkContext context;

    private static class Job {
        String query;
        long batch;
        boolean isEnded;
        HashSet shuffles = new HashSet();
    }

    public synchronized void clean(SparkContext own, String query) {
        context = own;
        queries.add(query);
    }

    public synchronized void onJobStart(SparkListenerJobStart event) {
        Properties set = event.properties();
        String query = set == null ? null : set.getProperty("spark.jobGroup.id");
        String batch = set == null ? null : set.getProperty("streaming.sql.batchId");
        if (query == null || batch == null || !queries.contains(query)) {
            return;
        }
        Job job = new Job();
        job.query = query;
        job.batch = Long.parseLong(batch);
        Seq stages = event.stageInfos();
        for (int i = 0; i < stages.size(); i++) {
            StageInfo stage = (StageInfo) stages.apply(i);
            if (stage.shuffleDepId().isDefined()) {
                job.shuffles.add(stage.shuffleDepId().get());
            }
        }
        jobs.put(Integer.valueOf(event.jobId()), job);
        remove(query, job.batch);
    }

    public synchronized void onJobEnd(SparkListenerJobEnd event) {
        Job job = (Job) jobs.get(Integer.valueOf(event.jobId()));
        if (job != null) {
            job.isEnded = true;
            if (!queries.contains(job.query)) {
                remove(job.query, Long.MAX_VALUE);
            }
        }
    }

    public synchronized void onOtherEvent(SparkListenerEvent event) {
        if (event instanceof StreamingQueryListener.QueryTerminatedEvent) {
            String query = ((StreamingQueryListener.QueryTerminatedEvent) event).runId().toString();
            if (queries.remove(query)) {
                remove(query, Long.MAX_VALUE);
            }
        }
    }

    private void remove(String query, long before) {
        HashSet old = new HashSet();
        HashSet needed = new HashSet();
        for (Iterator i = jobs.values().iterator(); i.hasNext();) {
            Job job = (Job) i.next();
            if (job.isEnded && job.batch < before && job.query.equals(query)) {
                old.addAll((Collection) job.shuffles);
                i.remove();
            } else {
                needed.addAll((Collection) job.shuffles);
            }
        }
        old.removeAll((Collection) needed);
        for (Iterator i = old.iterator(); i.hasNext();) {
            context.shuffleDriverComponents().removeShuffle(((Integer) i.next()).intValue(), false);
        }
    }
}
"""
_cleaners: WeakKeyDictionary[SparkContext, Any] = WeakKeyDictionary()


def clean_shuffles(session: SparkSession) -> None:
    """Has the shuffles of the query removed that calls this from one of its micro-batches; Spark forgets them later."""
    context: Any = session.sparkContext
    try:
        if context not in _cleaners:
            _cleaners[context] = compiled_listener(context, _NAME, _SOURCE)
        _cleaners[context].clean(context._jsc.sc(), context.getLocalProperty("spark.jobGroup.id"))
    except Exception:  # private parts of Spark: files that stay until a garbage collection must not end the run
        _log.info("shuffle files stay until Spark's own cleaner removes them", exc_info=True)
