package org.regatta.bench.bloat;

import org.regatta.bench.OutputDigest;

/** Number of changes of each kind. */
final class Changes {
    long methods;
    long constants;
    long branches;
    long unreachable;
    long peepholes;
    long deadStores;
    long counters;

    void digest(OutputDigest out) {
        out.put(methods).put(constants).put(branches).put(unreachable).put(peepholes).put(deadStores).put(counters);
    }
}
