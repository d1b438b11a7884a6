package org.regatta.bench.vm.jess;

/** Goes on with the tokens of a store. */
interface Node {
    void tokenCame(Token token);
}
