-- A tool of one's own: the model may ask the warehouse's database how many units there are.
local alisio = require "alisio"
local sql = require "std.sql"

alisio.tool {
  name = "stock_level",
  description = "Units of a product in the warehouse database, in all or in one warehouse.",
  effect = "read",                        -- it only looks, so nobody is asked
  input = { sku = "string", warehouse = "string?" },
  run = function(args, call)
    local db <close> = assert(sql.open(call.cwd .. "/stock.sqlite", { readonly = true }))
    local units = db:value(
      "SELECT sum(units) FROM stock WHERE sku = ?1 AND warehouse = ifnull(?2, warehouse)", args.sku, args.warehouse)
    return units and ("%s: %d units"):format(args.sku, units) or "unknown product: " .. args.sku
  end,
}
