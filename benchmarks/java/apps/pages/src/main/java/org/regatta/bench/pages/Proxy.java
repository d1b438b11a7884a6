package org.regatta.bench.pages;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.StringTokenizer;
import org.regatta.bench.inputs.WebPages;

/**
 * A synthetic proxy like that of Mercator: it serves the pages of all sites from memory, with HTTP/1.0. One thread
 * serves the connections sequentially.
 */
final class Proxy {
    private static final int LONGEST_REQUEST = 2048;

    private final Map<String, byte[]> pages = new HashMap<>();
    private final Map<String, String> charsets = new HashMap<>();
    private final ServerSocket server;
    private final Thread thread;

    Proxy(WebPages made) throws IOException {
        for (int page = 0; page < made.count(); page++) {
            pages.put(made.url(page), made.bytes(page));
            charsets.put(made.url(page), made.charset(page).name());
        }
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        thread = new Thread(this::serve, "proxy");
        thread.setDaemon(true);
        thread.start();
    }

    InetAddress address() {
        return server.getInetAddress();
    }

    int port() {
        return server.getLocalPort();
    }

    void close() throws IOException, InterruptedException {
        server.close();
        thread.join();
    }

    /** Any failure here ends the process: the harness handles uncaught exceptions. */
    private void serve() {
        try {
            while (true) {
                try (Socket client = server.accept()) {
                    answer(client);
                }
            }
        } catch (IOException e) {
            if (!server.isClosed()) {
                throw new IllegalStateException("the proxy cannot serve", e);
            }
        }
    }

    private void answer(Socket client) throws IOException {
        StringTokenizer request = new StringTokenizer(request(client.getInputStream()));
        request.nextToken();
        String url = request.nextToken();
        byte[] page = pages.get(url);
        StringBuilder head = new StringBuilder();
        if (page == null) {
            page = new byte[0];
            head.append("HTTP/1.0 404 Not Found\r\n");
        } else {
            head.append("HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=");
            head.append(charsets.get(url)).append("\r\n");
        }
        head.append("Content-Length: ").append(page.length).append("\r\n\r\n");
        byte[] start = head.toString().getBytes(StandardCharsets.ISO_8859_1);
        // In one piece: the reader wakes up once.
        byte[] answer = Arrays.copyOf(start, start.length + page.length);
        System.arraycopy(page, 0, answer, start.length, page.length);
        client.getOutputStream().write(answer, 0, answer.length);
    }

    /** @return the request of a client, up to the empty line */
    private static String request(InputStream in) throws IOException {
        byte[] bytes = new byte[LONGEST_REQUEST];
        int length = 0;
        String request = "";
        while (!request.endsWith("\r\n\r\n")) {
            int read = in.read(bytes, length, bytes.length - length);
            if (read <= 0) {
                throw new IOException("not a request of at most " + bytes.length + " bytes: " + request);
            }
            length += read;
            request = new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
        }
        return request;
    }
}
