--- How many rows and columns, in words.
return {
  rows = {
    one = { en = "{count} row", es = "{count} fila" },
    other = { en = "{count} rows", es = "{count} filas" },
  },
  columns = {
    one = { en = "{count} column", es = "{count} columna" },
    other = { en = "{count} columns", es = "{count} columnas" },
  },
}
