// Count the solutions of the queens puzzle by backtracking.
function solutions(size, row, columns, rising, falling) {
  if (row === size) return 1;
  let count = 0;
  for (let column = 0; column < size; column++) {
    if (!(columns[column] || rising[row + column] || falling[row - column + size])) {
      columns[column] = rising[row + column] = falling[row - column + size] = true;
      count += solutions(size, row + 1, columns, rising, falling);
      columns[column] = rising[row + column] = falling[row - column + size] = false;
    }
  }
  return count;
}

const filled = (length) => new Array(length).fill(false);
let found;
for (let round = 0; round < Number(process.argv[2]); round++) {
  found = solutions(8, 0, filled(8), filled(16), filled(17));
}
console.log(found);
