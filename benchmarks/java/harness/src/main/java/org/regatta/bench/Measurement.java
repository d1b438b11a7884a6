package org.regatta.bench;

import java.util.Map;

/** One number about one iteration. */
public final class Measurement {
    private final String metric;
    private final Number value;
    private final String unit;
    private final Map<String, Object> parameters;
    private final long operations;

    /**
     * @param metric lower-case name, as in the protocol
     * @param value in {@code unit}
     * @param unit one of the protocol's units
     * @param parameters what tells this series of the metric from others; may be empty
     */
    public Measurement(String metric, Number value, String unit, Map<String, Object> parameters) {
        this(metric, value, unit, parameters, 0);
    }

    /** @param operations how many operations {@code value} is the mean of; 0: it is no mean */
    public Measurement(String metric, Number value, String unit, Map<String, Object> parameters, long operations) {
        this.metric = metric;
        this.value = value;
        this.unit = unit;
        this.parameters = parameters;
        this.operations = operations;
    }

    public Measurement(String metric, Number value, String unit) {
        this(metric, value, unit, Map.of());
    }

    public String metric() {
        return metric;
    }

    public Number value() {
        return value;
    }

    public String unit() {
        return unit;
    }

    public Map<String, Object> parameters() {
        return parameters;
    }

    /** How many operations the value is the mean of; 0: it is no mean. */
    public long operations() {
        return operations;
    }
}
