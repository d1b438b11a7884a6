package org.regatta.bench.gc;

import java.util.LinkedHashMap;
import java.util.Map;

/** A structure in the heap: the parameters that its measurements carry. */
final class Case {
    private final Map<String, Object> parameters = new LinkedHashMap<>();

    Case(String shape) {
        parameters.put("shape", shape);
    }

    Case with(String name, Object value) {
        parameters.put(name, value);
        return this;
    }

    /** @return a copy of the parameters, to which others can be added */
    Map<String, Object> parameters() {
        return new LinkedHashMap<>(parameters);
    }

    @Override
    public String toString() {
        return parameters.toString();
    }
}
