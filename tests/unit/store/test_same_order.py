from helpers.synthetic_journal import cell, record, write_experiment
from regatta.store.database import open_database

#: more rows than DuckDB gives to one thread at a time
ROWS = 150_000


def test_sums_are_the_same_each_time_however_many_threads_the_machine_has(tmp_path):
    one = cell()
    rows = [[i, "elapsed", 1e16 if i % 7 == 0 else 1.1 + i, "ns", None, None] for i in range(ROWS)]
    write_experiment(tmp_path, [one], [record(one, r, rows[r::3]) for r in range(3)], 3)
    found = set()
    for _ in range(5):
        with open_database(tmp_path) as connection:
            found.add(connection.execute("select avg(value), var_samp(value) from iterations").fetchall()[0])
    assert len(found) == 1
    with open_database(tmp_path) as connection:
        assert connection.execute("select current_setting('threads')").fetchall() == [(1,)]
