package org.regatta.bench;

import java.util.Map;

/** One number about one iteration. */
public final class Measurement {
    private final String metric;
    private final long value;
    private final String unit;
    private final Map<String, Object> parameters;

    /**
     * @param metric lower-case name, as in the protocol
     * @param value in {@code unit}
     * @param unit one of the protocol's units
     * @param parameters what tells this series of the metric from others; may be empty
     */
    public Measurement(String metric, long value, String unit, Map<String, Object> parameters) {
        this.metric = metric;
        this.value = value;
        this.unit = unit;
        this.parameters = parameters;
    }

    public Measurement(String metric, long value, String unit) {
        this(metric, value, unit, Map.of());
    }

    public String metric() {
        return metric;
    }

    public long value() {
        return value;
    }

    public String unit() {
        return unit;
    }

    public Map<String, Object> parameters() {
        return parameters;
    }
}
