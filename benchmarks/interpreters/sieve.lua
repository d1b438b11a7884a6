-- Count primes with the sieve of Eratosthenes.
local function primes_below(limit)
  local composite, count = {}, 0
  for candidate = 0, limit - 1 do composite[candidate] = false end
  for candidate = 2, limit - 1 do
    if not composite[candidate] then
      count = count + 1
      for multiple = candidate * candidate, limit - 1, candidate do composite[multiple] = true end
    end
  end
  return count
end

local found
for _ = 1, tonumber(arg[1]) do found = primes_below(200000) end
print(found)
