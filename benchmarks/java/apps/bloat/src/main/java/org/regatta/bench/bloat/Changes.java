package org.regatta.bench.bloat;

import org.regatta.bench.OutputDigest;

/** How often each kind of change was made. */
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
