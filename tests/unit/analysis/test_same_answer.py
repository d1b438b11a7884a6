import pytest
from rich_experiment import write_rich_experiment

from regatta.analysis.facts import read_facts
from regatta.analysis.levels import variance_by_level
from regatta.analysis.samples import load_samples
from regatta.store.database import open_database


@pytest.mark.parametrize("times", [8])
def test_the_same_records_give_the_same_variances_to_the_last_digit_whichever_thread_was_first(
    times, tmp_path
):
    folder = write_rich_experiment(tmp_path, rounds=4)
    facts = read_facts(folder)
    found = set()
    for _ in range(times):
        with open_database(folder) as connection:
            connection.execute("set threads = 4")
            samples = load_samples(connection, facts.steady)
            found.add(
                repr(
                    [
                        (one.s_squared, one.t_squared)
                        for one in variance_by_level(connection, samples, facts.steady)
                    ]
                )
            )
    assert len(found) == 1
    assert found != {"[]"}
