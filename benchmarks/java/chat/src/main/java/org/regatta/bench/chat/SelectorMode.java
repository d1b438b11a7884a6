package org.regatta.bench.chat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;

/** All connections in one thread that waits for ready ones. */
final class SelectorMode implements ChatMode {
    /** Interval of the check for users that do not read, in ms. */
    private static final long LOOK_MS = 100;

    private final Room.Directory<SelectorUser> rooms = new Room.Directory<>(SelectorUser::number);
    private final ByteBuffer batch = ByteBuffer.allocateDirect(BATCH_BYTES);
    private final ArrayDeque<SelectorUser> dirty = new ArrayDeque<>();
    private Selector selector;
    private Tally tally;
    private long patienceNs;

    @Override
    public int open(InetSocketAddress address, Tally counts, long patience) throws IOException {
        tally = counts;
        patienceNs = patience;
        selector = Selector.open();
        ServerSocketChannel listening = ServerSocketChannel.open();
        listening.setOption(StandardSocketOptions.SO_REUSEADDR, true);
        listening.bind(address, BACKLOG);
        listening.configureBlocking(false);
        listening.register(selector, SelectionKey.OP_ACCEPT);
        Thread loop = new Thread(this::loop, "selector");
        loop.setDaemon(true);
        loop.start();
        return ((InetSocketAddress) listening.getLocalAddress()).getPort();
    }

    private void loop() {
        long lookedNs = System.nanoTime();
        try {
            while (true) {
                selector.select(this::serve, LOOK_MS);
                flush();
                if (System.nanoTime() - lookedNs > LOOK_MS * 1_000_000L) {
                    lookedNs = System.nanoTime();
                    cutOffTheSlow(lookedNs);
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException("waiting for connections: " + e.getMessage(), e);
        }
    }

    private void serve(SelectionKey key) {
        if (!key.isValid()) {
            return;
        }
        if (key.isAcceptable()) {
            accept((ServerSocketChannel) key.channel());
            return;
        }
        SelectorUser user = (SelectorUser) key.attachment();
        if (key.isWritable()) {
            write(user);
        }
        if (key.isValid() && key.isReadable()) {
            read(user);
        }
    }

    private void accept(ServerSocketChannel listening) {
        try {
            for (SocketChannel channel = listening.accept(); channel != null; channel = listening.accept()) {
                tally.accepted.increment();
                channel.configureBlocking(false);
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                SelectorUser user = new SelectorUser(channel, rooms, tally, dirty);
                user.key = channel.register(selector, SelectionKey.OP_READ, user);
            }
        } catch (IOException e) {
            // As in the threaded mode: only a lack of descriptors is fatal.
            if (String.valueOf(e.getMessage()).contains("Too many open files")) {
                throw new IllegalStateException("accepting a connection: " + e.getMessage(), e);
            }
        }
    }

    private void read(SelectorUser user) {
        try {
            user.read();
        } catch (ProtocolException e) {
            tally.rejected.increment();
            user.close();
        } catch (IOException e) {
            user.close();
        }
    }

    private void write(SelectorUser user) {
        try {
            user.write(batch);
        } catch (IOException e) {
            user.close();
        }
    }

    /** Write to all users with pending messages: once per turn, so that several messages share a call. */
    private void flush() {
        for (SelectorUser user = dirty.poll(); user != null; user = dirty.poll()) {
            write(user);
        }
    }

    private void cutOffTheSlow(long nowNs) {
        for (SelectionKey key : selector.keys()) {
            SelectorUser user = (SelectorUser) key.attachment();
            if (user != null && key.isValid() && user.isTooSlow(nowNs, patienceNs)) {
                user.cutOff(patienceNs);
            }
        }
    }
}
