import java.lang.management.ManagementFactory;
import org.regatta.bench.chat.ChatServer;

/** A chat server that spends processor time before it serves, and says how much. */
final class Burning {
    private static final long BURN_NS = 1_500_000_000L;

    private Burning() {}

    public static void main(String[] args) {
        var threads = ManagementFactory.getThreadMXBean();
        while (threads.getCurrentThreadCpuTime() < BURN_NS) {
            // The time is what counts.
        }
        System.out.println("burnt " + threads.getCurrentThreadCpuTime());
        ChatServer.main(args);
    }
}
