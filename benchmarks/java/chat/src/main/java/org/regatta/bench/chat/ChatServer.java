package org.regatta.bench.chat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Set;

/** The server. Prints one line when it can be used, and ends when it is told to (SIGTERM), or when its input ends if asked so. */
public final class ChatServer {
    static final int MOST_CONNECTIONS = 1_000_000;

    private static final String USAGE = "ChatServer --mode platform|virtual|selector\n"
            + "  --host ADDRESS      to bind to (127.0.0.1: reached from this host alone)\n"
            + "  --port N            of users; 0, the default, lets the system choose\n"
            + "  --control-port N    of the extra connection that opens and closes windows; 0 as above\n"
            + "  --connections N     how many there will be (800): too low a limit of open files is told at the start\n"
            + "  --counters DIR      FIFOs control-N and ack-N of a perf stat for each window N\n"
            + "  --patience-ms N     how long a room waits for a user that does not read, until that is cut off (60000)\n"
            + "  --until-input-ends  end when standard input does\n"
            + "  --probe             only say whether this JVM can do the mode: exit code 4 if it cannot\n";

    private ChatServer() {}

    public static void main(String[] args) {
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            System.err.println("ChatServer: thread " + thread.getName() + ": " + failure);
            failure.printStackTrace();
            // A thread less is a server that does not answer some: better none at all.
            Runtime.getRuntime().halt(1);
        });
        try {
            Arguments arguments = new Arguments(
                    args,
                    Set.of("mode", "host", "port", "control-port", "connections", "counters", "patience-ms"),
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
        Path fifos = arguments.has("counters") ? Path.of(arguments.text("counters", "")) : null;
        // With thousands of threads and other work on the machine, a writer may wait for a processor for seconds.
        long patienceMs = arguments.whole("patience-ms", 60_000, 1, 3_600_000);
        int users = mode.open(new InetSocketAddress(host, port), tally, patienceMs * 1_000_000);
        int control = new ControlPort(tally, new CounterSwitch(fifos)).open(new InetSocketAddress(host, controlPort));
        System.out.println("ready port=" + users + " control=" + control
                + " pid=" + ProcessHandle.current().pid() + " release=" + Runtime.version().feature());
        if (arguments.has("until-input-ends")) {
            while (System.in.read() >= 0) {
                // Whoever started the server holds the other end, and loses it when it dies.
            }
        } else {
            Thread.currentThread().join();
        }
    }
}
