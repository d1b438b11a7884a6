package org.regatta.bench.micro;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

final class Locks extends Group {
    private long guarded;

    @Override
    void addOperations() throws Exception {
        Object free = new Object();
        ValueOperation unguarded = i -> guarded++;
        value("monitor_free", i -> {
            synchronized (free) {
                return guarded++;
            }
        }, unguarded);
        Lock lock = new ReentrantLock();
        value("lock_free", i -> {
            lock.lock();
            try {
                return guarded++;
            } finally {
                lock.unlock();
            }
        }, unguarded);
        AtomicLong number = new AtomicLong();
        value("atomic_increment", i -> number.incrementAndGet());
        value("atomic_get", i -> number.get());
        AtomicReference<Object> reference = new AtomicReference<>(free);
        value("compare_and_set", i -> {
            Object before = (i & 1) == 0 ? free : lock;
            return reference.compareAndSet(before, before == free ? lock : free) ? 1 : i;
        }, i -> {
            Object before = (i & 1) == 0 ? free : lock;
            return before == (before == free ? lock : free) ? 1 : i;
        });
        Lock reading = new ReentrantReadWriteLock().readLock();
        value("read_lock_free", i -> {
            reading.lock();
            try {
                return guarded++;
            } finally {
                reading.unlock();
            }
        }, unguarded);
        ThreadLocal<Long> local = ThreadLocal.withInitial(() -> 1L);
        object("thread_local_get", i -> local.get());
        value("identity_hash_code", i -> System.identityHashCode((i & 1) == 0 ? free : lock),
                i -> ((i & 1) == 0 ? free : lock) == null ? 1 : i);
        addContended();
    }

    private void addContended() throws Exception {
        Object monitor = new Object();
        Rival ofMonitor = opened(new Rival(() -> {
            synchronized (monitor) {
                guarded++;
            }
        }));
        value("monitor_contended", i -> {
            ofMonitor.compete(i);
            synchronized (monitor) {
                return guarded++;
            }
        });
        Lock lock = new ReentrantLock();
        Rival ofLock = opened(new Rival(() -> {
            lock.lock();
            try {
                guarded++;
            } finally {
                lock.unlock();
            }
        }));
        value("lock_contended", i -> {
            ofLock.compete(i);
            lock.lock();
            try {
                return guarded++;
            } finally {
                lock.unlock();
            }
        });
    }

    /** A second thread that repeatedly takes a lock, but only while the measured thread also does. */
    private static final class Rival implements AutoCloseable {
        private static final long PAUSE_NS = 100_000;
        /** Number of turns without a turn of the measured thread after which it is assumed to have stopped. */
        private static final int IDLE_TURNS = 1000;

        private final AtomicBoolean ended = new AtomicBoolean();
        private final AtomicLong seen = new AtomicLong();

        Rival(Runnable turn) {
            Thread thread = new Thread(() -> compete(turn));
            thread.setDaemon(true);
            thread.start();
        }

        /** Called by the measured thread in each turn. */
        void compete(long i) {
            seen.lazySet(i);
        }

        @Override
        public void close() {
            ended.set(true);
        }

        private void compete(Runnable turn) {
            long last = 0;
            int idle = IDLE_TURNS;
            while (!ended.get()) {
                long now = seen.get();
                idle = now == last ? idle + 1 : 0;
                last = now;
                if (idle < IDLE_TURNS) {
                    turn.run();
                } else {
                    LockSupport.parkNanos(PAUSE_NS);
                }
            }
        }
    }
}
