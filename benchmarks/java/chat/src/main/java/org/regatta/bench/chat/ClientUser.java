package org.regatta.bench.chat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;

/** One user: sends messages and verifies the messages that it receives. */
final class ClientUser {
    private final int room;
    private final int number;
    private final ClientLoop loop;
    private final FrameReader frames = new FrameReader(this::take);
    private final ArrayDeque<ByteBuffer> unsent = new ArrayDeque<>();

    /** Next sequence number of each sender in the room. */
    private final int[] expected;

    SocketChannel channel;
    SelectionKey key;
    private boolean joined;
    private int sequence;

    /** @param users number of users in the room */
    ClientUser(int room, int number, int users, ClientLoop loop) {
        this.room = room;
        this.number = number;
        this.loop = loop;
        this.expected = new int[users];
    }

    int room() {
        return room;
    }

    int number() {
        return number;
    }

    /** Number of sent messages. */
    int sent() {
        return sequence;
    }

    void join() throws IOException {
        write(ByteBuffer.wrap(Frame.place(Frame.JOIN, room, number)));
    }

    /** Send the next message: at once, unless the socket is full because the server is far behind. */
    void send(long plannedNs) throws IOException {
        write(ByteBuffer.wrap(Frame.message(room, number, sequence++, plannedNs)));
    }

    /** Read available data. */
    void read() throws IOException {
        if (!frames.readFrom(channel)) {
            throw new IOException(this + ": the server closed the connection");
        }
    }

    /** Write pending data. */
    void writeUnsent() throws IOException {
        while (!unsent.isEmpty()) {
            channel.write(unsent.peek());
            if (unsent.peek().hasRemaining()) {
                return;
            }
            unsent.poll();
        }
        key.interestOps(SelectionKey.OP_READ);
    }

    /**
     * @param senders the users of the same room, by number
     * @throws WrongDeliveryException unless this user has received all messages that they sent
     */
    void checkComplete(ClientUser[] senders) throws WrongDeliveryException {
        for (ClientUser sender : senders) {
            if (expected[sender.number] != sender.sequence) {
                throw new WrongDeliveryException(this + " heard " + expected[sender.number] + " of the "
                        + sender.sequence + " messages of user " + sender.number);
            }
        }
    }

    @Override
    public String toString() {
        return "user " + number + " of room " + room;
    }

    private void take(byte kind, ByteBuffer frame) throws IOException {
        int inRoom = frame.getInt();
        int sender = frame.getInt();
        if (kind == Frame.JOINED && !joined && inRoom == room && sender == number) {
            joined = true;
            loop.joined();
            return;
        }
        if (kind != Frame.MESSAGE || !joined || inRoom != room || sender < 0 || sender >= expected.length) {
            throw new ProtocolException(this + " got a frame of kind " + kind + " of room " + inRoom + ", user " + sender);
        }
        int got = frame.getInt();
        long plannedNs = frame.getLong();
        if (got != expected[sender]) {
            throw new ProtocolException(this + ": expected message " + expected[sender] + " of user " + sender
                    + ", got message " + got);
        }
        if (!Frame.bodyIsRight(frame, room, sender, got)) {
            throw new ProtocolException(this + ": message " + got + " of user " + sender + " differs from the sent message");
        }
        expected[sender]++;
        loop.heard(this, sender == number, plannedNs, frames.readAtNs());
    }

    private void write(ByteBuffer frame) throws IOException {
        if (unsent.isEmpty()) {
            channel.write(frame);
        }
        if (frame.hasRemaining()) {
            unsent.add(frame);
            key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        }
    }
}
