# Records, assignments, calls and arrays, in the kind of pystone.


class Record(object):
    def __init__(self, following=None, kind=0, choice=0, number=0, text=""):
        self.following = following
        self.kind = kind
        self.choice = choice
        self.number = number
        self.text = text

    def copy(self):
        return Record(self.following, self.kind, self.choice, self.number, self.text)


class Machine(object):
    def __init__(self, seed):
        self.state = seed % 2147483647 or 1
        self.counter = 0
        self.flag = False
        self.first = [0] * 51
        self.second = [[0] * 51 for _ in range(51)]
        self.tail = Record(kind=1, text="the tail of the list")
        self.head = Record(self.tail, 0, 3, 40, "the head of the list")

    def draw(self, below):
        self.state = self.state * 16807 % 2147483647
        return self.state % below

    def advance(self, record):
        copied = self.head.copy()
        record.following = copied
        record.number = 5
        copied.number = record.number
        copied.following = record.following
        copied.following = self.follow(copied.following)
        if copied.kind == 0:
            copied.number = 6
            copied.choice = self.choose(record.choice)
            copied.following = self.head.following
            copied.number = self.add(copied.number, 10)
            return copied
        return record.copy()

    def follow(self, record):
        if record is not None:
            self.counter += record.number
            return self.tail
        return self.head

    def choose(self, choice):
        if choice == 2 and self.counter > 100:
            return 0
        return {0: 1, 1: 3, 2: 4, 3: 2}.get(choice, 0)

    def add(self, left, right):
        return left + 2 + right

    def fill(self, at, value):
        place = at + 5
        self.first[place] = value
        self.first[place + 1] = self.first[place]
        self.first[place + 30] = place
        for i in range(place, place + 2):
            self.second[place][i] = place
        self.second[place][place - 1] += 1
        self.second[(place + 20) % 51][place] = self.first[place]
        self.counter += 5

    def differ(self, left, right):
        at = 1
        while at <= 1:
            if left[at] == right[at + 1]:
                at += 1
            else:
                return left < right
        return left > right


def run(size, seed):
    machine = Machine(seed)
    total = 0
    record = machine.head
    for turn in range(400 * size):
        left = "Number %d of the turns" % turn
        right = "Number %d of the turns" % machine.draw(turn + 1)
        machine.flag = not machine.differ(left, right)
        record = machine.advance(machine.head)
        machine.fill(machine.draw(10), record.number)
        for letter in "ABC":
            if ord(letter) - 65 == record.choice:
                total += 1
        total += machine.second[12][13] + machine.first[8]
        if machine.flag:
            total = total * 3 % 1000003
    return "%d %d %s %s" % (total, machine.counter, record.text, sum(map(sum, machine.second)))
