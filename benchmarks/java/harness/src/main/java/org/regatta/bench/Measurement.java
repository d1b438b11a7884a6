package org.regatta.bench;

import java.util.Map;

/**
 * One number about one iteration.
 *
 * @param metric lower-case name, as in the protocol
 * @param value in {@code unit}
 * @param unit one of the protocol's units
 * @param parameters what tells this series of the metric from others; may be empty
 */
public record Measurement(String metric, long value, String unit, Map<String, Object> parameters) {
    public Measurement(String metric, long value, String unit) {
        this(metric, value, unit, Map.of());
    }
}
