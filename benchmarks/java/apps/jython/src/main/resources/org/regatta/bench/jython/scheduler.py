# Tasks that pass packets to each other under a scheduler with priorities, in the kind of Richards.

DEVICE, WORK = 0, 1


class Packet(object):
    def __init__(self, following, target, kind):
        self.following = following
        self.target = target
        self.kind = kind
        self.value = 0
        self.values = [0] * 4

    def at_end_of(self, queue):
        self.following = None
        if queue is None:
            return self
        last = queue
        while last.following is not None:
            last = last.following
        last.following = self
        return queue


class Task(object):
    def __init__(self, scheduler, number, priority):
        self.scheduler = scheduler
        self.number = number
        self.priority = priority
        self.queue = None
        self.held = False
        self.waiting = True
        scheduler.add(self)

    def runnable(self):
        return not self.held and (self.queue is not None or not self.waiting)

    def take(self):
        packet = self.queue
        if packet is not None:
            self.queue = packet.following
            packet.following = None
        return packet

    def step(self):
        raise NotImplementedError(self.number)


class Idler(Task):
    def __init__(self, scheduler, number, rounds, seed):
        Task.__init__(self, scheduler, number, 0)
        self.left = rounds
        self.control = seed % 65535 + 1
        self.waiting = False

    def step(self):
        self.left -= 1
        if self.left == 0:
            self.held = True
        elif self.control & 1:
            self.control = self.control >> 1 ^ 0xD008
            self.scheduler.release(5)
        else:
            self.control >>= 1
            self.scheduler.release(4)


class Device(Task):
    def __init__(self, scheduler, number):
        Task.__init__(self, scheduler, number, 1000 * number)
        self.pending = None

    def step(self):
        packet = self.take()
        if packet is not None:
            self.pending = packet
            self.held = True
        elif self.pending is not None:
            packet, self.pending = self.pending, None
            self.waiting = True
            self.scheduler.send(packet, packet.values[3])
        else:
            self.waiting = True


class Worker(Task):
    def __init__(self, scheduler, number):
        Task.__init__(self, scheduler, number, 1000)
        self.turn = 2
        self.count = 0

    def step(self):
        packet = self.take()
        if packet is None:
            self.waiting = True
            return
        self.turn = 5 - self.turn
        packet.value = 0
        for i in range(3):
            self.count = self.count % 26 + 1
            packet.values[i] = 64 + self.count
        self.scheduler.send(packet, self.turn)


class Handler(Task):
    def __init__(self, scheduler, number):
        Task.__init__(self, scheduler, number, 1000 * number)
        self.work = None
        self.free = None

    def step(self):
        packet = self.take()
        while packet is not None:
            if packet.kind == WORK:
                self.work = packet.at_end_of(self.work)
            else:
                self.free = packet.at_end_of(self.free)
            packet = self.take()
        work = self.work
        if work is not None and work.value >= 3:
            self.work = work.following
            self.scheduler.send(work, 1)
        elif work is not None and self.free is not None:
            packet = self.free
            self.free = packet.following
            packet.value = work.values[work.value]
            packet.values[3] = self.number
            work.value += 1
            self.scheduler.send(packet, self.number + 2)
        else:
            self.waiting = True


class Scheduler(object):
    def __init__(self):
        self.tasks = {}
        self.order = []
        self.sent = 0
        self.steps = 0

    def add(self, task):
        self.tasks[task.number] = task
        self.order.append(task)
        self.order.sort(key=lambda each: -each.priority)

    def send(self, packet, target):
        task = self.tasks[target]
        packet.following = None
        packet.target = target
        task.queue = packet.at_end_of(task.queue)
        task.waiting = False
        self.sent += 1

    def release(self, number):
        task = self.tasks[number]
        task.held = False
        if task.pending is not None:
            task.waiting = False

    def run(self):
        while True:
            for task in self.order:
                if task.runnable():
                    self.steps += 1
                    task.step()
                    break
            else:
                return


def run(size, seed):
    scheduler = Scheduler()
    Idler(scheduler, 0, 600 * size, seed)
    worker = Worker(scheduler, 1)
    for number in (2, 3):
        Handler(scheduler, number)
    for number in (4, 5):
        Device(scheduler, number)
    for _ in range(2):
        scheduler.send(Packet(None, 1, WORK), 1)
    for number in (2, 3):
        for _ in range(3):
            scheduler.send(Packet(None, number, DEVICE), number)
    scheduler.run()
    return "%d %d %d" % (scheduler.sent, scheduler.steps, worker.count)
