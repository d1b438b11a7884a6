package org.regatta.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A fixed number of threads that send requests, each with a log of its own. */
public final class Clients {
    private final ExecutorService threads;
    private final List<Requests> logs = new ArrayList<>();

    /** What one client does in an iteration. */
    public interface Client {
        /**
         * @param number of the client, from 0
         * @param log where it notes its requests
         * @return a value that depends on all of the work
         */
        long run(int number, Requests log) throws Exception;
    }

    /**
     * @param count how many clients; given, not the number of processors: the same work on every machine
     * @param mostRequests of one client in an iteration
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

    /** The requests of the last iteration, a log for each client. */
    public List<Requests> logs() {
        return Collections.unmodifiableList(logs);
    }

    /** Empties the logs. */
    public void clear() {
        logs.forEach(Requests::clear);
    }

    /**
     * Runs all clients at once.
     *
     * @return the sum of what they returned
     * @throws Exception what the first of them to fail threw, while others may still run
     */
    public long run(Client client) throws Exception {
        // Taken as they end: a client that failed may hold what another would wait for.
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
                throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
            }
        }
        return sum;
    }

    /** Ends the threads. */
    public void close() {
        threads.shutdown();
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "client");
        thread.setDaemon(true);
        return thread;
    }
}
