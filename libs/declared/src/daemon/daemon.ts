import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type LoggerService, Logger } from '@nestjs/common';
import type pg from 'pg';
import type { DeclaredSagaProblem } from '../declared-saga.error.js';
import type { NetworkOptions } from '../network/network.js';
import { type DeclaredSaga, readSources } from '../read-sagas.js';
import { SagaConfigurationError } from 'nestjs-durable-saga';
import { DEFAULT_SCHEMA, serializeError } from 'nestjs-durable-saga/internal';
import {
  EngineSql,
  PgDatabase,
  PostgresGraphStore,
  SagaLog,
  openPool,
} from 'nestjs-durable-saga/internal/runtime';
import { Callers } from './access/callers.js';
import type { Credentials } from './access/credentials.js';
import { DatabaseHealth } from './database-health.js';
import { ADMIN_PATH, Generation, type RunOptions, type SharedParts } from './generation.js';
import { type Answer, type Certificate, Front, refuse, send } from './http/front.js';
import { type Metrics, startMetrics } from './metrics.js';
import { labelOf, nextSagas, NO_SAGAS } from './sagas/next-sagas.js';
import { watchFiles } from './sagas/watch-files.js';

/** Options of a daemon. */
export interface DaemonOptions extends RunOptions {
  /** Paths of YAML and JSON files, with `*`, `?` and `**`. */
  readonly files: readonly string[];
  /** The URL of the database, which may have several hosts and `target_session_attrs`. */
  readonly url: string;
  /** The URL of a standby of the database, from which lists and rates are read. Undefined: from the database. */
  readonly readFrom?: string;
  /** The number of connections to the database, and of those to the standby. */
  readonly connections: number;
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Who may send requests. Undefined: everybody. */
  readonly credentials?: Credentials;
  /** Whether requests may be served without authentication beyond this machine. */
  readonly allowAnonymous: boolean;
  /** Files in PEM. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Where the requests of sagas may go. Default: public addresses. */
  readonly network?: NetworkOptions;
  /** Whether to read the files again when one of them changes. */
  readonly watch: boolean;
}

const THIS_MACHINE = ['127.0.0.1', 'localhost', '::1'];
const HOSTS = ['127.0.0.1', 'localhost', '[::1]'];
/** How long (ms) open requests may take to end after the sagas have drained. */
const REQUESTS_GRACE = 500;

/**
 * Serves declared sagas: runs them on PostgreSQL, and answers the requests of the REST API and the dashboard. It is one
 * Nest application at a time. When files change, the next application takes over, and the one before ends its work.
 */
export class Daemon {
  private readonly log = new SagaLog('saga serve');
  private generation!: Generation;
  private readonly retiring = new Set<Generation>();
  private front!: Front;
  private metrics: Metrics | undefined;
  private parts!: SharedParts;
  private readonly pool: pg.Pool;
  /** Lists are read from it. Undefined: from the database. */
  private readonly standby: pg.Pool | undefined;
  private readonly graphs: PostgresGraphStore;
  private readonly database: DatabaseHealth;
  private reloading: Promise<unknown> = Promise.resolve();
  private stopWatching: () => void = () => undefined;
  private stopping: Promise<void> | undefined;
  /** Where it answers. */
  address = '';

  private constructor(private readonly options: DaemonOptions) {
    const { url, readFrom, connections, schema = DEFAULT_SCHEMA } = options;
    this.pool = this.open(url, connections, 'the database');
    if (readFrom !== undefined) this.standby = this.open(readFrom, connections, 'the standby');
    this.graphs = new PostgresGraphStore(new EngineSql(new PgDatabase(this.pool)), schema);
    this.database = new DatabaseHealth(this.pool, schema);
  }

  /**
   * Starts a daemon. When the promise resolves, it answers requests and runs sagas.
   * @throws SagaConfigurationError, DeclaredSagaError, SagaDriftError
   */
  static async start(options: DaemonOptions, logger: LoggerService): Promise<Daemon> {
    checkExposure(options);
    Logger.overrideLogger(logger);
    const daemon = new Daemon(options);
    try {
      await daemon.begin(logger);
      return daemon;
    } catch (error) {
      await daemon.end();
      throw error;
    }
  }

  private open(connectionString: string, max: number, what: string): pg.Pool {
    const pool = openPool({ connectionString, max, application_name: 'saga serve' });
    pool.on('error', (error) => this.log.warn(`A connection to ${what} was lost: ${error.message}`));
    return pool;
  }

  private async begin(logger: LoggerService): Promise<void> {
    const { options } = this;
    const { host, port, credentials, watch, network } = options;
    const certificate = await this.readCertificate();
    const { problems, sources } = await this.read();
    const sagas = await nextSagas(sources, NO_SAGAS, async () => false, problems, network);
    const callers = new Callers(credentials);
    this.metrics = startMetrics();
    const database = new PgDatabase(this.pool);
    const readFrom = this.standby && new PgDatabase(this.standby);
    this.parts = { database, readFrom, callers, logger, options, imports: this.metrics.imports };
    this.generation = await Generation.start(sagas, this.parts);
    const hosts = credentials || !THIS_MACHINE.includes(host) ? undefined : HOSTS;
    this.front = new Front({
      ...{ callers, certificate, hosts, ...this.pages() },
      application: () => this.generation.answer,
    });
    const address = await this.front.listen(port, host);
    const shownHost = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    this.address = `${certificate ? 'https' : 'http'}://${shownHost}:${address.port}`;
    if (credentials && !certificate && !THIS_MACHINE.includes(host))
      this.log.warn(
        'Tokens are sent without encryption. Give --tls-cert and --tls-key, or use a proxy with TLS',
      );
    if (watch)
      this.stopWatching = watchFiles(
        [...sources, ...problems],
        () => this.readQuietly(),
        () => void this.reload(),
      );
    const labels = sagas.current.map(labelOf).join(', ');
    this.log.log(`Serving ${labels} at ${this.address}/${ADMIN_PATH}/`);
  }

  /** Reads the files and the certificate again. If they are invalid, everything goes on as before, and the log says why. */
  reload(): Promise<void> {
    const done = this.reloading.then(() => this.reloadNow());
    this.reloading = done;
    return done;
  }

  /** Drains, and closes everything. */
  stop(): Promise<void> {
    this.stopping ??= this.end();
    return this.stopping;
  }

  private async reloadNow(): Promise<void> {
    if (this.stopping) return;
    try {
      const certificate = await this.readCertificate();
      const { sources, problems } = await this.read();
      // No saga may start on a version between the look at its running sagas and the new application.
      await this.front.hold();
      const { generation, isRunning, options } = this;
      await this.exchange(await nextSagas(sources, generation.sagas, isRunning, problems, options.network));
      if (certificate) this.front.renew(certificate);
    } catch (error) {
      this.log.error(`Reload refused, and the sagas stay as they are: ${serializeError(error).message}`);
    } finally {
      this.front.resume();
    }
  }

  private async exchange(sagas: Generation['sagas']): Promise<void> {
    const before = this.generation;
    if (isSame(before.sagas.current, sagas.current) && isSame(before.sagas.retired, sagas.retired)) {
      this.log.log('Reloaded: no saga has changed');
      return;
    }
    this.generation = await Generation.start(sagas, this.parts);
    this.retiring.add(before);
    void before
      .retire()
      .catch((error: unknown) => this.log.error(`Closing after a reload: ${serializeError(error).message}`))
      .finally(() => this.retiring.delete(before));
    const [current, retired] = [sagas.current, sagas.retired].map((some) => some.map(labelOf).join(', '));
    const rest = retired === '' ? '' : `. Without a file, until their sagas have ended: ${retired}`;
    this.log.log(`Reloaded: ${current || 'no sagas'}${rest}`);
  }

  private readonly isRunning = async ({ name, version }: DeclaredSaga): Promise<boolean> => {
    let next: string | undefined;
    do {
      const page = await this.graphs.unfinished({ name, version }, 1, next);
      if (page.sagas.length > 0) return true;
      next = page.next;
    } while (next !== undefined);
    return false;
  };

  private async read() {
    const problems: DeclaredSagaProblem[] = [];
    return { problems, sources: await readSources(this.options.files, problems) };
  }

  /** For the watch: what cannot be read yet is read later. */
  private async readQuietly() {
    const { problems, sources } = await this.read();
    return [...sources, ...problems];
  }

  private async readCertificate(): Promise<Certificate | undefined> {
    const { tls } = this.options;
    if (!tls) return undefined;
    const [cert, key] = [await readPem(tls.cert, '--tls-cert'), await readPem(tls.key, '--tls-key')];
    const certificate = { cert, key };
    checkPair(certificate);
    return certificate;
  }

  private pages(): { open: Record<string, Answer>; pages: Record<string, Answer> } {
    return {
      open: {
        '/health': (_, response) => void this.health(response),
        '/health/live': (_, response) => send(response, 200, { status: 'up' }),
      },
      pages: {
        '/': (_, response) => {
          response.statusCode = 302;
          response.setHeader('location', `/${ADMIN_PATH}/`);
          response.end();
        },
        '/metrics': (request, response) => this.metrics!.answer(request, response),
        '/openapi.json': (_, response) => {
          const { openApi } = this.generation;
          if (openApi) return send(response, 200, openApi);
          const message =
            'The document requires @nestjs/swagger. Run npm install @nestjs/swagger, and restart.';
          refuse(response, 501, 'SAGA_CONFIGURATION', message);
        },
      },
    };
  }

  private async health(response: Parameters<Answer>[1]): Promise<void> {
    const problem = this.stopping ? 'the daemon is stopping' : await this.database.problem();
    if (problem === undefined) send(response, 200, { status: 'up' });
    else send(response, 503, { status: 'down', message: problem });
  }

  private async end(): Promise<void> {
    if (this.address !== '') this.log.log('Stopping: running steps may end, and nothing more begins');
    this.stopWatching();
    await this.reloading;
    this.front?.stop();
    await Promise.all([this.generation, ...this.retiring].map((generation) => generation?.close()));
    if (this.front) await this.front.close(REQUESTS_GRACE);
    await this.metrics?.stop();
    await Promise.all([this.pool.end(), this.standby?.end()]);
  }
}

/** @throws SagaConfigurationError if everybody on the network could run commands */
function checkExposure({ host, credentials, allowAnonymous }: DaemonOptions): void {
  if (credentials || allowAnonymous || THIS_MACHINE.includes(host)) return;
  throw new SagaConfigurationError(
    `--host ${host} is reachable from other machines, and the daemon has no authentication: everybody there could start ` +
      'and cancel sagas. Give --token-file or the variable SAGA_TOKEN, or --allow-anonymous if only your own programs reach it.',
  );
}

async function readPem(file: string, option: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new SagaConfigurationError(`${option}: the file cannot be read: ${(error as Error).message}.`);
  }
}

/**
 * A server takes an empty certificate without an error, and then no connection succeeds.
 * @throws SagaConfigurationError
 */
function checkPair({ cert, key }: Certificate): void {
  let isPair: boolean;
  try {
    isPair = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    const { message } = error as Error;
    throw new SagaConfigurationError(
      `--tls-cert and --tls-key must be a certificate and its key, in PEM: ${message}.`,
    );
  }
  if (!isPair) throw new SagaConfigurationError('--tls-key is not the key of the certificate in --tls-cert.');
}

function isSame(some: readonly DeclaredSaga[], others: readonly DeclaredSaga[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ file, text }, n) => file === others[n]!.file && text === others[n]!.text)
  );
}
