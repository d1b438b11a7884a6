package org.regatta.bench.vm.db;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;

/**
 * The operations, one per line, in a user's notation, and the expected final state of the database.
 *
 * <p>The generator tracks the balances in arrays, without the database, to know the final state.
 */
final class Script {
    private static final String[] SYLLABLES = {
        "al", "ber", "ca", "dor", "el", "fin", "go", "har", "is", "jo", "ka", "lor", "mu", "ner", "os", "pa"
    };
    private static final String[] SORTS = {
        "sort city name", "sort -balance name", "sort street -balance", "sort phone", "sort name -street"
    };
    private static final int LONGEST_LINE = 96;
    private static final int WHOLE_SORTS = 10;
    private static final int ACCOUNTS_PER_CITY = 80;

    private final Random random;
    private final int cities;
    private byte[] text;
    private int filled;

    /** Numbers of the existing accounts, unordered; the first {@code count} are valid. */
    private int[] existing;
    private int count;
    private long[] balanceCents;
    private int nextNumber;

    /**
     * @param accounts number of initial accounts
     * @param operations number of other operations
     */
    Script(Random random, int accounts, int operations) {
        this.random = random;
        cities = accounts / ACCOUNTS_PER_CITY;
        text = new byte[(accounts + operations) * LONGEST_LINE];
        existing = new int[accounts + operations];
        balanceCents = new long[accounts + operations];
        for (int i = 0; i < accounts; i++) {
            add();
        }
        for (int i = 1; i <= operations; i++) {
            operation();
            if (i % (operations / WHOLE_SORTS) == 0) {
                write("all\n");
                write(SORTS[random.nextInt(SORTS.length)] + "\nreport\n");
            }
        }
        text = Arrays.copyOf(text, filled);
    }

    /** ASCII. */
    byte[] text() {
        return text;
    }

    int finalCount() {
        return count;
    }

    long finalCents() {
        long cents = 0;
        for (int i = 0; i < count; i++) {
            cents += balanceCents[existing[i]];
        }
        return cents;
    }

    private void operation() {
        int kind = random.nextInt(20);
        if (kind < 4 || count < 2) {
            add();
        } else if (kind < 8) {
            int at = random.nextInt(count);
            write("delete " + existing[at] + "\n");
            existing[at] = existing[--count];
        } else if (kind < 11) {
            write("move " + existing[random.nextInt(count)] + ' ' + city() + ' ' + street() + "\n");
        } else if (kind < 16) {
            pay();
        } else if (kind < 19) {
            write("city " + city() + "\n" + SORTS[random.nextInt(SORTS.length)] + "\n");
        } else {
            String from = word(2);
            write("names " + from + ' ' + from + "n\n" + SORTS[random.nextInt(SORTS.length)] + "\n");
        }
    }

    private void add() {
        int number = nextNumber++;
        balanceCents[number] = random.nextInt(1_000_000);
        existing[count++] = number;
        write("add " + number + ' ' + word(2 + random.nextInt(2)) + '_' + word(2 + random.nextInt(3)) + ' '
                + (100_000_000 + random.nextInt(900_000_000)) + ' ' + city() + ' ' + street() + ' '
                + balanceCents[number] + "\n");
    }

    private void pay() {
        int from = existing[random.nextInt(count)];
        int to = existing[random.nextInt(count)];
        int cents = random.nextInt(10_000);
        balanceCents[from] -= cents;
        balanceCents[to] += cents;
        write("pay " + from + ' ' + to + ' ' + cents + "\n");
    }

    private String city() {
        int city = random.nextInt(cities);
        return SYLLABLES[city % SYLLABLES.length] + "ville" + city;
    }

    private String street() {
        return word(2) + "street_" + random.nextInt(200);
    }

    private String word(int syllables) {
        StringBuilder word = new StringBuilder();
        for (int i = 0; i < syllables; i++) {
            word.append(SYLLABLES[random.nextInt(SYLLABLES.length)]);
        }
        return word.toString();
    }

    private void write(String line) {
        byte[] bytes = line.getBytes(StandardCharsets.US_ASCII);
        if (filled + bytes.length > text.length) {
            text = Arrays.copyOf(text, 2 * text.length);
        }
        System.arraycopy(bytes, 0, text, filled, bytes.length);
        filled += bytes.length;
    }
}
