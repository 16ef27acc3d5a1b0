import type { DataSource } from 'typeorm';
import { SagaConfigurationError } from '../../errors/saga-errors.js';

/** What pgbouncer answers to BEGIN in statement mode. */
const STATEMENT_MODE = /statement pooling/i;

/** Settings under which the engine would store or read other values than it was given, and how they have to be. */
const SETTINGS: Readonly<Record<string, { isRight: (value: string) => boolean; right: string }>> = {
  array_nulls: { isRight: (value) => value === 'on', right: 'on' },
  extra_float_digits: { isRight: (value) => Number(value) >= 0, right: '1' },
};

const ASK = `SELECT ARRAY[${Object.keys(SETTINGS)
  .map((name) => `current_setting('${name}')`)
  .join(', ')}] AS values`;

/**
 * Whether the connections of this DataSource keep transactions together, and values as they are.
 * @throws SagaConfigurationError when a pooler in between separates statements, or a setting changes values
 */
export async function checkSettings(dataSource: DataSource, module: string): Promise<void> {
  const values = await inTransaction(dataSource, module);
  const wrong = Object.entries(SETTINGS).flatMap(([name, { isRight, right }], n) =>
    isRight(values[n]!) ? [] : [`${name} is ${values[n]} and has to be ${right}`],
  );
  if (wrong.length === 0) return;
  throw new SagaConfigurationError(
    `${module} would store or read other values than it is given: ${wrong.join('; ')}. Set it for the role or the database ` +
      `(ALTER ROLE … SET …), or take it out of the connection's options.`,
  );
}

async function inTransaction(dataSource: DataSource, module: string): Promise<readonly string[]> {
  try {
    return await dataSource.transaction(async (manager) => {
      const [row] = await manager.query<[{ values: string[] }]>(ASK);
      return row.values;
    });
  } catch (error) {
    if (!STATEMENT_MODE.test((error as Error).message)) throw error;
    throw new SagaConfigurationError(
      `${module} needs transactions of several statements, and the pooler between this process and PostgreSQL is in ` +
        `statement mode. Set pool_mode to transaction or session for this database in pgbouncer.ini.`,
      { cause: error },
    );
  }
}
