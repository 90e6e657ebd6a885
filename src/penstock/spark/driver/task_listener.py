"""A listener in Spark's JVM that sums up the CPU of tasks, and tells of some micro-batches in one call."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext

from penstock.spark.driver.compiled_listener import compiled_listener

_NAME = "PenstockTaskCpu"
# Stages are known by the properties that a streaming query sets for its jobs.  The compiler knows no generics.
_SOURCE = """
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

public class PenstockTaskCpu extends SparkListener {
    private static final int STAGES_KEPT = 512;
    private final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    private final TreeMap stages = new TreeMap();
    private long spentNs = 0L;

    private static class Stage {
        String query;
        long batch;
        boolean isComplete;
        TreeMap cpuNs = new TreeMap();
    }

    public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
        long begin = clock.getCurrentThreadCpuTime();
        Properties set = event.properties();
        String batch = set == null ? null : set.getProperty("streaming.sql.batchId");
        if (batch != null) {
            Integer id = Integer.valueOf(event.stageInfo().stageId());
            Stage stage = (Stage) stages.get(id);
            if (stage == null) {
                stage = new Stage();
                stages.put(id, stage);
            }
            stage.query = String.valueOf(set.getProperty("spark.jobGroup.id"));
            stage.batch = Long.parseLong(batch);
            stage.isComplete = false;
            if (stages.size() > STAGES_KEPT) {
                stages.remove(stages.firstKey());
            }
        }
        spentNs += clock.getCurrentThreadCpuTime() - begin;
    }

    public synchronized void onStageCompleted(SparkListenerStageCompleted event) {
        Stage stage = (Stage) stages.get(Integer.valueOf(event.stageInfo().stageId()));
        if (stage != null) {
            stage.isComplete = event.stageInfo().failureReason().isEmpty();
        }
    }

    public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
        long begin = clock.getCurrentThreadCpuTime();
        Stage stage = (Stage) stages.get(Integer.valueOf(event.stageId()));
        TaskMetrics metrics = event.taskMetrics();
        if (stage != null && metrics != null) {
            Integer partition = Integer.valueOf(event.taskInfo().partitionId());
            long[] sum = (long[]) stage.cpuNs.get(partition);
            if (sum == null) {
                sum = new long[1];
                stage.cpuNs.put(partition, sum);
            }
            sum[0] += metrics.executorCpuTime() + metrics.executorDeserializeCpuTime();
        }
        spentNs += clock.getCurrentThreadCpuTime() - begin;
    }

    public synchronized String figures(String run, long first, long last, StreamingQuery query) {
        StringBuilder text = new StringBuilder();
        text.append(spentNs);
        StreamingQueryProgress progress = query.lastProgress();
        text.append(progress == null ? ";;" : ";" + progress.batchId() + ";" + progress.durationMs());
        for (Iterator i = stages.values().iterator(); i.hasNext();) {
            Stage stage = (Stage) i.next();
            if (stage.isComplete && stage.batch >= first && stage.batch <= last && stage.query.equals(run)) {
                text.append(';').append(stage.batch).append(':');
                for (Iterator j = stage.cpuNs.entrySet().iterator(); j.hasNext();) {
                    Map.Entry own = (Map.Entry) j.next();
                    text.append(own.getKey()).append('=').append(((long[]) own.getValue())[0]).append(' ');
                }
            }
        }
        return text.toString();
    }
}
"""
_listeners: WeakKeyDictionary[SparkContext, Any] = WeakKeyDictionary()


def task_listener(context: SparkContext) -> Any:
    """The listener of a context, which all its queries share."""
    if context not in _listeners:
        _listeners[context] = compiled_listener(context, _NAME, _SOURCE)
    return _listeners[context]
