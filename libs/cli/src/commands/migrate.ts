import type { Partitions } from 'nestjs-durable-saga/database';
import {
  type CommandAnswer,
  command,
  DATABASE_OPTIONS,
  did,
  EXIT,
  JSON_OPTION,
  option,
  UsageError,
  type ValuesOf,
} from '../command.js';
import { schemaOf } from '../database-options.js';
import { onDatabase } from '../session.js';
import { counted } from '../text/format.js';

export const migrate = command({
  words: 'migrate',
  operands: [],
  summary: "Creates or updates the sagas' tables",
  details:
    'For applications with forRoot({ migrate: false }), whose role may not create tables. Processes that start meanwhile wait. ' +
    'With --check it changes nothing and exits with 1 if a migration is missing. With --sql it prints the SQL for the migration ' +
    'tool of your application, and needs no database.',
  examples: [
    'saga migrate --url postgres://owner@db/shop',
    'saga migrate --check',
    'saga migrate --sql > migration.sql',
  ],
  options: {
    ...DATABASE_OPTIONS,
    ...JSON_OPTION,
    check: option.flag('only show what is missing'),
    sql: option.flag('only print the SQL, for your own migration tool'),
    partitions: option.text('daily|weekly', 'create partitioned tables, as forRoot({ partitions }) does'),
  },
  run: async ({ values, terminal }) => {
    if (values.sql) return sqlOf(values);
    const partitions = await partitionsOf(values.partitions);
    const { migrate, missingParts, partitionedNeeds, SAGA_NEEDS } =
      await import('nestjs-durable-saga/internal/runtime');
    const needs = partitions ? partitionedNeeds(partitions) : SAGA_NEEDS;
    return onDatabase(values, terminal, async (sql, schema) => {
      if (values.check) {
        const missing = await missingParts(sql, schema, needs);
        const state = missing.length === 0 ? 'is up to date' : `lacks ${missing.join(', ')}`;
        const exit = missing.length === 0 ? EXIT.done : EXIT.refused;
        return { ...did(`Schema '${schema}' ${state}`, { schema, missing }), exit };
      }
      const applied = await migrate(sql, schema, needs);
      const text =
        applied.length === 0
          ? `Schema '${schema}' was already up to date`
          : `Applied ${counted(applied.length, 'migration')} to schema '${schema}': ${applied.join(', ')}`;
      return did(text, { schema, applied });
    });
  },
});

const NOT_WITH_SQL = ['url', 'check', 'json', 'partitions'] as const;

/** Reads no database: the migrations are the same for all of them, except for those of partitions. */
async function sqlOf(
  values: ValuesOf<typeof DATABASE_OPTIONS> & Record<string, unknown>,
): Promise<CommandAnswer> {
  const other = NOT_WITH_SQL.find((name) => values[name] !== undefined);
  if (other === 'partitions')
    throw new UsageError(
      '--partitions cannot be given with --sql: how tables are partitioned depends on their rows. Run saga migrate --partitions',
    );
  if (other)
    throw new UsageError(`--${other} cannot be given with --sql, which prints the same for every database`);
  const { migrationScript } = await import('nestjs-durable-saga/internal/runtime');
  return did(await migrationScript(schemaOf(values)));
}

async function partitionsOf(given: string | undefined): Promise<Partitions | undefined> {
  if (given === undefined || given === 'daily' || given === 'weekly') return given;
  throw new UsageError(`--partitions '${given}': give 'daily' or 'weekly'`);
}
