package org.regatta.bench.pages;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The response to a request, in a buffer that all requests reuse. */
final class Response {
    private static final int FIRST_LENGTH = 16_384;
    private static final String CHARSET = "charset=";

    private byte[] bytes = new byte[FIRST_LENGTH];
    private int length;
    private int bodyStart;
    private int status;
    private Charset charset;

    /** Send a request to a proxy, and read its response until it closes the connection. */
    void fetch(InetAddress address, int port, String url) throws IOException {
        try (Socket socket = new Socket(address, port)) {
            StringBuilder request = new StringBuilder();
            request.append("GET ").append(url).append(" HTTP/1.0\r\nHost: ").append(Url.host(url));
            request.append("\r\nUser-Agent: crawler\r\nAccept: text/html\r\n\r\n");
            byte[] sent = request.toString().getBytes(StandardCharsets.ISO_8859_1);
            socket.getOutputStream().write(sent, 0, sent.length);
            InputStream in = socket.getInputStream();
            length = 0;
            for (int read = in.read(bytes, 0, bytes.length); read >= 0; ) {
                length += read;
                if (length == bytes.length) {
                    bytes = Arrays.copyOf(bytes, 2 * length);
                }
                read = in.read(bytes, length, bytes.length - length);
            }
        }
        readHeader(url);
    }

    boolean isPage() {
        return status == 200;
    }

    /** The characters of the page, in any charset. */
    Reader reader() {
        InputStream body = new ByteArrayInputStream(bytes, bodyStart, bodyLength());
        return new BufferedReader(new InputStreamReader(body, charset));
    }

    /** Start of the body in {@link #bytes}. */
    int bodyStart() {
        return bodyStart;
    }

    int bodyLength() {
        return length - bodyStart;
    }

    /** @return the buffer, not a copy */
    byte[] bytes() {
        return bytes;
    }

    /** Read the header byte by byte, because its length is unknown. */
    private void readHeader(String url) throws IOException {
        ByteArrayInputStream in = new ByteArrayInputStream(bytes, 0, length);
        String line = readLine(in);
        if (!line.startsWith("HTTP/1.0 ")) {
            throw new IOException(url + ": not an HTTP/1.0 response: " + line);
        }
        status = Integer.parseInt(line.substring(9, 12));
        charset = StandardCharsets.ISO_8859_1;
        int expected = -1;
        for (line = readLine(in); !line.isEmpty(); line = readLine(in)) {
            int colon = line.indexOf(':');
            String name = line.substring(0, colon);
            if (name.equalsIgnoreCase("Content-Length")) {
                expected = Integer.parseInt(line.substring(colon + 1).trim());
            } else if (name.equalsIgnoreCase("Content-Type")) {
                int at = line.indexOf(CHARSET);
                charset = at < 0 ? charset : Charset.forName(line.substring(at + CHARSET.length()));
            }
        }
        bodyStart = length - in.available();
        if (bodyLength() != expected) {
            throw new IOException(url + ": " + bodyLength() + " bytes, expected " + expected);
        }
    }

    private static String readLine(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new IOException("the header does not end");
            }
            if (b != '\r') {
                line.append((char) b);
            }
        }
        return line.toString();
    }
}
