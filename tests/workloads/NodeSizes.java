package org.regatta.bench.gc;

/** Prints the size of nodes by the number of references and the requested size. */
public final class NodeSizes {
    private NodeSizes() {}

    public static void main(String[] args) {
        NodeClasses nodes = new NodeClasses();
        System.out.println("reference " + NodeClasses.referenceBytes());
        for (int references : new int[] {0, 3}) {
            for (String requested : args) {
                NodeClasses.Sized sized = nodes.ofSize(references, Integer.parseInt(requested));
                System.out.println(references + " " + requested + " " + (sized == null ? 0 : sized.bytes));
            }
        }
    }
}
