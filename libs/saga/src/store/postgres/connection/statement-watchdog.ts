import { SagaUnavailableError } from '../../../errors.js';
import { isolationOf } from './isolation.js';
import { OWN_TYPES } from './own-types.js';
import { onePerPool, type PgClient, type PgPool, type PgStatement, type TakeClient } from './pg-types.js';
import { TimelineGuard } from './timeline-guard.js';
import { asEngineFailure, asUnreached } from './transient-errors.js';

/** Looks at what is awaited, in a bound: a process that stood still misses its looks, and does not take that for silence. */
const CHECKS_PER_TIMEOUT = 4;

/** How long (ms) the request to leave off may be in progress. */
const CANCEL_TIMEOUT_MS = 10_000;

interface Awaited {
  readonly client: PgClient;
  looksLeft: number;
}

/**
 * Limits how long the engine waits for PostgreSQL. A connection that is only half open (a firewall has forgotten it,
 * the host is gone) never fails by itself. A statement on it would hang for many minutes, or for ever, and with it a
 * lease, a claim or a checkpoint. So after a timeout the connection is ended, and the statement fails like one on any
 * lost connection. It is unknown whether it arrived, and every statement of the engine may be repeated without harm.
 *
 * Only the engine's own statements are limited. The application's settings and statements stay as they are.
 */
export class StatementWatchdog {
  private readonly awaited = new Set<Awaited>();
  /** The calls that wait for a connection, each with the number of checks so far. */
  private readonly waiting = new Set<{ looks: number }>();
  private readonly connecting = new WeakMap<PgClient, number>();
  private bound = Infinity;
  private timer: NodeJS.Timeout | undefined;

  /** The history of the server that these connections lead to. */
  readonly timeline = new TimelineGuard();

  constructor(private readonly pool: PgPool) {}

  /** Is there a bound already? */
  get bounded(): boolean {
    return this.bound !== Infinity;
  }

  /** Milliseconds. Without, as while migrations run, whatever takes long may take long. */
  setStatementTimeout(bound: number): void {
    this.bound = bound;
    if (this.awaited.size + this.waiting.size > 0) this.schedule();
  }

  /**
   * How long (ms) the server is to wait for the next statement of a transaction. The server's side of a half-open
   * connection would hold the locks of the transaction until TCP fails, which takes hours by default. Undefined: no
   * limit.
   */
  get betweenStatements(): number | undefined {
    return this.bound === Infinity ? undefined : Math.round(this.bound);
  }

  /**
   * What was asked of this connection.
   * @param timeoutFactor in bounds
   */
  async watch<T>(client: PgClient, answer: Promise<T>, timeoutFactor = 1): Promise<T> {
    const awaited: Awaited = { client, looksLeft: timeoutFactor * CHECKS_PER_TIMEOUT };
    this.awaited.add(awaited);
    this.schedule();
    try {
      return await answer;
    } finally {
      this.awaited.delete(awaited);
    }
  }

  /**
   * A connection of the pool, as its own `connect` gives it. If a failover is noticed meanwhile, this fails with a transient
   * error, so that the statement is made again: what it relies on may be gone.
   */
  connect(take: TakeClient): void {
    // Nothing more comes of it, and its error would look like an outage.
    if (this.pool.ending) return take(poolEnded(), undefined as never, () => undefined);
    const arrived = this.waitForConnection();
    const { era } = this.timeline;
    this.pool.connect((error, client, release) => {
      arrived();
      if (error) return take(asUnreached(error), client, release);
      if (this.timeline.era === era && this.timeline.knows(client)) return take(undefined, client, release);
      this.admit(client, era).then(
        () => take(undefined, client, release),
        (failure: Error) => (release(failure), take(failure, client, release)),
      );
    });
  }

  /** Bounds the wait for a connection that was asked for elsewhere. Its user calls `admit` before the first statement. */
  async connected<T>(connection: Promise<T>): Promise<T> {
    const arrived = this.waitForConnection();
    return connection
      .catch((error: unknown) => {
        throw asUnreached(error);
      })
      .finally(arrived);
  }

  /**
   * Resolves if the server of a connection is the primary. Otherwise the connection is closed.
   * @param era of the timeline when the connection was asked for
   * @throws a transient error
   */
  async admit(client: PgClient, era: number): Promise<void> {
    try {
      if (!this.timeline.knows(client)) await this.watch(client, this.timeline.admit(client));
      if (this.timeline.era !== era) throw promoted();
    } catch (error) {
      end(client, error as Error);
      throw asEngineFailure(error);
    }
  }

  /** On whichever connection of the pool is free. */
  send<Row>(given: Omit<PgStatement, 'types'>): Promise<{ rows: Row[] }> {
    const statement = { ...given, types: OWN_TYPES };
    const isolation = isolationOf(this.pool);
    return new Promise((resolve, reject) => {
      this.connect((error, client, release) => {
        if (error) return reject(error);
        const send = () => this.watch(client, client.query<Row>(statement));
        isolation.alone(client, this, send).then(
          (result) => (release(), resolve(result)),
          (failure: Error) => (release(failure), reject(asEngineFailure(failure))),
        );
      });
    });
  }

  private waitForConnection(): () => void {
    const waiting = { looks: 0 };
    this.waiting.add(waiting);
    this.schedule();
    return () => void this.waiting.delete(waiting);
  }

  private schedule(): void {
    if (this.timer !== undefined || this.bound === Infinity) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.look();
      if (this.awaited.size + this.waiting.size > 0) this.schedule();
    }, this.bound / CHECKS_PER_TIMEOUT);
    this.timer.unref();
  }

  private look(): void {
    for (const awaited of this.awaited) {
      awaited.looksLeft -= 1;
      if (awaited.looksLeft >= 0) continue;
      this.awaited.delete(awaited);
      this.giveUp(awaited.client);
    }
    let standsInTheWay = false;
    for (const waiting of this.waiting)
      standsInTheWay = (waiting.looks += 1) > CHECKS_PER_TIMEOUT || standsInTheWay;
    if (standsInTheWay) this.lookAtThoseConnecting();
  }

  /**
   * A connection that is never established takes a place of the pool for as long. Where the application bounds that
   * time itself (connectTimeoutMS), that is its own affair.
   */
  private lookAtThoseConnecting(): void {
    const { _clients: clients = [], options } = this.pool;
    if (options.connectionTimeoutMillis) return;
    for (const client of clients) {
      if (!client._connecting) continue;
      const looks = (this.connecting.get(client) ?? 0) + 1;
      this.connecting.set(client, looks);
      if (looks > CHECKS_PER_TIMEOUT) end(client, this.silence());
    }
  }

  /**
   * The server may still run the statement, for example waiting for a lock. It is cancelled, so that such statements do
   * not pile up.
   */
  private giveUp(client: PgClient): void {
    cancel(client, this.pool);
    end(client, this.silence());
  }

  private silence(): Error {
    const message = `Connection terminated: PostgreSQL did not answer within ${Math.round(this.bound)} ms`;
    return Object.assign(new Error(message), { code: 'ETIMEDOUT' });
  }
}

function poolEnded(): SagaUnavailableError {
  return new SagaUnavailableError(
    'The application has ended the connections of its database, and sagas use them. End them after app.close(), or in ' +
      'onApplicationShutdown.',
  );
}

/** The connection is one of the new primary, or of the one before: the next one tells. */
function promoted(): Error {
  return new Error('Connection terminated: a standby was promoted');
}

export const watchdogOf = onePerPool((pool) => {
  surviveLostConnections(pool);
  return new StatementWatchdog(pool);
});

/**
 * Keeps the process alive when connections are lost. A pool of pg that nothing listens to ends it when the server closes a
 * connection that is idle. And those who take a connection may listen for its errors only a moment later: an error that comes
 * in between would find no listener.
 */
function surviveLostConnections(pool: PgPool): void {
  pool.on('error', () => undefined);
  const surviving = new WeakSet<PgClient>();
  pool.on('acquire', (client) => {
    if (surviving.has(client)) return;
    surviving.add(client);
    client.on('error', () => undefined);
  });
}

/** As if the network had said so: `end()` would wait for the other side. */
function end(client: PgClient, reason: Error): void {
  const stream = client.connection?.stream;
  if (stream) stream.destroy(reason);
  else void client.end().catch(() => undefined);
}

/** By PostgreSQL's own request, on a connection of its own, which poolers pass on as well. It may not get there. */
function cancel(client: PgClient, pool: PgPool): void {
  if (client.processID == null || client.secretKey == null) return;
  const messenger = new pool.Client(pool.options);
  const { connection } = messenger;
  if (!connection || !messenger.cancel) return;
  connection.on('error', () => undefined);
  const { processID, secretKey } = client;
  const statement = {};
  messenger.cancel({ activeQuery: statement, processID, secretKey }, statement);
  setTimeout(() => connection.stream.destroy(), CANCEL_TIMEOUT_MS).unref();
}
