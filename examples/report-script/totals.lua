-- A script without a model: a dataset, a question, a table on standard output.
local alisio = require "alisio"

local file = ... or "sales.csv"
local set = assert(alisio.dataset.open(file))
print(("%s: %d rows"):format(file, set.rows))
for row in set:query [[
  SELECT channel, count(*) AS orders, printf('%.2f', sum(total)) AS total
  FROM data GROUP BY channel ORDER BY sum(total) DESC]] do
  print(row.channel, row.orders, row.total)
end
