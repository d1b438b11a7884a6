package org.regatta.bench.chat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * All users in one thread: one selector costs least, so that most CPU time is left for the server.
 *
 * <p>With a rate, messages are sent at planned times regardless of the server, and their latency counts from the planned time: a
 * stalled server is charged for every message that was due meanwhile. Without a rate, each user sends after it has received its
 * own last message (as in VolanoMark); then a stalled server is charged only once per user.
 */
final class ClientLoop implements AutoCloseable {
    /** Maximum number of pending connections: less than the default length of a listen queue. */
    private static final int MOST_CONNECTING = 100;

    private static final long CONNECT_NS = 120_000_000_000L;
    private static final long DRAIN_NS = 30_000_000_000L;

    /** Below this, the selector timeout (whole ms) is too coarse for a planned time; in ns. */
    private static final long CLOSE_NS = 1_000_000L;

    /** Sleep time of the loop in that case, in ns: a delay of this length is better than a busy processor. */
    private static final long NAP_NS = 50_000L;

    private final InetSocketAddress server;
    private final double rate;
    private final long seed;
    private final ClientUser[][] rooms;
    private final List<ClientUser> users = new ArrayList<>();
    private final Selector selector = Selector.open();
    private final List<Window> windows = new ArrayList<>();

    /** Number of passed borders: odd inside a window. Set by the conductor, read by the loop. */
    private volatile int borders;

    private volatile boolean stopping;
    private int followed;
    private int joined;
    private long sent;
    private long heard;

    /** @param rate messages per second and user; 0: send after receipt of the last own message */
    ClientLoop(InetSocketAddress server, int connections, int roomSize, double rate, long seed) throws IOException {
        this.server = server;
        this.rate = rate;
        this.seed = seed;
        rooms = new ClientUser[(connections + roomSize - 1) / roomSize][];
        for (int room = 0; room < rooms.length; room++) {
            rooms[room] = new ClientUser[Math.min(roomSize, connections - room * roomSize)];
            for (int number = 0; number < rooms[room].length; number++) {
                rooms[room][number] = new ClientUser(room, number, rooms[room].length, this);
                users.add(rooms[room][number]);
            }
        }
    }

    /** Connect all users and wait until all have joined their rooms. */
    void connect() throws IOException {
        long untilNs = System.nanoTime() + CONNECT_NS;
        int begun = 0;
        while (joined < users.size()) {
            while (begun < users.size() && begun - joined < MOST_CONNECTING) {
                begin(users.get(begun++));
            }
            selector.select(this::serveOrConnect, 1000);
            if (System.nanoTime() > untilNs) {
                throw new IOException("expected " + users.size() + " users in their rooms, got " + joined + " in "
                        + CONNECT_NS / 1_000_000_000L + " s");
            }
        }
    }

    /** Send and receive until {@link #stop}, then receive and check all remaining messages. */
    void run() throws IOException, WrongDeliveryException {
        Schedule schedule = rate > 0 ? new Schedule(users.size(), rate, seed, System.nanoTime()) : null;
        if (schedule == null) {
            for (ClientUser user : users) {
                send(user, System.nanoTime());
            }
        }
        while (!stopping) {
            follow();
            if (schedule == null) {
                selector.select(this::serve, 10);
            } else {
                sendWhatIsDue(schedule);
                waitFor(schedule.nextNs());
            }
        }
        follow();
        if (schedule != null) {
            sendWhatWasDue(schedule);
        }
        drain();
        for (ClientUser[] room : rooms) {
            for (ClientUser user : room) {
                user.checkComplete(room);
            }
        }
    }

    /** Open or close a window. Called by the conductor. */
    void passBorder() {
        borders++;
        selector.wakeup();
    }

    /** Stop all users from sending. Called by the conductor. */
    void stop() {
        stopping = true;
        selector.wakeup();
    }

    /** All windows, after the loop has run. */
    List<Window> windows() {
        return windows;
    }

    /** A user has joined its room. */
    void joined() {
        joined++;
    }

    /** A user has received a message. */
    void heard(ClientUser user, boolean own, long plannedNs, long nowNs) throws IOException {
        heard++;
        for (int i = windows.size() - 1; i >= 0; i--) {
            if (windows.get(i).holds(plannedNs)) {
                windows.get(i).latency.add(nowNs - plannedNs);
                break;
            }
        }
        if (own && rate == 0 && !stopping) {
            send(user, nowNs);
        }
    }

    @Override
    public void close() throws IOException {
        for (ClientUser user : users) {
            if (user.channel != null) {
                user.channel.close();
            }
        }
        selector.close();
    }

    private void begin(ClientUser user) throws IOException {
        user.channel = SocketChannel.open();
        user.channel.configureBlocking(false);
        user.channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        boolean connected = user.channel.connect(server);
        user.key = user.channel.register(selector, connected ? SelectionKey.OP_READ : SelectionKey.OP_CONNECT, user);
        if (connected) {
            user.join();
        }
    }

    private void send(ClientUser user, long plannedNs) throws IOException {
        sent++;
        user.send(plannedNs);
    }

    private void sendWhatIsDue(Schedule schedule) throws IOException {
        while (schedule.nextNs() <= System.nanoTime()) {
            send(users.get(schedule.user()), schedule.nextNs());
            schedule.advance();
        }
    }

    /**
     * Send all messages planned before the end of the last window. If this client were late at that border, the messages it owes,
     * which are the latest, would be in no window.
     */
    private void sendWhatWasDue(Schedule schedule) throws IOException {
        long endedNs = windows.isEmpty() ? Long.MAX_VALUE : windows.get(windows.size() - 1).endedNs;
        while (endedNs != Long.MAX_VALUE && schedule.nextNs() < endedNs) {
            send(users.get(schedule.user()), schedule.nextNs());
            schedule.advance();
        }
    }

    /** Serve ready connections and return at the planned time or slightly later. */
    private void waitFor(long plannedNs) throws IOException {
        long restNs = plannedNs - System.nanoTime();
        if (restNs > CLOSE_NS) {
            // At most 10 ms, so that a border is noticed soon even if its wake-up fell into the previous turn.
            selector.select(this::serve, Math.min(10, restNs / CLOSE_NS));
        } else if (selector.selectNow(this::serve) == 0 && restNs > 0) {
            LockSupport.parkNanos(Math.min(NAP_NS, restNs));
        }
    }

    private void drain() throws IOException, WrongDeliveryException {
        long due = 0;
        for (ClientUser[] room : rooms) {
            for (ClientUser user : room) {
                due += (long) user.sent() * room.length;
            }
        }
        long untilNs = System.nanoTime() + DRAIN_NS;
        while (heard < due) {
            selector.select(this::serve, 100);
            if (System.nanoTime() > untilNs) {
                throw new WrongDeliveryException("expected " + due + " messages to be received, got " + heard + " within "
                        + DRAIN_NS / 1_000_000_000L + " s after the last send");
            }
        }
    }

    /** Record the borders that the conductor has passed. */
    private void follow() {
        while (followed < borders) {
            followed++;
            long nowNs = System.nanoTime();
            if (followed % 2 == 1) {
                windows.add(new Window(nowNs, sent, heard));
            } else {
                windows.get(windows.size() - 1).close(nowNs, sent, heard);
            }
        }
    }

    private void serveOrConnect(SelectionKey key) {
        serving(key, true);
    }

    private void serve(SelectionKey key) {
        serving(key, false);
    }

    private void serving(SelectionKey key, boolean connecting) {
        ClientUser user = (ClientUser) key.attachment();
        try {
            if (connecting && key.isConnectable()) {
                user.channel.finishConnect();
                key.interestOps(SelectionKey.OP_READ);
                user.join();
                return;
            }
            if (key.isWritable()) {
                user.writeUnsent();
            }
            if (key.isReadable()) {
                user.read();
            }
        } catch (IOException e) {
            // The action of a selector cannot throw it.
            throw new UncheckedIOException(e.getMessage(), e);
        }
    }
}
