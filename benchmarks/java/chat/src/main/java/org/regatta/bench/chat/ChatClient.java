package org.regatta.bench.chat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The client: drives all users, measures the windows and writes the lines of docs/protocol.md for both sides. */
public final class ChatClient {
    private static final String RESULTS = "REGATTA_RESULTS";
    private static final int MOST_ITERATIONS = 10_000;

    private static final String USAGE = "ChatClient --server HOST:PORT --control PORT\n"
            + "  --connections N     number of users (800)\n"
            + "  --room N            users per room (20)\n"
            + "  --rate R            messages per second and user; 0 (default): closed loop\n"
            + "  --warmup-seconds S  warm-up before the first window (1)\n"
            + "  --seconds S         length of a window (3)\n"
            + "  --iterations N      number of windows (1)\n"
            + "  --seed N            seed of the send schedule (1)\n"
            + "  --mode NAME         mode of the server, for the output only\n"
            + "Append output lines to the file named by " + RESULTS + "; if unset, print them.\n";

    private ChatClient() {}

    public static void main(String[] args) {
        try {
            Arguments arguments = new Arguments(
                    args,
                    Set.of("server", "control", "connections", "room", "rate", "warmup-seconds", "seconds",
                            "iterations", "seed", "mode"),
                    Set.of("help", "until-input-ends"));
            if (arguments.has("help")) {
                System.out.print(USAGE);
                return;
            }
            if (arguments.has("until-input-ends")) {
                endWithInput();
            }
            write(run(arguments));
        } catch (UsageException e) {
            System.err.println("ChatClient: " + e.getMessage());
            System.exit(2);
        } catch (IOException | UncheckedIOException | WrongDeliveryException e) {
            fail(e.getMessage());
        }
        System.exit(0);
    }

    private static List<String> run(Arguments arguments) throws UsageException, IOException, WrongDeliveryException {
        String server = arguments.text("server", "");
        int colon = server.lastIndexOf(':');
        if (colon < 1 || !server.substring(colon + 1).matches("[0-9]{1,5}")) {
            throw Arguments.wrong("server", "HOST:PORT", server);
        }
        String host = server.substring(0, colon);
        int port = Integer.parseInt(server.substring(colon + 1));
        int control = (int) arguments.whole("control", 0, 1, 65_535);
        if (control == 0 || port < 1 || port > 65_535) {
            throw new UsageException("--server HOST:PORT and --control PORT: expected ports from 1 to 65535");
        }
        int connections = (int) arguments.whole("connections", 800, 1, ChatServer.MOST_CONNECTIONS);
        int room = (int) arguments.whole("room", 20, 1, 1000);
        double rate = arguments.number("rate", 0, 1e6);
        int iterations = (int) arguments.whole("iterations", 1, 1, MOST_ITERATIONS);
        long warmupMs = Math.round(arguments.number("warmup-seconds", 1, 3600) * 1000);
        long windowMs = Math.round(arguments.number("seconds", 3, 3600) * 1000);
        long seed = arguments.whole("seed", 1, Long.MIN_VALUE, Long.MAX_VALUE);
        String mode = arguments.text("mode", "");
        if (!mode.matches("[a-z]{0,16}")) {
            throw Arguments.wrong("mode", "a lower-case word", mode);
        }
        Descriptors.check(connections);
        Report report = new Report(connections, mode, rate);
        try (ClientLoop loop = new ClientLoop(address(host, port), connections, room, rate, seed)) {
            loop.connect();
            try (ExtraConnection extra = new ExtraConnection(address(host, control))) {
                Conductor conductor = new Conductor(loop, extra, warmupMs, windowMs, iterations);
                Thread thread = new Thread(conductor, "conductor");
                thread.setDaemon(true);
                thread.start();
                loop.run();
                join(thread);
                List<Map<String, Long>> figures = conductor.figures();
                for (int i = 0; i < iterations; i++) {
                    report.add(i, loop.windows().get(i), figures.get(i));
                }
            }
        }
        return report.lines();
    }

    private static void join(Thread thread) throws IOException {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IOException("interrupted", e);
        }
    }

    private static InetSocketAddress address(String host, int port) throws IOException {
        InetSocketAddress address = new InetSocketAddress(host, port);
        if (address.isUnresolved()) {
            throw new IOException("expected a host, got " + host + ", which does not resolve");
        }
        return address;
    }

    /** The parent process holds the other end of the input, and loses it when it dies. */
    private static void endWithInput() {
        Thread watch = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // Input is ignored.
                }
            } catch (IOException e) {
                // Same as the end of input.
            }
            Runtime.getRuntime().halt(1);
        }, "watch");
        watch.setDaemon(true);
        watch.start();
    }

    private static void fail(String message) {
        System.err.println("ChatClient: " + message);
        try {
            write(List.of("{\"error\": \"" + message.replace("\\", "\\\\").replace("\"", "'") + "\"}"));
        } catch (IOException e) {
            System.err.println("ChatClient: " + e.getMessage());
        }
        System.exit(1);
    }

    private static void write(List<String> lines) throws IOException {
        String file = System.getenv(RESULTS);
        if (file == null || file.isEmpty()) {
            lines.forEach(System.out::println);
        } else {
            Files.write(
                    Path.of(file), lines, StandardCharsets.UTF_8, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
    }
}
