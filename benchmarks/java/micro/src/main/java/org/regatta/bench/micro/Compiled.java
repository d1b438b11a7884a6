package org.regatta.bench.micro;

/** The class whose only method {@link Compilers} lets the JVM compile, again and again. */
public final class Compiled implements Loop {
    /** Bytecode of {@link #run}. */
    static final int BYTES = 221;

    private final int[] slots = new int[64];
    private long state = 1;

    /** Fields, elements of an array, arithmetic and branches, without a loop: it is compiled by its calls alone. */
    @Override
    public long run(Object operation, long times) {
        long mixed = state + times;
        mixed ^= mixed << 13;
        mixed ^= mixed >>> 7;
        mixed ^= mixed << 17;
        int slot = (int) (mixed >>> 32) & 63;
        int other = slot == 0 ? 1 : slot - 1;
        if (slots[slot] < slots[other]) {
            slots[slot] = slots[other] + 1;
        } else if (slots[slot] > 1 << 20) {
            slots[slot] = slots[other] >> 1;
        } else {
            slots[slot] += (int) times & 15;
        }
        if (operation != null) {
            mixed += slots[(slot + 7) & 63];
        }
        state = mixed == 0 ? 1 : mixed;
        return (mixed & 1) == 0 ? mixed + slots[slot] : mixed - slots[other];
    }
}
