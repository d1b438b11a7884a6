package org.regatta.bench.chat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** The control connection, client side: the counterpart of {@link ControlPort}. */
final class ExtraConnection implements AutoCloseable {
    private static final int ANSWER_MS = 30_000;

    private final Socket socket = new Socket();
    private final BufferedReader in;

    ExtraConnection(InetSocketAddress server) throws IOException {
        socket.connect(server, ANSWER_MS);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(ANSWER_MS);
        in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
    }

    /** Return after the server has started to count. */
    void begin() throws IOException {
        ask("begin", "begun");
    }

    /** Return the server's figures since {@link #begin}: name to value. */
    Map<String, Long> end() throws IOException {
        Map<String, Long> figures = new HashMap<>();
        for (String pair : ask("end", "ended").split(" ")) {
            int equals = pair.indexOf('=');
            try {
                figures.put(pair.substring(0, Math.max(0, equals)), Long.parseLong(pair.substring(equals + 1)));
            } catch (NumberFormatException e) {
                throw new ProtocolException("expected name=number, got " + pair);
            }
        }
        return figures;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    private String ask(String word, String expected) throws IOException {
        socket.getOutputStream().write((word + "\n").getBytes(StandardCharsets.US_ASCII));
        String answer = in.readLine();
        if (answer == null || !answer.equals(expected) && !answer.startsWith(expected + " ")) {
            throw new ProtocolException("the server's reply to " + word + ": expected " + expected + ", got " + answer);
        }
        return answer.substring(Math.min(answer.length(), expected.length() + 1));
    }
}
