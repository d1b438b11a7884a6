package org.regatta.bench.chat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;

/** One user: what it sends, and whether it hears all that it should. */
final class ClientUser {
    private final int room;
    private final int number;
    private final ClientLoop loop;
    private final FrameReader frames = new FrameReader(this::take);
    private final ArrayDeque<ByteBuffer> unsent = new ArrayDeque<>();

    /** By sender of the room: the sequence number that comes next. */
    private final int[] expected;

    SocketChannel channel;
    SelectionKey key;
    private boolean joined;
    private int sequence;

    /**
     * @param users how many the room has
     */
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

    /** How many messages it has sent. */
    int sent() {
        return sequence;
    }

    void join() throws IOException {
        write(ByteBuffer.wrap(Frame.place(Frame.JOIN, room, number)));
    }

    /** Sends the next message, as soon as the socket takes it: at once, unless the server is far behind. */
    void send(long plannedNs) throws IOException {
        write(ByteBuffer.wrap(Frame.message(room, number, sequence++, plannedNs)));
    }

    /** Reads what is there. */
    void read() throws IOException {
        if (!frames.readFrom(channel)) {
            throw new IOException(this + ": the server closed the connection");
        }
    }

    /** Writes what could not be written before. */
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
     * @param senders the users of this one's room, by number
     * @throws WrongDeliveryException unless it has heard all that they sent
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
            throw new ProtocolException(this + ": message " + got + " of user " + sender + " is not what was sent");
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
