"""Count the solutions of the queens puzzle by backtracking."""

import sys


def solutions(size, row, columns, rising, falling):
    """Return the number of ways to place queens on the rows from `row` on."""
    if row == size:
        return 1
    count = 0
    for column in range(size):
        if not (columns[column] or rising[row + column] or falling[row - column + size]):
            columns[column] = rising[row + column] = falling[row - column + size] = True
            count += solutions(size, row + 1, columns, rising, falling)
            columns[column] = rising[row + column] = falling[row - column + size] = False
    return count


for _ in range(int(sys.argv[1])):
    found = solutions(8, 0, [False] * 8, [False] * 16, [False] * 17)
print(found)
