package org.regatta.bench.micro;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.time.Instant;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;

final class Threads extends Group {
    @Override
    void addOperations() throws Exception {
        value("thread_start_join", i -> {
            Thread thread = new Thread(() -> {});
            thread.start();
            thread.join();
            return i;
        });
        addVirtual();
        ExecutorService pool = Executors.newSingleThreadExecutor();
        opened(pool::shutdown);
        object("executor_submit", i -> pool.submit(() -> i).get());
        addSwitch();
        value("thread_current", i -> Thread.currentThread().isInterrupted() ? 1 : i);
        value("thread_yield", i -> {
            Thread.yield();
            return i;
        });
        value("nano_time", i -> System.nanoTime());
        value("current_time_millis", i -> System.currentTimeMillis());
        object("instant_now", i -> Instant.now());
    }

    /** Unavailable on releases before 21. */
    private void addVirtual() throws Exception {
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            return;
        }
        try {
            start.invoke(null, (Runnable) () -> {});
        } catch (InvocationTargetException e) {
            return; // a preview of 19 and 20 that is not enabled
        }
        value("virtual_thread_start_join", i -> {
            ((Thread) start.invoke(null, (Runnable) () -> {})).join();
            return i;
        });
    }

    private void addSwitch() throws Exception {
        SynchronousQueue<Long> there = new SynchronousQueue<>();
        SynchronousQueue<Long> back = new SynchronousQueue<>();
        Thread partner = new Thread(() -> {
            try {
                while (true) {
                    back.put(there.take());
                }
            } catch (InterruptedException e) {
                // the end
            }
        });
        partner.setDaemon(true);
        partner.start();
        opened(partner::interrupt);
        object("thread_hand_over", i -> {
            there.put(i);
            return back.take();
        });
    }
}
