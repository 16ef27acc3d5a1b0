import type { StatementWatchdog } from './statement-watchdog.js';
import { atOwnLevel, type Isolation, OpenTransaction } from './isolation.js';
import { OWN_TYPES } from './own-types.js';
import type { PgClient, PgStatement } from './pg-types.js';

type QueryCallback = (error: Error | null, result?: unknown) => void;

/**
 * A connection of the application's pool as the engine uses it, with what TypeORM asks of one. What is sent is the
 * engine's: it is waited for as such, runs at the engine's isolation level, and is read by the engine's own parsers.
 */
export class EngineClient {
  timeoutFactor = 1;
  private readonly watch = new OpenTransaction();

  constructor(
    private readonly client: PgClient,
    private readonly watchdog: StatementWatchdog,
    private readonly isolation: Isolation,
  ) {}

  get connection(): PgClient['connection'] {
    return this.client.connection;
  }

  /** A text, as TypeORM gives it, or a statement of the engine's own. TypeORM 0.3.20 looks at the version with a callback. */
  query(given: string | PgStatement, values?: unknown[] | QueryCallback): Promise<unknown> | undefined {
    if (typeof values !== 'function') return this.send(given, values);
    this.send(given).then(
      (result) => values(null, result),
      (error: Error) => values(error),
    );
    return undefined;
  }

  private send(given: string | PgStatement, values?: unknown[]): Promise<unknown> {
    const statement = typeof given === 'string' ? { text: atOwnLevel(given), values } : given;
    const send = () =>
      this.watchdog.watch(
        this.client,
        this.client.query({ ...statement, types: OWN_TYPES }),
        this.timeoutFactor,
      );
    if (!this.watch.isAlone(statement.text)) return send();
    return this.isolation.alone(this.client, this.watchdog, send);
  }

  on(event: 'error', listener: () => void): unknown {
    return this.client.on(event, listener);
  }
  removeListener(event: 'error', listener: () => void): unknown {
    return this.client.removeListener(event, listener);
  }
}

/** The statements of this connection of a saga DataSource may take so many times as long. */
export function withTimeoutFactor(client: unknown, timeoutFactor: number): void {
  if (client instanceof EngineClient) client.timeoutFactor = timeoutFactor;
}
