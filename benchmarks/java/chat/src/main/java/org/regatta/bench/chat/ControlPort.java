package org.regatta.bench.chat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.regatta.bench.Borders;

/**
 * The control connection: opens and closes the measured window and reports the server's figures for it.
 *
 * <p>Lines of text: the reply to {@code begin} is {@code begun}. The reply to {@code end} is {@code ended} and the figures as
 * {@code name=number}. The reply to any other line is {@code error} and a reason. It has a separate port and platform thread in
 * every mode, so that its cost is the same in all modes.
 *
 * <p>If the runner counts events, it reads its counters at the borders of the window.
 */
final class ControlPort {
    /** Limit of a line: a valid command has a few short words. */
    private static final int MOST_CHARACTERS = 64;

    private final Tally tally;
    private final Borders borders;
    private int windows;

    private Figures figures;
    private Figures.Switches switches;
    private long counted;
    private long received;
    private long delivered;

    ControlPort(Tally tally, Borders borders) {
        this.tally = tally;
        this.borders = borders;
    }

    /** Bind and serve connections sequentially; return the port. */
    int open(InetSocketAddress address) throws IOException {
        ServerSocket listening = new ServerSocket();
        listening.setReuseAddress(true);
        listening.bind(address);
        Thread thread = new Thread(() -> serve(listening), "control");
        thread.setDaemon(true);
        thread.start();
        return listening.getLocalPort();
    }

    private void serve(ServerSocket listening) {
        while (true) {
            try (Socket socket = listening.accept()) {
                socket.setTcpNoDelay(true);
                converse(socket);
            } catch (IOException e) {
                if (listening.isClosed()) {
                    throw new IllegalStateException(e);
                }
            }
            figures = null;
        }
    }

    private void converse(Socket socket) throws IOException {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
        OutputStream out = socket.getOutputStream();
        for (String line = readLine(in); line != null; line = readLine(in)) {
            String answer;
            try {
                if (line.equals("begin") && figures == null) {
                    answer = begin();
                } else if (line.equals("end") && figures != null) {
                    answer = end();
                } else {
                    answer = "error expected begin and end in turn";
                }
            } catch (IOException e) {
                answer = "error " + e.getMessage();
            }
            out.write((answer + "\n").getBytes(StandardCharsets.US_ASCII));
        }
    }

    /** Slow steps come before the window, which lasts from the last step here to the first of {@link #end}. */
    private String begin() throws IOException {
        switches = Figures.Switches.read(tally);
        // The first request loads classes, which takes hundreds of ms on a busy machine; the second one replaces it.
        borders.begin(windows);
        long before = tally.received.sum();
        borders.begin(windows);
        counted = halfWay(before);
        received = tally.received.sum();
        delivered = tally.delivered.sum();
        figures = Figures.read();
        return "begun";
    }

    private String end() throws IOException {
        Figures now = Figures.read();
        long receivedNow = tally.received.sum();
        long deliveredNow = tally.delivered.sum();
        borders.end(windows++);
        long countedNow = halfWay(receivedNow);
        Figures.Switches switchesNow = Figures.Switches.read(tally);
        String answer = "ended window_ns=" + (now.atNs - figures.atNs)
                + " user_ns=" + (now.userNs - figures.userNs)
                + " system_ns=" + (now.systemNs - figures.systemNs)
                + " minor_faults=" + (now.minorFaults - figures.minorFaults)
                + " major_faults=" + (now.majorFaults - figures.majorFaults)
                + " received=" + (receivedNow - received)
                + " delivered=" + (deliveredNow - delivered)
                + " counted=" + (countedNow - counted)
                + " voluntary=" + switchesNow.voluntarySince(switches)
                + " involuntary=" + switchesNow.involuntarySince(switches)
                + " switches_ns=" + (switchesNow.atNs - switches.atNs)
                + " switches_received=" + (switchesNow.received - switches.received)
                + (now.compileNs < 0 ? "" : " compile_ns=" + (now.compileNs - figures.compileNs))
                + " cpus=" + Runtime.getRuntime().availableProcessors()
                + " threads=" + switchesNow.count()
                + " threads_ended=" + switchesNow.endedSince(switches)
                + " accepted=" + tally.accepted.sum()
                + " rejected=" + tally.rejected.sum()
                + " too_slow=" + tally.tooSlow.sum();
        figures = null;
        return answer;
    }

    /**
     * Return the number of messages received when the runner read its counters: at an unknown time since {@code before}. On an
     * overloaded machine, the runner and this thread may each wait to be scheduled.
     */
    private long halfWay(long before) {
        return before + (tally.received.sum() - before) / 2;
    }

    private static String readLine(BufferedReader in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c >= 0; c = in.read()) {
            if (c == '\n') {
                return line.toString();
            }
            if (line.length() == MOST_CHARACTERS) {
                throw new ProtocolException("a line of more than " + MOST_CHARACTERS + " characters");
            }
            line.append((char) c);
        }
        return null;
    }
}
