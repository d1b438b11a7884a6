/** Writes the marks of its arguments, four to a mark. */
public final class Marked {
    private Marked() {
    }

    public static void main(String[] words) {
        for (int i = 0; i + 3 < words.length; i += 4) {
            Probe.mark(words[i], words[i + 1], Long.parseLong(words[i + 2]), words[i + 3]);
        }
    }
}
