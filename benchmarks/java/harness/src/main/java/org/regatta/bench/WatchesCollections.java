package org.regatta.bench;

/** A benchmark that measures single collections, not only its iterations. */
public interface WatchesCollections extends Benchmark {
    /** Take the watch; called once, before {@code setup}. */
    void watch(CollectionWatch watch);
}
