package org.regatta.bench.micro;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

final class Sockets extends Group {
    private static final int MANY = 65536;
    private static final int[] BYTES = {64, 1024, 8192};

    /** The behaviour of the other side of a connection. */
    private interface Partner {
        void serve(Socket socket) throws IOException;
    }

    @Override
    void addOperations() throws Exception {
        ServerSocket closing = server(socket -> {});
        value("socket_connect", i -> {
            try (Socket socket = connect(closing)) {
                // the partner closes first, so that the ports of this side can be reused at once
                return socket.getInputStream().read();
            }
        });
        InputStream read = opened(connect(server(Sockets::writeForever))).getInputStream();
        value("socket_read_byte", i -> read.read());
        OutputStream written = opened(connect(server(Sockets::readForever))).getOutputStream();
        value("socket_write_byte", i -> {
            written.write((int) i);
            return i;
        });
        values("socket_read", "bytes", BYTES, bytes -> {
            InputStream in = opened(connect(server(Sockets::writeForever))).getInputStream();
            byte[] buffer = new byte[bytes];
            return i -> in.read(buffer, 0, bytes);
        });
        values("socket_write", "bytes", BYTES, bytes -> {
            OutputStream out = opened(connect(server(Sockets::readForever))).getOutputStream();
            byte[] sent = Inputs.prose(bytes);
            return i -> {
                out.write(sent, 0, bytes);
                return i;
            };
        });
        Socket asked = opened(connect(server(Sockets::answerForever)));
        asked.setTcpNoDelay(true);
        InputStream answers = asked.getInputStream();
        OutputStream questions = asked.getOutputStream();
        value("socket_round_trip", i -> {
            questions.write((int) i);
            return answers.read();
        });
    }

    private static Socket connect(ServerSocket server) throws IOException {
        return new Socket(server.getInetAddress(), server.getLocalPort());
    }

    /** @return a server with one thread that serves its connections sequentially */
    private ServerSocket server(Partner partner) throws IOException {
        ServerSocket server = opened(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()));
        Thread thread = new Thread(() -> {
            while (!server.isClosed()) {
                try (Socket socket = server.accept()) {
                    partner.serve(socket);
                } catch (IOException e) {
                    // the other side has closed the connection, or the server
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
        return server;
    }

    private static void writeForever(Socket socket) throws IOException {
        byte[] bytes = new byte[MANY];
        while (true) {
            socket.getOutputStream().write(bytes);
        }
    }

    private static void readForever(Socket socket) throws IOException {
        byte[] bytes = new byte[MANY];
        while (socket.getInputStream().read(bytes) >= 0) {}
    }

    private static void answerForever(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        for (int question = socket.getInputStream().read();
                question >= 0;
                question = socket.getInputStream().read()) {
            socket.getOutputStream().write(question);
        }
    }
}
