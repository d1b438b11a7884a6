# Whole numbers of any length, floating-point numbers, lists of lists.


def digits_of_pi(count):
    """Yield decimal digits, by the continued fraction of Lambert with whole numbers only."""
    k, a, b, a1, b1 = 2, 4, 1, 12, 4
    while count > 0:
        p, q, k = k * k, 2 * k + 1, k + 1
        a, b, a1, b1 = a1, b1, p * a + q * a1, p * b + q * b1
        d, d1 = a // b, a1 // b1
        while d == d1 and count > 0:
            yield d
            count -= 1
            a, a1 = 10 * (a % b), 10 * (a1 % b1)
            d, d1 = a // b, a1 // b1


def product(left, right):
    columns = zip(*right)
    return [[sum([x * y for x, y in zip(row, column)]) for column in columns] for row in left]


def mandelbrot(width, height, limit):
    rows = []
    for y in range(height):
        row = []
        imaginary = 2.0 * y / height - 1.0
        for x in range(width):
            real = 3.0 * x / width - 2.0
            a = b = 0.0
            count = 0
            while a * a + b * b <= 4.0 and count < limit:
                a, b = a * a - b * b + real, 2.0 * a * b + imaginary
                count += 1
            row.append("%x" % (count % 16))
        rows.append("".join(row))
    return rows


def run(size, seed):
    state = seed % 2147483647 or 1
    matrix = []
    for _ in range(8):
        row = []
        for _ in range(8):
            state = state * 16807 % 2147483647
            row.append(state % 10)
        matrix.append(row)
    power = matrix
    for _ in range(2 * size):
        power = [[value % 1000003 for value in row] for row in product(power, matrix)]
    pi = "".join(str(digit) for digit in digits_of_pi(60 + 4 * size))
    if not pi.startswith("31415926535897932384626433832795028841971693993751"):
        raise ValueError(pi)
    return "%s %s %s" % (power, pi, mandelbrot(24, 4 * size, 40)[::size])
