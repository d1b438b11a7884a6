package org.regatta.bench.chat;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** Options of a command line: {@code --name value}, or {@code --name} for flags. */
final class Arguments {
    private final Map<String, String> given = new HashMap<>();

    /**
     * @param names options with a value, without the dashes
     * @param flags options without a value
     */
    Arguments(String[] args, Set<String> names, Set<String> flags) throws UsageException {
        for (int i = 0; i < args.length; i++) {
            String name = args[i].startsWith("--") ? args[i].substring(2) : "";
            if (flags.contains(name)) {
                given.put(name, "true");
            } else if (!names.contains(name)) {
                throw new UsageException("unknown option " + args[i]);
            } else if (i + 1 == args.length) {
                throw new UsageException(args[i] + ": expected a value");
            } else {
                given.put(name, args[++i]);
            }
        }
    }

    boolean has(String name) {
        return given.containsKey(name);
    }

    /** Return the text of an option, or {@code otherwise}. */
    String text(String name, String otherwise) {
        return given.getOrDefault(name, otherwise);
    }

    /** Return an integer from {@code least} to {@code most}, or {@code otherwise}. */
    long whole(String name, long otherwise, long least, long most) throws UsageException {
        String text = given.get(name);
        if (text == null) {
            return otherwise;
        }
        try {
            long value = Long.parseLong(text);
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException e) {
            // Reported below, like a number out of range.
        }
        throw wrong(name, "an integer from " + least + " to " + most, text);
    }

    /** Return a number from 0 to {@code most}, or {@code otherwise}. */
    double number(String name, double otherwise, double most) throws UsageException {
        String text = given.get(name);
        if (text == null) {
            return otherwise;
        }
        try {
            double value = Double.parseDouble(text);
            if (value >= 0 && value <= most) {
                return value;
            }
        } catch (NumberFormatException e) {
            // Reported below, like a number out of range.
        }
        throw wrong(name, "a number from 0 to " + most, text);
    }

    static UsageException wrong(String name, String expected, String got) {
        return new UsageException("--" + name + ": expected " + expected + ", got '" + got + "'");
    }
}
