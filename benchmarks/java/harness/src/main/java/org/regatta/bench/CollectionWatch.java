package org.regatta.bench;

import java.io.IOException;

/** Observes the collector between two moments of an iteration, from the logs of the JVM. */
public final class CollectionWatch {
    private final SafepointLog safepoints;
    private final GcLog gcLog;
    private final CollectorBeans beans;
    private final CollectorThreads threads = new CollectorThreads();

    private CollectionWatch(SafepointLog safepoints, GcLog gcLog, CollectorBeans beans) {
        this.safepoints = safepoints;
        this.gcLog = gcLog;
        this.beans = beans;
    }

    /** @throws UsageException if the options lack a log, or the JVM does not write it */
    static CollectionWatch open(Options options) throws UsageException, IOException {
        if (options.safepointLog() == null || options.gcLog() == null) {
            throw new UsageException("expected --pauses FILE and --gc-log FILE for " + options.entry().name()
                    + "; see --help");
        }
        CollectorBeans beans = new CollectorBeans();
        return new CollectionWatch(
                SafepointLog.open(options.safepointLog()), GcLog.open(options.gcLog(), beans.names()), beans);
    }

    /** @return number of collections and cycles since the start of the JVM; a call allocates nothing */
    public long collections() {
        return beans.countOfAll();
    }

    /**
     * @return number of young collections since the start of the JVM; negative if the collector has no young
     *     collections that stop the program
     */
    public long youngCollections() {
        return beans.countOfYoung();
    }

    /** Open a window. The logs before it are complete. */
    public void start() throws IOException {
        LogWindow.finishLines();
        safepoints.start();
        gcLog.start();
        threads.start();
    }

    /**
     * Close the window.
     *
     * @return the collections that ended in it
     * @throws UsageException if the GC log is incomplete
     */
    public Collected stop() throws UsageException, IOException {
        // First: the thread dump is an operation of the VM thread.
        long cpuNs = threads.sinceStartNs();
        LogWindow.finishLines();
        safepoints.stop();
        gcLog.stop();
        return new Collected(safepoints.pausesNs(), gcLog.read(), cpuNs);
    }
}
