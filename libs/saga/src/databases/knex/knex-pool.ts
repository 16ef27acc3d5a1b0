import { SagaConfigurationError } from '../../errors.js';
import type { PgClient, PgPool, TakeClient } from '../../store/postgres/connection/pg-types.js';

/** A connection of Knex, which the pool of Knex ends when it is disposed. */
interface KnexConnection extends PgClient {
  __knex__disposed?: unknown;
}

/** The part of Knex's client that is used here. */
export interface KnexClient {
  readonly dialect: string;
  readonly driver: { readonly Client: new (options: object) => PgClient };
  readonly pool: { readonly max: number };
  readonly connectionSettings: object;
  acquireConnection(): Promise<KnexConnection>;
  releaseConnection(connection: KnexConnection): Promise<void>;
}

/** The client of a Knex of PostgreSQL. By what it has: there may be several copies of Knex. */
export function knexClientOf(given: unknown): KnexClient | undefined {
  const client = (given as { readonly client?: Partial<KnexClient> } | null | undefined)?.client;
  return client?.dialect === 'postgresql' && client.pool ? (client as KnexClient) : undefined;
}

/** @throws SagaConfigurationError if the settings of connections are known to Knex only */
export function requireSettings(call: string, what: string, client: KnexClient): void {
  if (client.connectionSettings) return;
  throw new SagaConfigurationError(
    `${call}(): the ${what} is a function, which LISTEN cannot use; give a value instead.`,
  );
}

/** The pool of a Knex, whose connections are clients of pg, in the form of a Pool of pg. */
export class KnexPool implements PgPool {
  readonly options: PgPool['options'];
  readonly Client: PgPool['Client'];
  private readonly listeners: ((client: PgClient) => void)[] = [];

  constructor(private readonly client: KnexClient) {
    const { connectionSettings, driver, pool } = client;
    // Knex hides the password, which a copy would lose.
    this.options = Object.create(connectionSettings, { max: { value: pool.max } }) as PgPool['options'];
    this.Client = driver.Client;
  }

  connect(take: TakeClient): void {
    this.client.acquireConnection().then(
      (connection) => {
        for (const listen of this.listeners) listen(connection);
        take(undefined, connection, (error) => {
          if (error) connection.__knex__disposed = error;
          void this.client.releaseConnection(connection);
        });
      },
      (error: Error) => take(error, undefined as never, () => undefined),
    );
  }

  /** Each connection that is lent may be new. Of idle ones that are lost Knex takes care itself. */
  on(event: 'connect' | 'acquire', listener: (client: PgClient) => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  on(
    event: 'connect' | 'acquire' | 'error',
    listener: ((client: PgClient) => void) | ((error: Error) => void),
  ): void {
    if (event !== 'error') this.listeners.push(listener as (client: PgClient) => void);
  }
}
