package org.regatta.bench.pages;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The URLs to fetch: one queue per host, and the hosts in round-robin order. No URL is in it twice. */
final class Frontier {
    private final Map<String, ArrayDeque<String>> queues = new HashMap<>();
    /** the hosts with non-empty queues */
    private final ArrayDeque<String> turns = new ArrayDeque<>();
    /** fingerprints of all URLs ever added */
    private final Set<Long> seen = new HashSet<>();
    private final MessageDigest digest;

    Frontier() throws NoSuchAlgorithmException {
        digest = MessageDigest.getInstance("SHA-256");
    }

    void add(String url) {
        if (!seen.add(fingerprint(url))) {
            return;
        }
        String host = Url.host(url);
        ArrayDeque<String> queue = queues.get(host);
        if (queue == null) {
            queue = new ArrayDeque<>();
            queues.put(host, queue);
        }
        if (queue.isEmpty()) {
            turns.addLast(host);
        }
        queue.addLast(url);
    }

    /** @return null if empty */
    String next() {
        String host = turns.pollFirst();
        if (host == null) {
            return null;
        }
        ArrayDeque<String> queue = queues.get(host);
        String url = queue.removeFirst();
        if (!queue.isEmpty()) {
            turns.addLast(host);
        }
        return url;
    }

    private long fingerprint(String url) {
        byte[] hash = digest.digest(url.getBytes(StandardCharsets.UTF_8));
        long fingerprint = 0;
        for (int i = 0; i < Long.BYTES; i++) {
            fingerprint = fingerprint << Byte.SIZE | hash[i] & 0xff;
        }
        return fingerprint;
    }
}
