-- Count the points of a grid that stay in the Mandelbrot set for 50 steps.
local function inside(size)
  local count = 0
  for row = 0, size - 1 do
    local imaginary = 2.0 * row / size - 1.0
    for column = 0, size - 1 do
      local real, x, y, stays = 2.0 * column / size - 1.5, 0.0, 0.0, true
      for _ = 1, 50 do
        x, y = x * x - y * y + real, 2.0 * x * y + imaginary
        if x * x + y * y > 4.0 then
          stays = false
          break
        end
      end
      if stays then count = count + 1 end
    end
  end
  return count
end

local found
for _ = 1, tonumber(arg[1]) do found = inside(100) end
print(found)
