package org.regatta.bench.chat;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The lines of docs/protocol.md for the windows of a run. */
final class Report {
    private static final double[] PERCENTS = {50, 90, 99, 99.9, 100};

    private final List<String> lines = new ArrayList<>();
    private final int connections;
    private final String parameters;

    /**
     * @param mode of the server, or another label; may be empty
     * @param rate messages per second and user; 0: closed loop
     */
    Report(int connections, String mode, double rate) {
        this.connections = connections;
        parameters = "\"connections\": " + connections + (mode.isEmpty() ? "" : ", \"mode\": \"" + mode + "\"")
                + ", \"rate\": " + number(rate);
    }

    List<String> lines() {
        return lines;
    }

    /** Add the measurements of one window. */
    void add(int iteration, Window window, Map<String, Long> server) {
        // Each message that a whole room receives was sent once; the server counts both in exactly the window of its other
        // figures.
        double received = server.get("received");
        // Messages that the server received between the readings of the counters: counts are reported per message.
        long counted = server.get("counted");
        String operations = counted > 0 ? ", \"operations\": " + counted : "";
        value(iteration, "delivered_rate", window.heard / window.seconds(), "ops/s", "", operations);
        value(iteration, "sent_rate", window.sent / window.seconds(), "ops/s", "");
        value(iteration, "messages", received, "count", "");
        value(iteration, "deliveries", server.get("delivered"), "count", "");
        value(iteration, "window", server.get("window_ns"), "ns", "");
        for (double percent : PERCENTS) {
            // With fewer, it would be the maximum.
            if (window.latency.count() > 0 && (percent == 100 || window.latency.count() >= 100 / (100 - percent))) {
                String more = ", \"percentile\": " + number(percent);
                value(iteration, "latency", window.latency.percentile(percent), "ns", more);
            }
        }
        addServer(iteration, server, received);
    }

    private void addServer(int iteration, Map<String, Long> server, double received) {
        if (received > 0) {
            double ns = server.get("user_ns") + server.get("system_ns");
            value(iteration, "cpu_per_message", ns / received, "ns", "");
            // The client reads its own processor time slightly apart from the server's window.
            double clientNs = server.get("client_cpu_ns") * (server.get("window_ns") / (double) server.get("client_ns"));
            value(iteration, "cpu_client_per_message", clientNs / received, "ns", "");
        }
        double available = (double) server.get("window_ns") * server.get("cpus");
        value(iteration, "cpu_share", (server.get("user_ns") + server.get("system_ns")) / available, "ratio", "");
        if (server.containsKey("compile_ns")) {
            value(iteration, "compile_time", server.get("compile_ns"), "ns", "");
        }
        for (String space : new String[] {"user", "system"}) {
            double ns = server.get(space + "_ns");
            value(iteration, "cpu_" + space, ns, "ns", "");
            value(iteration, "cpu_" + space + "_per_connection", ns / connections, "ns", "");
            if (received > 0) {
                value(iteration, "cpu_" + space + "_per_message", ns / received, "ns", "");
            }
        }
        // The threads were read sequentially around the window: more messages arrived between the readings than in it.
        double share = received > 0
                ? received / server.get("switches_received")
                : server.get("window_ns") / (double) server.get("switches_ns");
        for (String kind : new String[] {"voluntary", "involuntary"}) {
            double switches = server.get(kind) * share;
            value(iteration, "switches_" + kind, switches, "count", "");
            if (received > 0) {
                value(iteration, "switches_" + kind + "_per_message", switches / received, "count", "");
            }
        }
        value(iteration, "minor_faults", server.get("minor_faults"), "count", "");
        value(iteration, "major_faults", server.get("major_faults"), "count", "");
        value(iteration, "threads", server.get("threads"), "count", "");
        lines.add("{\"info\": {\"server_connections\": {\"accepted\": " + server.get("accepted") + ", \"rejected\": "
                + server.get("rejected") + ", \"too_slow\": " + server.get("too_slow") + "}}}");
        if (server.get("threads_ended") > 0) {
            lines.add("{\"info\": {\"switches_missing_" + iteration + "\": \"those of " + server.get("threads_ended")
                    + " threads that ended in the window\"}}");
        }
    }

    private void value(int iteration, String metric, double value, String unit, String more) {
        value(iteration, metric, value, unit, more, "");
    }

    private void value(int iteration, String metric, double value, String unit, String more, String operations) {
        lines.add("{\"iteration\": " + iteration + ", \"metric\": \"" + metric + "\", \"value\": " + number(value)
                + ", \"unit\": \"" + unit + "\"" + operations + ", \"parameters\": {" + parameters + more + "}}");
    }

    /** A JSON number, without decimals if integral. */
    private static String number(double value) {
        return value == Math.rint(value) && Math.abs(value) < 1e15
                ? Long.toString((long) value)
                : String.format(Locale.ROOT, "%.9g", value);
    }
}
