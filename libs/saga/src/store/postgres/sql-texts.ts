import { wakeupChannel } from './connection/schema-name.js';
import { SQL } from './sql.generated.js';
import { SQL_VALUES } from './sql-values.js';

/** The names of the statements in the `.sql` files. */
export type SqlName = keyof typeof SQL;
type SqlFolder = (typeof SQL)[SqlName]['folder'];
type SqlValue = (typeof SQL)[SqlName]['values'][number];

/** A statement of the `.sql` files, in a schema. @param schema its name, unquoted */
export function sqlText(name: SqlName, schema: string): string {
  const channel = `'${wakeupChannel(schema)}'`;
  const values: Record<SqlValue, string | number> = {
    ...SQL_VALUES,
    CHANNEL: channel,
    SCHEMA: `"${schema}"`,
  };
  return SQL[name].text
    .replaceAll(/(?<![:\w]):([A-Z][A-Z_0-9]*)\b/g, (_, value: SqlValue) => String(values[value]))
    .replaceAll(/\bsaga\.(?=[\w%])/g, `"${schema}".`);
}

/** The statements in the `.sql` files of a folder: functions of the schema. @param schema its name, unquoted */
export function sqlIn(folder: SqlFolder, schema: string): string[] {
  const names = (Object.keys(SQL) as SqlName[]).filter((name) => SQL[name].folder === folder);
  return names.map((name) => sqlText(name, schema));
}
