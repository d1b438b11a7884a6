-- Count the solutions of the queens puzzle by backtracking.
local function solutions(size, row, columns, rising, falling)
  if row == size then return 1 end
  local count = 0
  for column = 0, size - 1 do
    if not (columns[column] or rising[row + column] or falling[row - column + size]) then
      columns[column], rising[row + column], falling[row - column + size] = true, true, true
      count = count + solutions(size, row + 1, columns, rising, falling)
      columns[column], rising[row + column], falling[row - column + size] = false, false, false
    end
  end
  return count
end

local function filled(length)
  local made = {}
  for index = 0, length - 1 do made[index] = false end
  return made
end

local found
for _ = 1, tonumber(arg[1]) do found = solutions(8, 0, filled(8), filled(16), filled(17)) end
print(found)
