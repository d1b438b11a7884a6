package org.regatta.bench;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * SHA-256 over typed values. Each value has its length or a fixed width, so that different sequences of values cannot
 * produce the same bytes.
 */
public final class OutputDigest {
    private final MessageDigest sha;

    public OutputDigest() {
        try {
            sha = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform must have SHA-256", e);
        }
    }

    public OutputDigest put(long value) {
        for (int shift = Long.SIZE - Byte.SIZE; shift >= 0; shift -= Byte.SIZE) {
            sha.update((byte) (value >>> shift));
        }
        return this;
    }

    public OutputDigest put(byte[] bytes, int length) {
        put(length);
        sha.update(bytes, 0, length);
        return this;
    }

    public OutputDigest put(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return put(bytes, bytes.length);
    }

    /** End the digest: 64 hexadecimal digits. */
    public String hex() {
        StringBuilder hex = new StringBuilder();
        for (byte b : sha.digest()) {
            hex.append(Character.forDigit(b >> 4 & 0xf, 16)).append(Character.forDigit(b & 0xf, 16));
        }
        return hex.toString();
    }
}
