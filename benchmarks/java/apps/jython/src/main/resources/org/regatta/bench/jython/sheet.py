# A sheet of cells with constraints between them, which are solved step by step, in the kind of DeltaBlue.


class Cell(object):
    __slots__ = ("name", "value", "readers", "rule", "height")

    def __init__(self, name, value):
        self.name = name
        self.value = value
        self.readers = []
        self.rule = None
        self.height = 0


class Rule(object):
    def __init__(self, target, sources):
        self.target = target
        self.sources = sources
        target.rule = self
        for source in sources:
            source.readers.append(self)
        target.height = 1 + max(source.height for source in sources)

    def compute(self):
        raise NotImplementedError(self.target.name)


class Scaled(Rule):
    def __init__(self, target, source, factor, offset):
        Rule.__init__(self, target, [source])
        self.factor = factor
        self.offset = offset

    def compute(self):
        return (self.sources[0].value * self.factor + self.offset) % 1000003


class Largest(Rule):
    def compute(self):
        return max([source.value for source in self.sources])


class Mixed(Rule):
    def compute(self):
        total = 0
        for weight, source in enumerate(self.sources):
            total += (weight + 1) * source.value
        return total % 1000003


class Sheet(object):
    def __init__(self, seed):
        self.state = seed % 2147483647 or 1
        self.cells = []
        self.changes = 0

    def draw(self, below):
        self.state = self.state * 16807 % 2147483647
        return self.state % below

    def build(self, inputs, formulas):
        for i in range(inputs):
            self.cells.append(Cell("in%d" % i, self.draw(1000)))
        for i in range(formulas):
            cell = Cell("out%d" % i, 0)
            some = [self.cells[self.draw(len(self.cells))] for _ in range(2 + self.draw(3))]
            kind = self.draw(3)
            if kind == 0:
                rule = Scaled(cell, some[0], 1 + self.draw(9), self.draw(100))
            elif kind == 1:
                rule = Largest(cell, some)
            else:
                rule = Mixed(cell, some)
            cell.value = rule.compute()
            self.cells.append(cell)

    def change(self, cell, value):
        """Set an input and compute anew what depends on it, lower cells first."""
        cell.value = value
        levels = {}
        self.mark(cell, levels)
        while levels:
            height = min(levels)
            for target in sorted(levels.pop(height), key=lambda each: each.name):
                value = target.rule.compute()
                if value != target.value:
                    target.value = value
                    self.changes += 1
                    self.mark(target, levels)

    def mark(self, cell, levels):
        for rule in cell.readers:
            level = levels.setdefault(rule.target.height, [])
            if rule.target not in level:
                level.append(rule.target)


def run(size, seed):
    sheet = Sheet(seed)
    inputs = 10
    sheet.build(inputs, 60)
    for _ in range(5 * size):
        sheet.change(sheet.cells[sheet.draw(inputs)], sheet.draw(1000))
    checked = [cell.name for cell in sheet.cells if cell.rule and cell.rule.compute() != cell.value]
    if checked:
        raise ValueError("not computed: %r" % checked)
    return "%d %s" % (sheet.changes, " ".join(str(cell.value) for cell in sheet.cells))
