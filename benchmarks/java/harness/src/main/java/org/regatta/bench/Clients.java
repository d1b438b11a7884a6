package org.regatta.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** A fixed number of threads that send requests, each with its own log. */
public final class Clients {
    /** How long the failures of the other clients are waited for after the first. */
    private static final long PATIENCE_S = 10;

    private final ExecutorService threads;
    private final List<Requests> logs = new ArrayList<>();

    /** The work of one client in an iteration. */
    public interface Client {
        /**
         * @param number of the client, from 0
         * @param log records the requests
         * @return a value that depends on all of the work
         */
        long run(int number, Requests log) throws Exception;
    }

    /**
     * @param count number of clients; independent of the number of processors, so that the work is the same on all
     *     machines
     * @param mostRequests maximum per client and iteration
     */
    public Clients(int count, int mostRequests) {
        threads = Executors.newFixedThreadPool(count, Clients::daemon);
        for (int i = 0; i < count; i++) {
            logs.add(new Requests(mostRequests));
        }
    }

    public int count() {
        return logs.size();
    }

    /** The requests of the last iteration, one log per client. */
    public List<Requests> logs() {
        return Collections.unmodifiableList(logs);
    }

    /** Clear the logs. */
    public void clear() {
        logs.forEach(Requests::clear);
    }

    /**
     * Run all clients concurrently.
     *
     * @return the sum of their return values
     * @throws Exception the exception of the first client to fail; those of others are suppressed in it. Others may
     *     still run
     */
    public long run(Client client) throws Exception {
        // In order of completion: a failed client may hold a resource that another waits for.
        CompletionService<Long> results = new ExecutorCompletionService<>(threads);
        for (int i = 0; i < logs.size(); i++) {
            int number = i;
            results.submit(() -> client.run(number, logs.get(number)));
        }
        long sum = 0;
        for (int i = 0; i < logs.size(); i++) {
            try {
                sum += results.take().get();
            } catch (ExecutionException e) {
                Exception failure = e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
                addLaterFailures(results, logs.size() - i - 1, failure);
                throw failure;
            }
        }
        return sum;
    }

    /** The first failure may be a consequence: a database that runs out of memory for one client is closed for all. */
    private static void addLaterFailures(CompletionService<Long> results, int left, Exception failure)
            throws InterruptedException {
        for (int i = 0; i < left; i++) {
            Future<Long> later = results.poll(PATIENCE_S, TimeUnit.SECONDS);
            if (later == null) {
                return;
            }
            try {
                later.get();
            } catch (ExecutionException e) {
                failure.addSuppressed(e);
            }
        }
    }

    /** End the threads. */
    public void close() {
        threads.shutdown();
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "client");
        thread.setDaemon(true);
        return thread;
    }
}
