"""Count the points of a grid that stay in the Mandelbrot set for 50 steps."""

import sys


def inside(size):
    """Return the number of points of a square grid that do not escape."""
    count = 0
    for row in range(size):
        imaginary = 2.0 * row / size - 1.0
        for column in range(size):
            real = 2.0 * column / size - 1.5
            x = y = 0.0
            for _ in range(50):
                x, y = x * x - y * y + real, 2.0 * x * y + imaginary
                if x * x + y * y > 4.0:
                    break
            else:
                count += 1
    return count


for _ in range(int(sys.argv[1])):
    found = inside(100)
print(found)
