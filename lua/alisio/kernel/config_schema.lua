--- Every key of the configuration: the one list behind the checks of config.json and init.lua, the
-- environment variables, `alisio setup`, `alisio doctor --config` and docs/configuration.md.
--
-- A key has a type (boolean, integer, number, string, choice, list of strings), a default (none:
-- it may be unset), a range (min and max, or choices) and help. `project` says what a trusted
-- project's own config.json may do with it: "lower" a number, switch a boolean "off", "add" to a
-- list; without it the key is the user's alone. `*` in a key stands for a name the user chooses.

local KIB = 1024
local MIB = 1024 * KIB
local GIB = 1024 * MIB
local SECOND, HOUR = 1000, 3600 * 1000

---@class alisio.ConfigKey
---@field key string
---@field type "boolean"|"integer"|"number"|"string"|"choice"|"list"
---@field default any
---@field min integer?
---@field max integer?
---@field choices string[]?
---@field project "lower"|"off"|"add"|nil
---@field notice string?  id of the note a set value is answered with
---@field help { en: string, es: string }

---@type alisio.ConfigKey[]
return {
  { key = "model", type = "string", default = "offline", help = {
    en = "The model to use: a profile under `models`, or `offline`, the built-in rules that need no account.",
    es = "El modelo que se usa: un perfil de `models`, u `offline`, las reglas incluidas que no piden cuenta." } },
  { key = "baseUrl", type = "string", help = {
    en = "Address of the model's server, in place of the profile's.",
    es = "Dirección del servidor del modelo, en lugar de la del perfil." } },

  { key = "models.*.provider", type = "choice", choices = { "openai" }, default = "openai", help = {
    en = "The protocol the server speaks: `openai` is Chat Completions.",
    es = "El protocolo que habla el servidor: `openai` es Chat Completions." } },
  { key = "models.*.model", type = "string", help = {
    en = "The model's name as its server knows it; the profile's own name when unset.",
    es = "El nombre del modelo en su servidor; sin valor, el nombre del perfil." } },
  { key = "models.*.baseUrl", type = "string", default = "https://api.openai.com/v1", help = {
    en = "Address of the server, up to and without `/chat/completions`.",
    es = "Dirección del servidor, hasta `/chat/completions` sin incluirlo." } },
  { key = "models.*.auth", type = "choice", choices = { "bearer", "none" }, default = "bearer", help = {
    en = "How to sign in: `bearer` sends a key, `none` is for servers on this machine.",
    es = "Cómo identificarse: `bearer` envía una clave, `none` es para servidores de esta máquina." } },
  { key = "models.*.keyEnv", type = "string", default = "OPENAI_API_KEY", help = {
    en = "Environment variable that holds the key. Where it is not set, credentials.json is read.",
    es = "Variable de entorno que tiene la clave. Si no está definida se lee credentials.json." } },
  { key = "models.*.headers", type = "list", help = {
    en = "More headers of every request, each as `Name: value`. They are shown like any setting: no place for keys.",
    es = "Más cabeceras de cada petición, cada una como `Nombre: valor`. Se muestran como cualquier ajuste: no ponga claves." } },
  { key = "models.*.maxOutputTokens", type = "integer", min = 1, max = 1000000, help = {
    en = "Longest reply to ask for, in tokens; the server's own limit when unset.",
    es = "Respuesta más larga que se pide, en tokens; sin valor, el límite del servidor." } },
  { key = "models.*.temperature", type = "number", min = 0, max = 2, help = {
    en = "Sampling temperature; the server's own when unset.",
    es = "Temperatura del muestreo; sin valor, la del servidor." } },
  { key = "models.*.idleTimeoutMs", type = "integer", default = 120 * SECOND, min = SECOND, max = HOUR, help = {
    en = "How long a reply may stand still before it counts as lost.",
    es = "Cuánto puede detenerse una respuesta antes de darse por perdida." } },

  { key = "permission", type = "choice", choices = { "read-only", "ask", "auto", "full" }, default = "ask", help = {
    en = "What tools may do unasked: `read-only` reads only, `ask` asks for all else, `auto` also writes in "
      .. "the workspace, `full` does all but install packages.",
    es = "Lo que las herramientas hacen sin preguntar: `read-only` solo lee, `ask` pregunta por lo demás, "
      .. "`auto` también escribe en la carpeta, `full` hace todo menos instalar paquetes." } },
  { key = "permissions.allow", type = "list", default = {}, help = {
    en = "Tools that run without asking.",
    es = "Herramientas que se ejecutan sin preguntar." } },
  { key = "permissions.deny", type = "list", default = {}, project = "add", help = {
    en = "Tools that never run.",
    es = "Herramientas que nunca se ejecutan." } },

  { key = "agent.limits.turns", type = "integer", default = 50, min = 1, max = 1000, project = "lower", help = {
    en = "Replies of the model in one run.",
    es = "Respuestas del modelo en una ejecución." } },
  { key = "agent.limits.timeMs", type = "integer", default = HOUR, min = SECOND, max = 24 * HOUR, project = "lower", help = {
    en = "How long one run may take; waiting for your answers does not count.",
    es = "Cuánto puede durar una ejecución; la espera de sus respuestas no cuenta." } },
  { key = "agent.limits.outputTokens", type = "integer", default = 200000, min = 1, max = 100000000, project = "lower", help = {
    en = "Tokens the model may write in one run.",
    es = "Tokens que el modelo puede escribir en una ejecución." } },
  { key = "agent.limits.contextCharacters", type = "integer", default = 600000, min = 4000, max = 100000000, project = "lower", help = {
    en = "Characters sent to the model in one request.",
    es = "Caracteres que se envían al modelo en una petición." } },
  { key = "agent.limits.totalTokens", type = "integer", default = 5000000, min = 1, max = 1000000000, project = "lower", help = {
    en = "Tokens read and written in one run, all requests together.",
    es = "Tokens leídos y escritos en una ejecución, en todas las peticiones." } },

  { key = "analysis.enabled", type = "boolean", default = true, project = "off", help = {
    en = "Whether the model may write and run Python and read data.",
    es = "Si el modelo puede escribir y ejecutar Python y leer datos." } },
  { key = "analysis.runtime", type = "choice", choices = { "managed", "sandbox", "auto" }, default = "managed", help = {
    en = "Where Python runs: `managed` is your own Python with your permissions, `sandbox` the same shut in by the kernel, "
      .. "`auto` the sandbox where every layer of it is there, else `managed`.",
    es = "Dónde se ejecuta Python: `managed` es su propio Python con sus permisos, `sandbox` el mismo encerrado por el "
      .. "núcleo, `auto` el sandbox donde estén todas sus capas y si no `managed`." } },
  { key = "analysis.python", type = "string", help = {
    en = "The Python interpreter to use; found by itself when unset.",
    es = "El intérprete de Python que se usa; sin valor se busca solo." } },
  { key = "analysis.limits.timeoutMs", type = "integer", default = 120 * SECOND, min = SECOND, max = HOUR, project = "lower", help = {
    en = "How long a script may run.",
    es = "Cuánto puede durar un script." } },
  { key = "analysis.limits.maxFiles", type = "integer", default = 200, min = 1, max = 10000, project = "lower", help = {
    en = "Files one publication may hold.",
    es = "Archivos que puede tener una publicación." } },
  { key = "analysis.limits.maxFileBytes", type = "integer", default = 100 * MIB, min = 1, max = 16 * GIB, project = "lower", help = {
    en = "Size of one published file.",
    es = "Tamaño de un archivo publicado." } },
  { key = "analysis.limits.maxOutputBytes", type = "integer", default = 500 * MIB, min = 1, max = 64 * GIB, project = "lower", help = {
    en = "Size of one publication in all.",
    es = "Tamaño total de una publicación." } },
  { key = "analysis.limits.memoryBytes", type = "integer", default = 4 * GIB, min = 64 * MIB, max = 1024 * GIB, project = "lower", help = {
    en = "Memory of each process of a script.",
    es = "Memoria de cada proceso de un script." } },
  { key = "analysis.limits.openFiles", type = "integer", default = 1024, min = 32, max = 1048576, project = "lower", help = {
    en = "Files each process of a script may hold open.",
    es = "Archivos que cada proceso de un script puede tener abiertos." } },
  { key = "analysis.limits.processes", type = "integer", default = 256, min = 1, max = 65536, project = "lower", help = {
    en = "Processes a script may have at once.",
    es = "Procesos que un script puede tener a la vez." } },
  { key = "analysis.limits.writeBytes", type = "integer", default = GIB, min = MIB, max = 1024 * GIB, project = "lower", help = {
    en = "Size of any one file a script writes.",
    es = "Tamaño de cada archivo que un script escribe." } },
  { key = "analysis.limits.logBytes", type = "integer", default = 2 * MIB, min = 4 * KIB, max = 64 * MIB, project = "lower", help = {
    en = "How much of what a script prints is kept, half from its start and half from its end.",
    es = "Cuánto se guarda de lo que imprime un script, la mitad del principio y la mitad del final." } },

  { key = "analysis.data.maxFileBytes", type = "integer", default = 4 * GIB, min = 1, max = 1024 * GIB, project = "lower", help = {
    en = "Largest data file that is read.",
    es = "Archivo de datos más grande que se lee." } },
  { key = "analysis.data.maxUploadBytes", type = "integer", default = 200 * MIB, min = 1, max = 16 * GIB, project = "lower", help = {
    en = "Largest data file that is uploaded.",
    es = "Archivo de datos más grande que se sube." } },
  { key = "analysis.data.maxRows", type = "integer", default = 5000000, min = 1, max = 1000000000, project = "lower", help = {
    en = "Rows of one sheet; a larger file makes no dataset.",
    es = "Filas de una hoja; un archivo mayor no da un conjunto de datos." } },
  { key = "analysis.data.queryTimeoutMs", type = "integer", default = 5 * SECOND, min = 10, max = HOUR, project = "lower", help = {
    en = "How long one query may run.",
    es = "Cuánto puede durar una consulta." } },
  { key = "analysis.data.threads", type = "integer", default = 0, min = 0, max = 64, help = {
    en = "Processors that reading a file uses at once; 0 uses all. The dataset is the same.",
    es = "Procesadores que usa a la vez la lectura de un archivo; 0 los usa todos. El conjunto de datos es el mismo." } },
  { key = "analysis.data.columnBytes", type = "integer", default = 256 * MIB, min = 0, max = 1024 * GIB, help = {
    en = "Memory for columns that stay between questions, sorted tables and charts.",
    es = "Memoria para las columnas que se conservan entre preguntas, tablas ordenadas y gráficos." } },
  { key = "analysis.data.maxInteractiveRows", type = "integer", default = 1000000, min = 1, max = 1000000000, notice = "no_effect", help = {
    en = "Accepted and without effect: tables sort and filter up to `analysis.data.maxRows`.",
    es = "Se acepta y no tiene efecto: las tablas se ordenan y filtran hasta `analysis.data.maxRows`." } },

  { key = "analysis.retention.intermediateDays", type = "integer", default = 7, min = 0, max = 36500, help = {
    en = "Days until a script's working folder is removed; 0 keeps it.",
    es = "Días hasta que se borra la carpeta de trabajo de un script; 0 la conserva." } },
  { key = "analysis.retention.jobsDays", type = "integer", default = 30, min = 0, max = 36500, help = {
    en = "Days until scripts, logs and unused datasets are removed; 0 keeps them.",
    es = "Días hasta que se borran los scripts, los registros y los datos sin uso; 0 los conserva." } },
  { key = "analysis.retention.artifactsDays", type = "integer", default = 0, min = 0, max = 36500, help = {
    en = "Days until an artifact's files are removed; 0 keeps them.",
    es = "Días hasta que se borran los archivos de un artefacto; 0 los conserva." } },

  { key = "ui.locale", type = "choice", choices = { "auto", "en", "es" }, default = "auto", help = {
    en = "Language of the program; `auto` follows LC_ALL, LC_MESSAGES and LANG.",
    es = "Idioma del programa; `auto` sigue a LC_ALL, LC_MESSAGES y LANG." } },
  { key = "log.level", type = "choice", choices = { "error", "warn", "info", "debug" }, default = "info", help = {
    en = "What goes into the log file of the state folder.",
    es = "Lo que va al archivo de registro de la carpeta de estado." } },
}
