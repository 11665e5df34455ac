// DuckDB as a peer and a second opinion. Node's package is in vendor/bench, by its lock file.
//   duckdb.mjs measure DB FILE     loads a CSV or JSONL file and counts what a dataset knows of its columns, exactly
//   duckdb.mjs texts               [{file, delimiter, columns}] on standard input: for each CSV file its rows as texts
//   duckdb.mjs dataset FILE SQL    the rows of a question to a SQLite file
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const require = createRequire(new URL('../../vendor/bench/package.json', import.meta.url));
const { DuckDBInstance } = require('@duckdb/node-api');

const [mode, ...args] = process.argv.slice(2);
const database = mode === 'measure' ? args.shift() : ':memory:';
const instance = await DuckDBInstance.create(database, { threads: String(availableParallelism()) });
const db = await instance.connect();
const ask = async (sql) => (await db.runAndReadAll(sql)).getRowsJson();
const text = (value) => `'${value.replaceAll("'", "''")}'`;
const name = (value) => `"${value.replaceAll('"', '""')}"`;

async function measure(file) {
  await db.run(`CREATE TABLE data AS SELECT * FROM ${file.endsWith('.jsonl') ? 'read_json' : 'read_csv'}(${text(file)})`);
  await db.run('CHECKPOINT');
  const columns = await ask("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'data'");
  const counts = columns.flatMap(([column, type]) => {
    const c = name(column);
    const mean = /^(DOUBLE|FLOAT|DECIMAL|.*INT)/.test(type) ? [`avg(${c})`] : [];
    return [`count(${c})`, `count(DISTINCT ${c})`, `min(${c})`, `max(${c})`, ...mean];
  });
  const [known] = await ask(`SELECT count(*), ${counts.join(', ')} FROM data`);
  for (const [column] of columns)
    await ask(`SELECT ${name(column)}, count(*) n FROM data WHERE ${name(column)} IS NOT NULL GROUP BY 1 ORDER BY n DESC, 1 LIMIT 5`);
  return known[0];
}

async function texts() {
  const all = [];
  for (const { file, delimiter, columns } of JSON.parse(readFileSync(0, 'utf8'))) {
    const types = columns.map((column) => `${text(column)}: 'VARCHAR'`);
    all.push(await ask(`SELECT * FROM read_csv(${text(file)}, columns = {${types.join(', ')}}, header = true, auto_detect = false,
      delim = ${text(delimiter)}, quote = '"', escape = '"', max_line_size = 33554432, parallel = false)`));
  }
  return all;
}

async function dataset(file, sql) {
  await db.run('INSTALL sqlite; LOAD sqlite');
  await db.run(`ATTACH ${text(file)} AS dataset (TYPE sqlite, READ_ONLY)`);
  return ask(sql);
}

try {
  const answer = await { measure: () => measure(args[0]), texts: texts, dataset: () => dataset(...args) }[mode]();
  console.log(JSON.stringify(answer));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
db.closeSync();
instance.closeSync();
