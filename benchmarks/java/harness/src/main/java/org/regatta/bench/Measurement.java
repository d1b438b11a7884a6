package org.regatta.bench;

import java.util.Map;

/** One measured value of one iteration. */
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
     * @param parameters distinguish this series of the metric from others; may be empty
     */
    public Measurement(String metric, Number value, String unit, Map<String, Object> parameters) {
        this(metric, value, unit, parameters, 0);
    }

    /** @param operations number of operations that {@code value} is the mean of; 0: not a mean */
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

    /** Number of operations that the value is the mean of; 0: not a mean. */
    public long operations() {
        return operations;
    }
}
