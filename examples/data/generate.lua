--- Writes sales.csv, the file of the first steps: lua5.4 examples/data/generate.lua > examples/data/sales.csv
-- A year of a made-up shop for desks and what stands on them. Everything follows from one seed and
-- whole cents, so the file is the same everywhere and `total` is exactly `quantity` times `unit_price`.
local M = {}

local ROWS <const> = 400
local FIRST_DAY <const> = 19723 -- 2024-01-01, in days since 1970

-- City, postal code, region, share of the orders. The codes begin with zero where Spain's do.
local CITIES <const> = {
  { "A Coruña", "15003", "North", 6 },
  { "Vitoria-Gasteiz", "01005", "North", 4 },
  { "San Sebastián", "20004", "North", 5 },
  { "Logroño", "26001", "North", 3 },
  { "Burgos", "09003", "North", 4 },
  { "León", "24001", "North", 3 },
  { "Madrid", "28013", "Centre", 14 },
  { "Ávila", "05001", "Centre", 2 },
  { "Albacete", "02001", "Centre", 3 },
  { "Barcelona", "08002", "East", 12 },
  { "Alicante", "03001", "East", 5 },
  { "Castellón de la Plana", "12001", "East", 3 },
  { "Lleida", "25002", "East", 2 },
  { "Málaga", "29015", "South", 7 },
  { "Cádiz", "11005", "South", 3 },
  { "Córdoba", "14003", "South", 4 },
  { "Almería", "04001", "South", 3 },
  { "Badajoz", "06002", "South", 3 },
  { "Palma", "07001", "Islands", 5 },
  { "Las Palmas de Gran Canaria", "35002", "Islands", 4 },
}

local SELLERS <const> = {
  North = { "Iñaki Etxeberria", "Lucía Fernández" },
  Centre = { "Sofía Ibáñez", "Óscar Núñez", "Paula García" },
  East = { "Jordi Puig", "Núria Solé" },
  South = { "Rocío Jiménez", "Ángel Peña" },
  Islands = { "Margalida Vidal" },
}

-- Product, price in cents in the first and in the second half of the year, share, most that is bought at once.
local PRODUCTS <const> = {
  { 'Desk "Norte", oak, 140 cm', 38900, 39900, 4, 2 },
  { "Desk, white, 120 cm", 21900, 21900, 7, 3 },
  { 'Chair "Brisa"', 17950, 18950, 9, 6 },
  { "Stool, adjustable", 6490, 6490, 6, 4 },
  { 'Monitor arm 27"', 8900, 9450, 8, 4 },
  { 'Monitor stand 24", bamboo', 3475, 3475, 7, 5 },
  { "Lamp \"Luna\", brass", 5990, 6290, 8, 4 },
  { "Lamp, clip-on", 1999, 2199, 10, 6 },
  { "Cable tray, 2 pieces", 1450, 1450, 9, 8 },
  { "Drawer unit, 3 drawers", 12900, 13500, 4, 2 },
  { "Footrest", 2750, 2750, 5, 3 },
  { "Notebook A5, dotted", 690, 750, 12, 20 },
  { "Pencils \"Carbón\", box of 12", 845, 845, 8, 15 },
  { "Piñata paper, 10 colours", 1235, 1235, 3, 10 },
}

local CHANNELS <const> = { { "store", 9 }, { "web", 8 }, { "phone", 2 }, { "reseller", 1 } }

-- How busy each month is.
local MONTHS <const> = { 7, 6, 8, 7, 8, 7, 5, 4, 10, 9, 13, 16 }

-- A linear congruential generator (Knuth's MMIX); the high bits are the good ones.
local function dice(seed)
  local state = seed
  return function(n) -- 1..n
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 33) % n + 1
  end
end

-- One of the entries, as often as the weight at index `at` says.
local function pick(roll, list, at)
  local sum = 0
  for _, entry in ipairs(list) do
    sum = sum + entry[at]
  end
  local n = roll(sum)
  for _, entry in ipairs(list) do
    n = n - entry[at]
    if n <= 0 then
      return entry
    end
  end
end

-- Days since 1970 as year, month, day (Howard Hinnant's way round the calendar).
local function date(days)
  local z = days + 719468
  local era = z // 146097
  local doe = z - era * 146097
  local yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
  local doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
  local mp = (5 * doy + 2) // 153
  local month = mp < 10 and mp + 3 or mp - 9
  return yoe + era * 400 + (month <= 2 and 1 or 0), month, doy - (153 * mp + 2) // 5 + 1
end

-- The days of the orders, in order; a busy month has more of them.
local function days(roll)
  local weighted, out = {}, {}
  for day = FIRST_DAY, FIRST_DAY + 365 do
    local _, month = date(day)
    weighted[#weighted + 1] = { day, MONTHS[month] }
  end
  for i = 1, ROWS do
    out[i] = pick(roll, weighted, 2)[1]
  end
  table.sort(out)
  return out
end

local function money(cents)
  return ("%d.%02d"):format(cents // 100, cents % 100)
end

local function cell(text)
  return text:find '[",\n]' and '"' .. text:gsub('"', '""') .. '"' or text
end

local function order(roll, number, day)
  local city = pick(roll, CITIES, 4)
  local product = pick(roll, PRODUCTS, 4)
  local channel = pick(roll, CHANNELS, 2)[1]
  local sellers = SELLERS[city[3]]
  local seller = sellers[roll(#sellers)]
  local quantity = channel == "reseller" and product[5] + roll(product[5]) or (roll(product[5]) + roll(product[5])) // 2
  local year, month, month_day = date(day)
  local price = month <= 6 and product[2] or product[3]
  if channel == "web" and roll(4) == 1 then
    seller = "" -- nobody sold it
  end
  return {
    ("SO-%d"):format(10000 + number),
    ("%d-%02d-%02d"):format(year, month, month_day),
    city[3],
    city[1],
    seller,
    product[1],
    roll(40) == 1 and "" or city[2], -- forgotten now and then
    tostring(quantity),
    money(price),
    money(quantity * price),
    channel,
  }
end

--- The whole file.
---@return string csv
function M.csv()
  local roll = dice(20240101)
  local lines = { "order_id,order_date,region,city,seller,product,postal_code,quantity,unit_price,total,channel" }
  for number, day in ipairs(days(roll)) do
    local row = order(roll, number, day)
    for i, text in ipairs(row) do
      row[i] = cell(text)
    end
    lines[#lines + 1] = table.concat(row, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

if arg and arg[0] and arg[0]:find "generate%.lua$" then
  io.write(M.csv())
end
return M
