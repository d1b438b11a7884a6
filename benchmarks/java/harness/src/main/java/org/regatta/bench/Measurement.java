package org.regatta.bench;

/**
 * One number about one iteration.
 *
 * @param metric lower-case name, as in the protocol
 * @param value in {@code unit}
 * @param unit one of the protocol's units
 */
public record Measurement(String metric, long value, String unit) {}
