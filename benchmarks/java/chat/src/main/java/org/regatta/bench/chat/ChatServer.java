package org.regatta.bench.chat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Set;
import org.regatta.bench.Borders;

/** The server. Prints one line when it is ready. Ends on SIGTERM, or with {@code --until-input-ends} at the end of its input. */
public final class ChatServer {
    static final int MOST_CONNECTIONS = 1_000_000;

    private static final String USAGE = "ChatServer --mode platform|virtual|selector\n"
            + "  --host ADDRESS      address to bind (127.0.0.1: local connections only)\n"
            + "  --port N            port for users; 0 (default): chosen by the system\n"
            + "  --control-port N    port of the control connection; 0 (default): chosen by the system\n"
            + "  --connections N     expected connections (800), to check the limit of open files at the start\n"
            + "  --patience-ms N     disconnect a user that does not read for this time (60000)\n"
            + "  --until-input-ends  end at the end of standard input\n"
            + "  --probe             only check whether this JVM supports the mode; exit code 4 if not\n";

    private ChatServer() {}

    public static void main(String[] args) {
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            System.err.println("ChatServer: thread " + thread.getName() + ": " + failure);
            failure.printStackTrace();
            // With one thread less, the server would ignore some users: end it instead.
            Runtime.getRuntime().halt(1);
        });
        try {
            Arguments arguments = new Arguments(
                    args,
                    Set.of("mode", "host", "port", "control-port", "connections", "patience-ms"),
                    Set.of("until-input-ends", "probe", "help"));
            if (arguments.has("help")) {
                System.out.print(USAGE);
                return;
            }
            ChatMode mode = mode(arguments.text("mode", ""));
            if (!arguments.has("probe")) {
                serve(mode, arguments);
            }
        } catch (UsageException e) {
            System.err.println("ChatServer: " + e.getMessage());
            System.exit(2);
        } catch (NotPossibleException e) {
            System.err.println("not possible: " + e.getMessage());
            System.exit(4);
        } catch (IOException | InterruptedException e) {
            System.err.println("ChatServer: " + e.getMessage());
            System.exit(1);
        }
    }

    private static ChatMode mode(String name) throws UsageException, NotPossibleException {
        switch (name) {
            case "platform":
                return new ThreadedMode(Spawner.platform());
            case "virtual":
                return new ThreadedMode(Spawner.virtual());
            case "selector":
                return new SelectorMode();
            default:
                throw Arguments.wrong("mode", "platform, virtual or selector", name);
        }
    }

    private static void serve(ChatMode mode, Arguments arguments)
            throws UsageException, IOException, InterruptedException {
        int port = (int) arguments.whole("port", 0, 0, 65_535);
        int controlPort = (int) arguments.whole("control-port", 0, 0, 65_535);
        InetAddress host = InetAddress.getByName(arguments.text("host", "127.0.0.1"));
        Descriptors.check((int) arguments.whole("connections", 800, 1, MOST_CONNECTIONS));
        Tally tally = new Tally();
        // With thousands of threads and other load, a writer may wait for a processor for seconds.
        long patienceMs = arguments.whole("patience-ms", 60_000, 1, 3_600_000);
        int users = mode.open(new InetSocketAddress(host, port), tally, patienceMs * 1_000_000);
        int control = new ControlPort(tally, Borders.ofThisProcess()).open(new InetSocketAddress(host, controlPort));
        System.out.println("ready port=" + users + " control=" + control + " release=" + Runtime.version().feature());
        if (arguments.has("until-input-ends")) {
            while (System.in.read() >= 0) {
                // The parent process holds the other end, and loses it when it dies.
            }
        } else {
            Thread.currentThread().join();
        }
    }
}
