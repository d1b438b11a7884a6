import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.regex.Pattern;

/** Marks of a program in the kernel's trace. See README.md. */
public final class Probe {
    private static final String WORD = "[A-Za-z0-9_.-]+";
    private static final Pattern MARK =
            Pattern.compile("regatta: " + WORD + " " + WORD + " ([0-9]+ )?" + WORD);
    private static final OutputStream TRACE = open();

    private Probe() {
    }

    /**
     * Write a mark, such as ("request", "lock", -1, "cache"). A negative number is left out. Without a
     * trace, or with another character than those above in a word, nothing is written.
     */
    public static void mark(String kind, String object, long number, String name) {
        if (TRACE == null) {
            return;
        }
        String mark = "regatta: " + kind + " " + object + (number < 0 ? " " : " " + number + " ") + name;
        if (mark.length() < 255 && MARK.matcher(mark).matches()) {
            try {
                TRACE.write((mark + "\n").getBytes(StandardCharsets.US_ASCII));
            } catch (IOException off) {
                return; // The trace is off: the program continues.
            }
        }
    }

    private static OutputStream open() {
        String path = System.getenv("REGATTA_TRACE_MARKER");
        try {
            Path trace = Path.of(path == null ? "/sys/kernel/tracing/trace_marker" : path);
            return Files.newOutputStream(trace, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
        } catch (IOException | RuntimeException absent) {
            return null;
        }
    }
}
