package org.regatta.bench.chat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Opens and closes the windows while the loop runs. On a separate thread, because the server needs time to respond. */
final class Conductor implements Runnable {
    private final ClientLoop loop;
    private final ExtraConnection extra;
    private final long warmupMs;
    private final long windowMs;
    private final int iterations;
    private final List<Map<String, Long>> figures = new ArrayList<>();
    private volatile IOException failure;

    /**
     * @param warmupMs time of sending before the first window, in ms
     * @param windowMs length of a window, in ms
     */
    Conductor(ClientLoop loop, ExtraConnection extra, long warmupMs, long windowMs, int iterations) {
        this.loop = loop;
        this.extra = extra;
        this.warmupMs = warmupMs;
        this.windowMs = windowMs;
        this.iterations = iterations;
    }

    @Override
    public void run() {
        try {
            Thread.sleep(warmupMs);
            for (int i = 0; i < iterations; i++) {
                extra.begin();
                Figures before = Figures.read();
                loop.passBorder();
                Thread.sleep(windowMs);
                loop.passBorder();
                Figures after = Figures.read();
                Map<String, Long> found = extra.end();
                found.put("client_cpu_ns", after.cpuNs() - before.cpuNs());
                found.put("client_ns", after.atNs - before.atNs);
                figures.add(found);
            }
        } catch (IOException e) {
            failure = e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            loop.stop();
        }
    }

    /**
     * Return the server's figures for each window, and the client's processor time in {@code client_ns}, after this has run.
     *
     * @throws IOException if a window could not be opened or closed
     */
    List<Map<String, Long>> figures() throws IOException {
        if (failure != null) {
            throw failure;
        }
        return figures;
    }
}
