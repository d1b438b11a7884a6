"""Count primes with the sieve of Eratosthenes."""

import sys


def primes_below(limit):
    """Return the number of primes below a limit."""
    composite = [False] * limit
    count = 0
    for candidate in range(2, limit):
        if not composite[candidate]:
            count += 1
            for multiple in range(candidate * candidate, limit, candidate):
                composite[multiple] = True
    return count


for _ in range(int(sys.argv[1])):
    found = primes_below(200_000)
print(found)
