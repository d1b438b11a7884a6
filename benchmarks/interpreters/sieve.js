// Count primes with the sieve of Eratosthenes.
function primesBelow(limit) {
  const composite = new Array(limit).fill(false);
  let count = 0;
  for (let candidate = 2; candidate < limit; candidate++) {
    if (!composite[candidate]) {
      count++;
      for (let multiple = candidate * candidate; multiple < limit; multiple += candidate) composite[multiple] = true;
    }
  }
  return count;
}

let found;
for (let round = 0; round < Number(process.argv[2]); round++) found = primesBelow(200000);
console.log(found);
