// Count the points of a grid that stay in the Mandelbrot set for 50 steps.
function inside(size) {
  let count = 0;
  for (let row = 0; row < size; row++) {
    const imaginary = (2.0 * row) / size - 1.0;
    for (let column = 0; column < size; column++) {
      const real = (2.0 * column) / size - 1.5;
      let x = 0.0, y = 0.0, step = 0;
      for (; step < 50; step++) {
        [x, y] = [x * x - y * y + real, 2.0 * x * y + imaginary];
        if (x * x + y * y > 4.0) break;
      }
      if (step === 50) count++;
    }
  }
  return count;
}

let found;
for (let round = 0; round < Number(process.argv[2]); round++) found = inside(100);
console.log(found);
