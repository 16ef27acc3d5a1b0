import { readFile } from 'node:fs/promises';
import type { LoggerService } from '@nestjs/common';
import type { NetworkOptions } from 'nestjs-durable-saga-declared';
import type { Credentials, DaemonOptions } from 'nestjs-durable-saga-declared/internal';
import { SagaConfigurationError, severalHosts } from 'nestjs-durable-saga/internal';
import { type Call, command, DATABASE_OPTIONS, EXIT, option, UsageError } from '../command.js';
import { DEVELOPMENT_URL } from '../init/nest-app.js';
import { filesIn, problemLines, problemsOf } from '../local/declared-files.js';
import { type EmbeddedServer, startEmbedded } from '../postgres/development-server.js';
import { PostgresStartError } from '../postgres/index.js';
import type { Terminal } from '../terminal.js';
import { readTime, readWhole } from '../values.js';

const TOKEN_VARIABLE = 'SAGA_TOKEN';
const DEFAULT_PORT = 8080;

const OPTIONS = {
  url: option.text(
    '<postgres://…>',
    'the URL of the database; default: the variable DATABASE_URL, or a PostgreSQL that the daemon starts',
  ),
  schema: DATABASE_OPTIONS.schema,
  'read-from': option.text(
    '<postgres://…>',
    'the URL of a standby for lists and rates; default: the database',
  ),
  host: option.text('<address>', 'the address to listen on; default: 127.0.0.1'),
  port: option.text('<number>', `the port to listen on; 0: any that is free; default: ${DEFAULT_PORT}`),
  'token-file': option.text(
    '<file>',
    'tokens: lines of a name, a role (viewer, client, operator) and a token',
  ),
  'allow-anonymous': option.flag('listen beyond this machine without authentication'),
  'allow-host': option.several(
    '<host>',
    'the only hosts that requests of sagas may go to: api.example.com, *.example.com, 10.0.0.5:8080',
  ),
  'allow-private': option.flag('let requests of sagas go to private and loopback addresses'),
  'tls-cert': option.text('<file>', 'the certificate of the server, in PEM'),
  'tls-key': option.text('<file>', 'the key of the certificate, in PEM'),
  watch: option.flag('read the files again when one of them changes'),
  log: option.text('<format>', 'json or text; default: text in a terminal, json elsewhere'),
  concurrency: option.text(
    '<number>',
    'the maximum number of sagas that run at once; default: adapted to the load',
  ),
  connections: option.text('<number>', 'the number of connections to the database; default: 10'),
  retention: option.text('<duration>', 'how long ended sagas are kept; default: for ever'),
  lease: option.text(
    '<duration>',
    'after this time, another daemon takes over from one that was killed; default: 30s',
  ),
  'shutdown-timeout': option.text('<duration>', 'how long steps may take to end at a stop; default: 10s'),
};

type Values = Call<typeof OPTIONS>['values'];

export const serve = command({
  words: 'serve',
  operands: ['<path…>'],
  summary: 'Runs declared sagas as a daemon on PostgreSQL, with a REST API and a dashboard',
  details:
    'A path is a folder with YAML files, a YAML or JSON file, or a pattern such as "sagas/**/*.json". If no database is ' +
    'given, and NODE_ENV is not production, the daemon starts a PostgreSQL from npm, whose data stays in .postgres. SIGTERM and ' +
    'SIGINT drain and stop the daemon, the second one at once. SIGHUP reads the files and the certificate again; ' +
    'running sagas keep their version. The variable SAGA_TOKEN is the token of an operator. Without tokens, the daemon ' +
    'answers on 127.0.0.1 only. Exit code: 0 after a stop, 2 if it did not start, or if the reader of its log ended.',
  examples: [
    'saga serve sagas/',
    'saga serve sagas/ --url postgres://… --host 0.0.0.0 --token-file tokens --tls-cert cert.pem --tls-key key.pem',
  ],
  options: OPTIONS,
  run: async ({ operands, values, terminal }) => {
    const stop = stopSignal(terminal);
    let embedded: EmbeddedServer | undefined;
    try {
      const format = formatOf(values.log, terminal);
      const options = await optionsOf(operands, values, terminal);
      const { Daemon, DaemonLog } = await import('nestjs-durable-saga-declared/internal');
      const log = new DaemonLog(format);
      const given = urlOf(values, terminal);
      if (given === undefined) embedded = await startDatabase(log);
      const daemon = await Daemon.start({ ...options, url: given ?? embedded!.url }, log);
      const reload = () => void daemon.reload();
      process.on('SIGHUP', reload);
      const isAsked = await stop;
      await daemon.stop();
      process.off('SIGHUP', reload);
      return isAsked ? EXIT.done : EXIT.failed;
    } catch (error) {
      return await explain(error, terminal);
    } finally {
      await embedded?.stop();
    }
  },
});

/** For a daemon that is given no database. */
async function startDatabase(log: LoggerService): Promise<EmbeddedServer> {
  const server = await startEmbedded(process.cwd(), new URL(DEVELOPMENT_URL));
  log.warn(
    `No database was given. This daemon uses an embedded PostgreSQL at ${server.url}, for trying it out; its data is in ` +
      `${server.dataDir}. In production, give --url postgres://… or DATABASE_URL.`,
    'saga serve',
  );
  return server;
}

/**
 * The first signal stops the daemon, and the second one ends the process. Resolves to false if the reader of the log has
 * ended: a daemon without a log stops as well.
 */
function stopSignal(terminal: Terminal): Promise<boolean> {
  return new Promise((resolve) => {
    terminal.onOutputClosed?.(() => resolve(false));
    const signals = ['SIGTERM', 'SIGINT'] as const;
    const first = () => {
      for (const signal of signals) process.off(signal, first);
      resolve(true);
    };
    for (const signal of signals) process.on(signal, first);
  });
}

async function explain(error: unknown, terminal: Terminal): Promise<number> {
  const problems = await problemsOf(error);
  if (problems) for (const line of await problemLines(problems)) terminal.error(line);
  else if (error instanceof PostgresStartError)
    terminal.error(
      `saga: ${error.code}: No database was given, and the embedded PostgreSQL does not start. Give a database as ` +
        `--url postgres://… or DATABASE_URL, or fix this: ${error.message}`,
    );
  else throw error;
  return EXIT.failed;
}

async function optionsOf(
  paths: readonly string[],
  values: Values,
  terminal: Terminal,
): Promise<Omit<DaemonOptions, 'url'>> {
  const { host = '127.0.0.1', retention, lease, schema, watch = false } = values;
  const shutdownTimeout = readTime(values['shutdown-timeout'], 'shutdown-timeout');
  return {
    files: await filesIn(paths),
    ...{ readFrom: checked(values['read-from'], '--read-from'), host, schema, watch, shutdownTimeout },
    port: readNumber(values.port, 'port', 0, 65_535) ?? DEFAULT_PORT,
    connections: readNumber(values.connections, 'connections', 3, 1_000) ?? 10,
    concurrency: readNumber(values.concurrency, 'concurrency', 1, 100_000),
    retention: readTime(retention, 'retention'),
    lease: readTime(lease, 'lease'),
    credentials: await credentialsOf(values['token-file'], terminal),
    allowAnonymous: values['allow-anonymous'] ?? false,
    network: networkOf(values),
    tls: tlsOf(values),
  };
}

function readNumber(
  written: string | undefined,
  name: string,
  least: number,
  most: number,
): number | undefined {
  const value = readWhole(written, name);
  if (value === undefined || (value >= least && value <= most)) return value;
  throw new UsageError(`--${name} is ${value}; give a number from ${least} to ${most}`);
}

/** The database that is given; undefined: one is embedded. */
function urlOf({ url }: Values, { environment }: Terminal): string | undefined {
  const given = url || environment.DATABASE_URL || undefined;
  if (given === undefined && environment.NODE_ENV === 'production')
    throw new UsageError(
      'Give the database as --url postgres://…, or in the variable DATABASE_URL: with NODE_ENV=production, the daemon embeds none',
    );
  return checked(given, 'The URL');
}

/** A URL, which may have several hosts. */
function checked<T extends string | undefined>(given: T, what: string): T {
  if (given === undefined) return given;
  const [url] = severalHosts(given)?.urls ?? [given];
  if (URL.canParse(url) && /^postgres(ql)?:$/.test(new URL(url).protocol)) return given;
  throw new UsageError(`${what} is not a PostgreSQL URL; give one such as ${DEVELOPMENT_URL}`);
}

async function credentialsOf(file: string | undefined, terminal: Terminal): Promise<Credentials | undefined> {
  const { Credentials } = await import('nestjs-durable-saga-declared/internal');
  const token = terminal.environment[TOKEN_VARIABLE];
  const own = token ? Credentials.of(token, TOKEN_VARIABLE) : undefined;
  if (file === undefined) return own;
  const read = Credentials.read(await textOf(file), file);
  return own ? own.with(read) : read;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new SagaConfigurationError(`--token-file: the file cannot be read: ${(error as Error).message}.`);
  }
}

/** Only the hosts that are given, or all public ones. */
function networkOf({ 'allow-host': hosts = [], 'allow-private': allowPrivate }: Values): NetworkOptions {
  return { ...(hosts.length > 0 && { allowHosts: hosts }), allowPrivate };
}

function tlsOf({ 'tls-cert': cert, 'tls-key': key }: Values): DaemonOptions['tls'] {
  if (cert === undefined && key === undefined) return undefined;
  if (cert !== undefined && key !== undefined) return { cert, key };
  throw new UsageError(`--tls-${cert === undefined ? 'cert' : 'key'} is missing; give both files`);
}

function formatOf(format: string | undefined, terminal: Terminal): 'json' | 'text' {
  if (format === undefined) return terminal.interactive ? 'text' : 'json';
  if (format === 'json' || format === 'text') return format;
  throw new UsageError(`--log is '${format}'; give json or text`);
}
