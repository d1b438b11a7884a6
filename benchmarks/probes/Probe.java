import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** Marks of a program in the kernel's trace. See README.md. */
public final class Probe {
    private static final String WORD = "[A-Za-z0-9_.-]+";
    private static final Pattern MARK =
            Pattern.compile("regatta: " + WORD + " " + WORD + " ([0-9]+ )?" + WORD);
    private static final FileOutputStream TRACE = open();

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

    private static FileOutputStream open() {
        String path = System.getenv("REGATTA_TRACE_MARKER");
        try {
            return new FileOutputStream(path == null ? "/sys/kernel/tracing/trace_marker" : path, true);
        } catch (IOException absent) {
            return null;
        }
    }
}
