package org.regatta.bench.vm.db;

import java.util.List;
import java.util.Random;
import org.regatta.bench.Benchmark;
import org.regatta.bench.OutputDigest;
import org.regatta.bench.WrongResultException;

/**
 * Applies a seeded script of operations to records in memory; the output is the displayed and the final records.
 *
 * <p>Stresses: a live graph of records, strings and index nodes that grows to its full size and changes everywhere,
 * with short-lived strings, lists and boxed keys; string comparison and calls through comparators.
 */
public final class DbBenchmark implements Benchmark {
    public static final int MAX_SIZE = 1000;
    private static final int ACCOUNTS_PER_SIZE = 400;
    private static final int OPERATIONS_PER_SIZE = 2000;

    private Script script;
    private Session session;

    @Override
    public void setup(int size, long seed) {
        script = new Script(new Random(seed), size * ACCOUNTS_PER_SIZE, size * OPERATIONS_PER_SIZE);
    }

    /** Release the last output: otherwise the second iteration needs more heap than the first. */
    @Override
    public void prepare(int iteration) {
        session = null;
    }

    @Override
    public long iterate(int iteration) {
        session = new Session();
        session.run(script.text());
        return session.shown();
    }

    @Override
    public void digest(OutputDigest out) throws WrongResultException {
        Database database = session.database();
        List<Account> accounts = database.all();
        String inconsistency = database.inconsistency();
        if (inconsistency != null) {
            throw new WrongResultException("the indices disagree: " + inconsistency);
        }
        if (accounts.size() != script.finalCount() || Database.total(accounts) != script.finalCents()) {
            throw new WrongResultException("expected " + script.finalCount() + " accounts with "
                    + script.finalCents() + " cents, got " + accounts.size() + " with " + Database.total(accounts));
        }
        out.put(session.shown());
        accounts.sort(Database.order());
        for (Account account : accounts) {
            out.put(account.number())
                    .put(account.name())
                    .put(account.phone())
                    .put(account.city())
                    .put(account.street())
                    .put(account.balanceCents());
        }
    }
}
