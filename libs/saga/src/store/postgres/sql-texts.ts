import { wakeupChannel } from './connection/schema-name.js';
import { FUNCTIONS, STATEMENTS } from './sql.generated.js';
import { SQL_VALUES } from './sql-values.js';

/** The names of the functions of the schema. */
export type FunctionName = keyof typeof FUNCTIONS;
type FunctionFolder = (typeof FUNCTIONS)[FunctionName]['folder'];
/** The names of the store's statements. */
export type StatementName = keyof typeof STATEMENTS;
type ParameterOf<Name extends StatementName> = (typeof STATEMENTS)[Name]['parameters'][number];
type SqlValue =
  | (typeof FUNCTIONS)[FunctionName]['values'][number]
  | (typeof STATEMENTS)[StatementName]['values'][number];

/** Returns what is sent: the text of the statement, and its parameters in their order. */
export type Statement<Name extends StatementName> = (
  given: Readonly<Record<ParameterOf<Name>, unknown>>,
) => [text: string, parameters: unknown[]];
export type Statements = { readonly [Name in StatementName]: Statement<Name> };

/** A function of the schema. @param schema the name of the schema, unquoted */
export const functionText = (name: FunctionName, schema: string): string =>
  inSchema(FUNCTIONS[name].text, schema);

/** The functions in the `.sql` files of a folder. @param schema the name of the schema, unquoted */
export const functionsIn = (folder: FunctionFolder, schema: string): string[] =>
  Object.values(FUNCTIONS).flatMap((one) => (one.folder === folder ? inSchema(one.text, schema) : []));

/** The texts of the statements, by name. @param schema the name of the schema, unquoted */
export const statementTexts = (schema: string): Record<StatementName, string> =>
  eachStatement((name) => inSchema(STATEMENTS[name].text, schema));

/** The statements of the store. @param schema the name of the schema, unquoted */
export function statementsOf(schema: string): Statements {
  const texts = statementTexts(schema);
  return eachStatement((name) => {
    const parameters: readonly string[] = STATEMENTS[name].parameters;
    return (given: Readonly<Record<string, unknown>>) => [texts[name], parameters.map((one) => given[one])];
  }) as Statements;
}

function eachStatement<Value>(valueOf: (name: StatementName) => Value): Record<StatementName, Value> {
  const names = Object.keys(STATEMENTS) as StatementName[];
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<StatementName, Value>;
}

/** The text with its values, and the schema's name in place of `saga`. */
function inSchema(text: string, schema: string): string {
  const quoted = `"${schema}"`;
  const channel = `'${wakeupChannel(schema)}'`;
  const values: Record<SqlValue, string | number> = { ...SQL_VALUES, CHANNEL: channel, SCHEMA: quoted };
  return text
    .replaceAll(/(?<![:\w]):([A-Z][A-Z_0-9]*)\b/g, (_, value: SqlValue) => String(values[value]))
    .replaceAll(/\bsaga\.(?=[\w%])/g, `${quoted}.`);
}
