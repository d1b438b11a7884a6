package org.regatta.bench.chat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * Two threads per connection, as in VolanoMark: one reads, one writes the queue of the user.
 *
 * <p>The threads are platform or virtual ones; all other code is the same, so that only they differ.
 */
final class ThreadedMode implements ChatMode {
    private final Spawner spawner;

    ThreadedMode(Spawner spawner) {
        this.spawner = spawner;
    }

    @Override
    public int open(InetSocketAddress address, Tally tally, long patienceNs) throws IOException {
        ServerSocket listening = new ServerSocket();
        listening.setReuseAddress(true);
        listening.bind(address, BACKLOG);
        Room.Directory<ThreadedUser> rooms = new Room.Directory<>(ThreadedUser::number);
        Thread acceptor = new Thread(() -> accept(listening, rooms, tally, patienceNs), "accept");
        acceptor.setDaemon(true);
        acceptor.start();
        return listening.getLocalPort();
    }

    private void accept(
            ServerSocket listening, Room.Directory<ThreadedUser> rooms, Tally tally, long patienceNs) {
        while (true) {
            try {
                Socket socket = listening.accept();
                tally.accepted.increment();
                socket.setTcpNoDelay(true);
                ThreadedUser user = new ThreadedUser(socket, rooms, tally, patienceNs);
                spawner.start("read " + socket.getPort(), user::read);
                spawner.start("write " + socket.getPort(), user::write);
            } catch (IOException e) {
                // A connection that closed before it was accepted is not fatal; a lack of descriptors is, because every accept
                // would fail.
                if (listening.isClosed() || String.valueOf(e.getMessage()).contains("Too many open files")) {
                    throw new IllegalStateException("accepting a connection: " + e.getMessage(), e);
                }
            }
        }
    }
}
