package org.regatta.bench.vm.db;

import java.nio.charset.StandardCharsets;
import java.util.List;

/** Executes the lines of a script on a database. */
final class Session {
    private final Database database = new Database();
    private List<Account> selection = List.of();
    private long shown;

    /** @param script lines in ASCII, each terminated by a line feed */
    void run(byte[] script) {
        int start = 0;
        for (int i = 0; i < script.length; i++) {
            if (script[i] == '\n') {
                execute(new String(script, start, i - start, StandardCharsets.US_ASCII));
                start = i + 1;
            }
        }
        selection = List.of();
    }

    Database database() {
        return database;
    }

    /** A value that depends on all displayed data: sorted records and reports. */
    long shown() {
        return shown;
    }

    private void execute(String line) {
        String[] words = line.split(" ");
        switch (words[0]) {
            case "add":
                database.add(new Account(
                        number(words[1]), words[2], words[3], words[4], words[5], Long.parseLong(words[6])));
                break;
            case "delete":
                database.delete(number(words[1]));
                break;
            case "move":
                database.move(number(words[1]), words[2], words[3]);
                break;
            case "pay":
                long cents = Long.parseLong(words[3]);
                database.get(number(words[1])).book(-cents);
                database.get(number(words[2])).book(cents);
                break;
            case "city":
                selection = database.inCity(words[1]);
                break;
            case "names":
                selection = database.named(words[1], words[2]);
                break;
            case "all":
                selection = database.all();
                break;
            case "sort":
                sort(words);
                break;
            case "report":
                shown = 31 * shown + database.report().hashCode();
                break;
            default:
                throw new IllegalArgumentException("unknown operation: " + line);
        }
    }

    private void sort(String[] words) {
        String[] keys = new String[words.length - 1];
        System.arraycopy(words, 1, keys, 0, keys.length);
        selection.sort(Database.order(keys));
        for (Account account : selection) {
            shown = 31 * shown + account.number();
        }
    }

    private static int number(String word) {
        return Integer.parseInt(word);
    }
}
