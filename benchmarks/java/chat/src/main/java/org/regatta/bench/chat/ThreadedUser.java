package org.regatta.bench.chat;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * One connection and its two threads.
 *
 * <p>It ends in two ways. At the end of the stream (the user has left, even if it still listens), the reader leaves the room and
 * lets the writer finish the queue. If either thread fails, it closes the socket and so ends the other.
 */
final class ThreadedUser {
    /** Marks the end of the queue: the writer closes the connection. */
    private static final byte[] END = new byte[0];

    /** Interval at which a thread that waits for space in a queue checks whether its user has left, in ns. */
    private static final long LOOK_NS = 50_000_000L;

    private final Socket socket;
    private final Room.Directory<ThreadedUser> rooms;
    private final Tally tally;
    private final long patienceNs;
    private final ArrayBlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(ChatMode.QUEUE_MESSAGES);
    private volatile boolean gone;
    private Room<ThreadedUser> room;
    private int roomNumber;
    private int number;

    /** @param patienceNs time that others wait for this user, in ns */
    ThreadedUser(Socket socket, Room.Directory<ThreadedUser> rooms, Tally tally, long patienceNs) {
        this.socket = socket;
        this.rooms = rooms;
        this.tally = tally;
        this.patienceNs = patienceNs;
    }

    int number() {
        return number;
    }

    /** Main method of the reader. */
    void read() {
        FrameReader frames = new FrameReader(this::take);
        boolean left = false;
        try {
            while (frames.readFrom(socket.getInputStream())) {
                // Each call blocks until bytes arrive.
            }
            left = true;
        } catch (ProtocolException e) {
            tally.rejected.increment();
        } catch (IOException e) {
            // The connection broke, or the writer closed it; other connections continue.
        } finally {
            if (room != null) {
                rooms.leave(roomNumber, this);
            }
            if (left) {
                deliver(END);
            } else {
                close();
            }
        }
    }

    /** Main method of the writer. */
    void write() {
        try {
            OutputStream out = socket.getOutputStream();
            byte[] batch = new byte[ChatMode.BATCH_BYTES];
            byte[] next = queue.take();
            while (next != END) {
                int length = 0;
                int messages = 0;
                while (next != null && next != END && length + next.length <= ChatMode.BATCH_BYTES) {
                    System.arraycopy(next, 0, batch, length, next.length);
                    length += next.length;
                    messages += isMessage(next) ? 1 : 0;
                    next = queue.poll();
                }
                out.write(batch, 0, length);
                tally.delivered.add(messages);
                if (next == null) {
                    next = queue.take();
                }
            }
        } catch (IOException e) {
            // As in the reader.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            close();
        }
    }

    private void take(byte kind, ByteBuffer frame) throws IOException {
        int inRoom = frame.getInt();
        int user = frame.getInt();
        if (kind == Frame.JOIN && room == null) {
            roomNumber = inRoom;
            number = user;
            room = rooms.join(inRoom, this);
            deliver(Frame.place(Frame.JOINED, inRoom, user));
        } else if (kind == Frame.MESSAGE && room != null && inRoom == roomNumber && user == number) {
            tally.received.increment();
            byte[] copy = new byte[Frame.LENGTH_BYTES + Frame.MESSAGE_BYTES];
            System.arraycopy(frame.array(), frame.limit() - copy.length, copy, 0, copy.length);
            for (ThreadedUser other : room.users()) {
                other.deliver(copy);
            }
        } else {
            throw new ProtocolException("a frame of kind " + kind + " in the wrong state");
        }
    }

    /** Queue a frame for this user; wait while the queue is full, with a time limit. */
    private void deliver(byte[] frame) {
        if (queue.offer(frame)) {
            return;
        }
        long since = System.nanoTime();
        try {
            while (!gone && !queue.offer(frame, LOOK_NS, TimeUnit.NANOSECONDS)) {
                if (System.nanoTime() - since > patienceNs && !gone) {
                    tally.cutOff(roomNumber, number, patienceNs);
                    close();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** End both threads. Thread-safe and idempotent. */
    private void close() {
        gone = true;
        try {
            socket.close();
        } catch (IOException e) {
            // Errors are irrelevant after the end.
        }
        // Wake a waiting writer; others may fill the queue at the same time.
        while (!queue.offer(END)) {
            queue.clear();
        }
    }

    private static boolean isMessage(byte[] frame) {
        return frame[Frame.LENGTH_BYTES] == Frame.MESSAGE;
    }
}
