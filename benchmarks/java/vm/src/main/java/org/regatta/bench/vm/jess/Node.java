package org.regatta.bench.vm.jess;

/** Continues with the tokens of a store. */
interface Node {
    void tokenCame(Token token);
}
