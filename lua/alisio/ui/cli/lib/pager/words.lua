--- What the table view says.
local counts = require "alisio.ui.cli.lib.counts"

return {
  row = { en = "row", es = "fila" },
  empty = { en = "empty", es = "vacía" },
  rows = counts.rows,
  columns = counts.columns,
  kept = {
    one = { en = "{count} row kept", es = "queda {count} fila" },
    other = { en = "{count} rows kept", es = "quedan {count} filas" },
  },
  before = {
    one = { en = "← {count} more", es = "← {count} más" },
    other = { en = "← {count} more", es = "← {count} más" },
  },
  after = {
    one = { en = "{count} more column →", es = "{count} columna más →" },
    other = { en = "{count} more columns →", es = "{count} columnas más →" },
  },
  below = {
    one = { en = "{count} more line", es = "{count} línea más" },
    other = { en = "{count} more lines", es = "{count} líneas más" },
  },
  characters = {
    one = { en = "{count} character", es = "{count} carácter" },
    other = { en = "{count} characters", es = "{count} caracteres" },
  },
  sheet = { en = "{name} ({at} of {count})", es = "{name} ({at} de {count})" },
  none = { en = "No rows here.", es = "No hay filas." },
  none_kept = { en = "No rows here. The filters leave nothing.", es = "No hay filas. Los filtros no dejan nada." },
  at = { en = "row {row} of {rows}", es = "fila {row} de {rows}" },
  of_row = { en = "row {row}", es = "fila {row}" },
  is_equals = { en = "is {value}", es = "es {value}" },
  is_empty = { en = "is empty", es = "está vacía" },
  is_filled = { en = "is not empty", es = "no está vacía" },
  is_contains = { en = "holds {value}", es = "contiene {value}" },
  is_above = { en = "> {value}", es = "> {value}" },
  is_least = { en = ">= {value}", es = ">= {value}" },
  is_below = { en = "< {value}", es = "< {value}" },
  is_most = { en = "<= {value}", es = "<= {value}" },
  sorting = { en = "Sorting by {column}", es = "Ordenando por {column}" },
  filtering = { en = "Filtering", es = "Filtrando" },
  finding = { en = "Looking for “{text}”", es = "Buscando «{text}»" },
  fetching = { en = "Fetching the cell", es = "Leyendo la celda" },
  cancels = { en = "esc stops", es = "esc detiene" },
  stopped = { en = "Stopped.", es = "Detenido." },
  nothing_wanted = { en = "/ says what to look for.", es = "/ indica qué buscar." },
  not_found = { en = "No cell holds “{text}”.", es = "Ninguna celda contiene «{text}»." },
  around = { en = "Found above: the search went on from the first row.", es = "Encontrado arriba, siguiendo desde la primera fila." },
  around_end = { en = "Found below: the search went on from the last row.", es = "Encontrado abajo, siguiendo desde la última fila." },
  no_column = { en = "No column is called “{text}”.", es = "Ninguna columna se llama «{text}»." },
  go = { en = "Go to", es = "Ir a" },
  find = { en = "Find", es = "Buscar" },
  key_move = { en = "arrows move", es = "flechas mueven" },
  key_cell = { en = "enter cell", es = "intro celda" },
  key_find = { en = "/ find", es = "/ buscar" },
  key_sort = { en = "s sort", es = "s ordenar" },
  key_filter = { en = "f filter", es = "f filtrar" },
  key_go = { en = "g go to", es = "g ir a" },
  key_tab = { en = "tab sheet", es = "tab hoja" },
  key_help = { en = "? help", es = "? ayuda" },
  key_quit = { en = "q quit", es = "q salir" },
  key_scroll = { en = "arrows scroll", es = "flechas desplazan" },
  key_back = { en = "q back", es = "q vuelve" },
  key_apply = { en = "enter apply", es = "intro aplica" },
  key_leave = { en = "esc leave", es = "esc deja" },
  key_is = { en = "= is", es = "= es" },
  key_compare = { en = "> < compare", es = "> < compara" },
  key_part = { en = "text holds", es = "texto contiene" },
  key_no_filter = { en = "nothing: all rows", es = "nada: todas" },
  key_clear = { en = "ctrl-u clear", es = "ctrl-u borra" },
  key_row_or_column = { en = "number or column's name", es = "número o nombre de columna" },
  key_next = { en = "n, N then: next, previous", es = "n, N luego: siguiente, anterior" },
  help_title = { en = "Keys of the table view", es = "Teclas de la vista de tabla" },
  help = {
    en = [[
arrows, h j k l          one cell
page up, page down       a screen of rows; also b and space
home, end                the first row, the last; end is also G
ctrl-left, ctrl-right    ten columns
enter                    the whole cell
tab, shift-tab           the next sheet, the one before
g                        go to a row by its number, or to a column by its name

s                        sort by the column; again: descending; again: as in the file
f                        filter by the column:
                           =value     is exactly this        =     is empty
                           >value     also < >= <=           !=    is not empty
                           text       holds this text; capitals do not matter
                           nothing    takes the filter away
F                        take all filters away
/                        find a text in any cell; n the next, N the one before

esc                      stops sorting, filtering or finding
ctrl-l                   draws the screen again
q                        leaves

Row numbers are those of the file, sorted or not. Cells show what is stored,
digit by digit; characters that cannot be seen stand as ␛, ␊ or \u202e.]],
    es = [[
flechas, h j k l         una celda
re pág, av pág           una pantalla de filas; también b y espacio
inicio, fin              la primera fila, la última; fin es también G
ctrl-izq., ctrl-der.     diez columnas
intro                    la celda entera
tab, mayús-tab           la hoja siguiente, la anterior
g                        ir a una fila por su número, o a una columna por su nombre

s                        ordenar por la columna; otra vez: descendente; otra: como el archivo
f                        filtrar por la columna:
                           =valor     es exactamente esto    =     está vacía
                           >valor     también < >= <=        !=    no está vacía
                           texto      contiene este texto, en mayúsculas o no
                           nada       quita el filtro
F                        quita todos los filtros
/                        busca un texto en todas las celdas; n la siguiente, N la anterior

esc                      detiene lo que se ordena, filtra o busca
ctrl-l                   dibuja otra vez la pantalla
q                        sale

Los números de fila son los del archivo, en cualquier orden. Las celdas
muestran lo guardado, dígito a dígito; los caracteres que no se ven aparecen
como ␛, ␊ o \u202e.]],
  },
}
