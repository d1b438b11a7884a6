# Generators within generators.


def queens(rows, placed=()):
    if len(placed) == rows:
        yield placed
        return
    row = len(placed)
    for column in range(rows):
        for other, taken in enumerate(placed):
            if taken == column or abs(taken - column) == row - other:
                break
        else:
            for solution in queens(rows, placed + (column,)):
                yield solution


def primes():
    multiples = {}
    number = 2
    while True:
        step = multiples.pop(number, None)
        if step is None:
            yield number
            multiples[number * number] = number
        else:
            following = number + step
            while following in multiples:
                following += step
            multiples[following] = step
        number += 1


class Node(object):
    def __init__(self, key):
        self.key = key
        self.left = None
        self.right = None

    def insert(self, key):
        node = self
        while key != node.key:
            if key < node.key:
                if node.left is None:
                    node.left = Node(key)
                node = node.left
            else:
                if node.right is None:
                    node.right = Node(key)
                node = node.right

    def __iter__(self):
        if self.left is not None:
            for key in self.left:
                yield key
        yield self.key
        if self.right is not None:
            for key in self.right:
                yield key


def pairs(keys):
    before = None
    for key in keys:
        if before is not None:
            yield before, key
        before = key


def first(count, items):
    for _ in range(count):
        yield next(items)


def run(size, seed):
    state = seed % 2147483647 or 1
    root = Node(1 << 30)
    for _ in range(120 * size):
        state = state * 16807 % 2147483647
        root.insert(state)
    gaps = [after - before for before, after in pairs(root)]
    if min(gaps) <= 0:
        raise ValueError("the tree is not in order")
    solutions = 0
    for _ in range(1 + size // 8):
        solutions += sum(1 for _ in queens(6))
    found = list(first(250 * size, primes()))
    return "%d %d %d %d %s" % (max(gaps), sum(gaps), solutions, sum(found), found[-5:])
