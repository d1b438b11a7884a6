# Building, splitting, counting and sorting of text.

SYLLABLES = "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu".split()


def words(seed, count):
    state = seed % 2147483647 or 1
    made = []
    for _ in xrange(count):
        state = state * 16807 % 2147483647
        length = 1 + state % 3
        word = ""
        for i in range(length):
            word += SYLLABLES[(state >> 3 * i) % len(SYLLABLES)]
        made.append(word)
    return made


def wrap(made, width):
    lines = []
    line = []
    length = 0
    for word in made:
        if length + len(word) + len(line) > width:
            lines.append(" ".join(line))
            line = []
            length = 0
        line.append(word)
        length += len(word)
    lines.append(" ".join(line))
    return "\n".join(lines)


def count(text):
    seen = {}
    for line in text.split("\n"):
        for word in line.split():
            seen[word] = seen.get(word, 0) + 1
    return seen


def table(seen):
    rows = sorted(seen.items(), key=lambda row: (-row[1], row[0]))
    return "".join("%-10s|%6d|%s\n" % (word.capitalize(), number, word[::-1]) for word, number in rows[:200])


def index(text):
    places = {}
    for number, line in enumerate(text.splitlines()):
        for word in set(line.split()):
            places.setdefault(word[:2], []).append(number)
    return ["%s:%s" % (start, ",".join(map(str, places[start][:50]))) for start in sorted(places)]


def shift(text, by):
    letters = "abcdefghijklmnopqrstuvwxyz"
    moved = dict(zip(letters, letters[by:] + letters[:by]))
    return "".join([moved.get(letter, letter) for letter in text])


def run(size, seed):
    text = wrap(words(seed, 800 * size), 72)
    seen = count(text)
    moved = shift(text[:2000 * size], 7)
    if shift(moved, 19) != text[:2000 * size]:
        raise ValueError("shifting there and back changed the text")
    return "\n".join([table(seen), "\n".join(index(text)), moved[:500], text.replace("ka", "<ka>").upper()[:500]])
