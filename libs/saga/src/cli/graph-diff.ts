import { parseArgs } from 'node:util';
import { DataSource } from 'typeorm';
import { PostgresGraphStore } from '../store/postgres/postgres-graph-store.js';
import { createSagaDataSource } from '../store/postgres/saga-data-source.js';
import { DEFAULT_SCHEMA } from '../store/postgres/saga-entities.js';
import { reportOf, type SagaReport } from './graph-report.js';
import type { Command } from './run-command.js';
import { sagasOfFile } from './sagas-of-module.js';
import { UsageError } from './usage-error.js';

interface Target {
  readonly url: string;
  readonly schema: string;
}

/** What deploying the sagas of a file would mean for the instances that are running. */
export const graphDiff: Command = async (args, terminal) => {
  const { file, ...target } = readArguments(args);
  const sagas = await sagasOfFile(file);
  const reports = await onGraphs(target, (graphs) => graphs.reading((reader) => reportOf(sagas, reader)));
  if (!reports) {
    terminal.out(
      `Schema '${target.schema}' has no graphs: nothing has been deployed there, so nobody is affected.`,
    );
    return 0;
  }
  for (const report of reports) terminal.out(textOf(report));
  const affected = reports.reduce((sum, report) => sum + report.affected, 0);
  const unaffected = reports.reduce((sum, report) => sum + report.unaffected, 0);
  terminal.out(`\nIn all: ${affected} affected, ${unaffected} not`);
  return affected > 0 ? 1 : 0;
};

function readArguments(args: string[]): Target & { file: string } {
  const { values, positionals } = parsed(args);
  const { url = process.env.DATABASE_URL, schema = DEFAULT_SCHEMA } = values;
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new UsageError('Give one compiled module file');
  if (!url) throw new UsageError('Give the database as --url postgres://…, or in the variable DATABASE_URL');
  if (!/^[a-z_][a-z0-9_]{0,47}$/.test(schema))
    throw new UsageError(`--schema '${schema}' is no schema of sagas`);
  return { file, url, schema };
}

function parsed(args: string[]) {
  const options = { url: { type: 'string' }, schema: { type: 'string' } } as const;
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Undefined: the schema has no graphs. */
async function onGraphs<T>(
  { url, schema }: Target,
  look: (graphs: PostgresGraphStore) => Promise<T>,
): Promise<T | undefined> {
  const application = await new DataSource({ type: 'postgres', url, applicationName: 'saga' }).initialize();
  try {
    const [{ there }] = await application.query<[{ there: boolean }]>(
      'SELECT to_regclass($1) IS NOT NULL AS there',
      [`"${schema}".graph`],
    );
    if (!there) return undefined;
    return await look(new PostgresGraphStore(await createSagaDataSource(application, schema), schema));
  } finally {
    await application.destroy();
  }
}

function textOf({ label, finding, lines }: SagaReport): string {
  return [`${label}  ${finding}`, ...lines.map((line) => `  ${line}`)].join('\n');
}
