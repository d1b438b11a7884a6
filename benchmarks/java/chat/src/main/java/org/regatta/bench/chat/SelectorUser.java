package org.regatta.bench.chat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;

/**
 * One connection of the selector thread.
 *
 * <p>A full queue must block its senders, as in the threaded mode. This thread cannot wait, so that while the queue of a user is
 * full, no user in its room is read. Messages already read are still delivered: a queue may exceed its limit by that amount.
 */
final class SelectorUser {
    private final SocketChannel channel;
    private final Room.Directory<SelectorUser> rooms;
    private final Tally tally;
    private final ArrayDeque<SelectorUser> dirty;
    private final FrameReader frames = new FrameReader(this::take);
    private final ArrayDeque<byte[]> queue = new ArrayDeque<>();

    /** Number of written bytes of the first frame in the queue. */
    private int written;

    private boolean isDirty;
    private boolean left;
    private boolean full;
    private long fullSinceNs;
    private Room<SelectorUser> room;
    private int roomNumber;
    private int number;
    SelectionKey key;

    SelectorUser(
            SocketChannel channel, Room.Directory<SelectorUser> rooms, Tally tally, ArrayDeque<SelectorUser> dirty) {
        this.channel = channel;
        this.rooms = rooms;
        this.tally = tally;
        this.dirty = dirty;
    }

    int number() {
        return number;
    }

    /** Whether others have waited for this user for longer than {@code patienceNs}. */
    boolean isTooSlow(long nowNs, long patienceNs) {
        return full && nowNs - fullSinceNs > patienceNs;
    }

    void cutOff(long patienceNs) {
        tally.cutOff(roomNumber, number, patienceNs);
        close();
    }

    /** Read available data. At the end of the stream the user has left; pending messages are still written. */
    void read() throws IOException {
        if (!frames.readFrom(channel)) {
            left = true;
            leave();
            wantReads(false);
            touch();
        }
    }

    /**
     * Writes as much of the queue as the socket takes.
     *
     * @param batch of any size, for this call
     */
    void write(ByteBuffer batch) throws IOException {
        isDirty = false;
        boolean all = true;
        while (!queue.isEmpty() && all) {
            fill(batch);
            int size = batch.remaining();
            int count = channel.write(batch);
            all = count == size;
            drop(count);
        }
        if (queue.isEmpty() && left) {
            close();
        } else if (key.isValid()) {
            int interest = key.interestOps();
            int wanted = queue.isEmpty() ? interest & ~SelectionKey.OP_WRITE : interest | SelectionKey.OP_WRITE;
            if (wanted != interest) {
                key.interestOps(wanted);
            }
            if (full && queue.size() < ChatMode.QUEUE_MESSAGES / 2) {
                full = false;
                letRoomBeRead();
            }
        }
    }

    /** Close the connection. Idempotent. */
    void close() {
        leave();
        queue.clear();
        key.cancel();
        try {
            channel.close();
        } catch (IOException e) {
            // Errors are irrelevant after the end.
        }
    }

    private void leave() {
        if (room != null) {
            rooms.leave(roomNumber, this);
            full = false;
            letRoomBeRead();
            room = null;
        }
    }

    private void take(byte kind, ByteBuffer frame) throws IOException {
        int inRoom = frame.getInt();
        int user = frame.getInt();
        if (kind == Frame.JOIN && room == null) {
            roomNumber = inRoom;
            number = user;
            room = rooms.join(inRoom, this);
            queue.add(Frame.place(Frame.JOINED, inRoom, user));
            touch();
        } else if (kind == Frame.MESSAGE && room != null && inRoom == roomNumber && user == number) {
            tally.received.increment();
            byte[] copy = new byte[Frame.LENGTH_BYTES + Frame.MESSAGE_BYTES];
            System.arraycopy(frame.array(), frame.limit() - copy.length, copy, 0, copy.length);
            for (SelectorUser other : room.users()) {
                other.deliver(copy);
            }
        } else {
            throw new ProtocolException("a frame of kind " + kind + " in the wrong state");
        }
    }

    private void deliver(byte[] frame) {
        queue.add(frame);
        touch();
        if (!full && queue.size() >= ChatMode.QUEUE_MESSAGES) {
            full = true;
            fullSinceNs = System.nanoTime();
            for (SelectorUser other : room.users()) {
                other.wantReads(false);
            }
        }
    }

    private void letRoomBeRead() {
        if (room.users().stream().noneMatch(other -> other.full)) {
            for (SelectorUser other : room.users()) {
                other.wantReads(true);
            }
        }
    }

    private void wantReads(boolean wanted) {
        if (key.isValid()) {
            int interest = key.interestOps();
            int changed = wanted && !left ? interest | SelectionKey.OP_READ : interest & ~SelectionKey.OP_READ;
            if (changed != interest) {
                key.interestOps(changed);
            }
        }
    }

    private void touch() {
        if (!isDirty) {
            isDirty = true;
            dirty.add(this);
        }
    }

    private void fill(ByteBuffer batch) {
        batch.clear();
        int skip = written;
        for (byte[] frame : queue) {
            if (batch.remaining() < frame.length - skip) {
                break;
            }
            batch.put(frame, skip, frame.length - skip);
            skip = 0;
        }
        batch.flip();
    }

    /** Take {@code count} bytes from the start of the queue. */
    private void drop(int count) {
        int rest = count;
        int messages = 0;
        while (rest > 0) {
            byte[] first = queue.peek();
            if (rest < first.length - written) {
                written += rest;
                break;
            }
            rest -= first.length - written;
            written = 0;
            queue.poll();
            messages += first[Frame.LENGTH_BYTES] == Frame.MESSAGE ? 1 : 0;
        }
        tally.delivered.add(messages);
    }
}
