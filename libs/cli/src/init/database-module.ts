import type { DatabaseParts } from './layer-parts.js';
import { DEVELOPMENT_URL } from './nest-app.js';

/** Where the module is written, below the sources. */
export const DATABASE_FOLDER = 'database';
export const DATABASE_MODULE = 'database.module';

/** The characters of a line, as nest new formats. */
const WIDTH = 80;

/** The text of the module that connects a database layer, and gives its connections to sagas. */
export function databaseModule(parts: DatabaseParts): string {
  const { database, types, transaction, connect, connectsLater, adapter, overPool, end } = parts;
  const connected = overPool === undefined ? 'Database' : 'Pool';
  return `import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
${parts.imports.map(importLine).join('\n')}

${types === undefined ? '' : `${types}\n`}export type Database = ${database};
/** A transaction, such as \`ctx.transaction\` of transactional steps. */
export type Transaction = ${transaction};

${overPool === undefined ? '' : `export const POOL = Symbol('POOL');\n`}/** To inject: \`@Inject(DATABASE) private readonly db: Database\`. */
export const DATABASE = Symbol('DATABASE');
/** The application's database, as SagaModule takes it. */
export const SAGA_DATABASE = Symbol('SAGA_DATABASE');

@Module({
  providers: [
${providers(adapter, overPool)}  ],
  exports: [DATABASE, SAGA_DATABASE],
})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(@Inject(DATABASE) private readonly db: Database) {}

  /** Ends the connections. Sagas have stopped by then. */
  async onApplicationShutdown(): Promise<void> {
    await ${end};
  }
}

function connect(): ${connectsLater ? `Promise<${connected}>` : connected} {
  const url =
    process.env.DATABASE_URL ??
    '${DEVELOPMENT_URL}';
  return ${connect};
}
`;
}

function providers(adapter: string, overPool: string | undefined): string {
  const usesPool = /\bpool\b/.test(adapter);
  const start = `${/\bawait\b/.test(adapter) ? 'async ' : ''}(db: Database${usesPool ? ', pool: Pool' : ''}) =>`;
  const ofSagas = `    {
      provide: SAGA_DATABASE,
      inject: [DATABASE${usesPool ? ', POOL' : ''}],
${inLine(`      useFactory: ${start}`, `${adapter},`)}
    },
`;
  if (overPool === undefined) return `    { provide: DATABASE, useFactory: connect },\n${ofSagas}`;
  return `    { provide: POOL, useFactory: connect },
    {
      provide: DATABASE,
      inject: [POOL],
${inLine('      useFactory: (pool: Pool): Database =>', `${overPool},`)}
    },
${ofSagas}`;
}

/** The two parts in a line if it has space for them; otherwise in two. */
function inLine(start: string, end: string): string {
  const line = `${start} ${end}`;
  return line.length <= WIDTH ? line : `${start}\n        ${end}`;
}

/** In a line if it has space for that. */
function importLine([clause, from]: readonly [string, string]): string {
  const line = `import ${clause} from '${from}';`;
  if (line.length <= WIDTH) return line;
  const names = clause.replace(/^\{ | \}$/g, '').split(', ');
  return `import {\n${names.map((name) => `  ${name},\n`).join('')}} from '${from}';`;
}
