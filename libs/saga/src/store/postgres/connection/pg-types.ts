/** The part of pg's Pool that this package uses. */
export interface PgPool {
  /** The options of the pool. LISTEN connects with them. */
  readonly options: { readonly connectionTimeoutMillis?: number; readonly max: number };
  /** The class of its clients. */
  readonly Client: new (options: object) => PgClient;
  /** The application has ended the pool. */
  readonly ending?: boolean;
  /** The clients, those that are being connected included; not public, and may be missing. */
  readonly _clients?: readonly PgClient[];
  /** Lends a connection. */
  connect(callback: TakeClient): void;
  /** Calls a function for each connection that is new, or that is lent. */
  on(event: 'connect' | 'acquire', listener: (client: PgClient) => void): unknown;
  /** Calls a function when an idle connection is lost. */
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** Returns a connection to its pool. With an error, the pool closes the connection. */
export type ReleaseClient = (error?: Error | boolean) => void;

/** Receives a connection of a pool. */
export type TakeClient = (error: Error | undefined, client: PgClient, release: ReleaseClient) => void;

/** A statement as pg takes it. */
export interface PgStatement {
  /** The name of a prepared statement. */
  readonly name?: string;
  /** SQL with the parameters $1, $2, … */
  readonly text: string;
  /** The parameters. */
  readonly values?: unknown[];
  /** How what is answered is read. */
  readonly types: { getTypeParser(type: number): (text: string) => unknown };
}

/** The part of pg's Client that this package uses. */
export interface PgClient {
  /** Connects. */
  connect(): Promise<unknown>;
  /** Sends a statement. */
  query<Row>(statement: PgStatement): Promise<{ rows: Row[] }>;
  /** Sends a statement. */
  query(text: string, values?: unknown[]): Promise<unknown>;
  /** Calls a function for each notification. */
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown;
  /** Calls a function when the connection is lost or ended. */
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  /** Removes a listener. */
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
  /** Ends the connection. */
  end(): Promise<void>;
  /** The server's id of the connection. */
  readonly processID?: number | null;
  /** What the server requires in order to cancel a statement of the connection. */
  readonly secretKey?: unknown;
  /** Not public, but what the pool itself goes by. */
  readonly _connecting?: boolean;
  /** The protocol of the connection. */
  readonly connection?: {
    readonly stream: { destroy(error?: Error): void };
    on(event: 'error', listener: (error: Error) => void): unknown;
  };
  /** Cancels a statement of another connection. */
  cancel?(client: { activeQuery: object; processID: number; secretKey: unknown }, query: object): void;
}

/** Waits for answers of the server, for a bounded time. */
export interface StatementWatch {
  /** @param timeoutFactor in bounds */
  watch<T>(client: PgClient, answer: Promise<T>, timeoutFactor?: number): Promise<T>;
}

/** Returns a function that makes one value for each pool, when it is asked for first. */
export function onePerPool<T>(make: (pool: PgPool) => T): (pool: PgPool) => T {
  const made = new WeakMap<PgPool, T>();
  return (pool) => {
    const value = made.get(pool) ?? make(pool);
    made.set(pool, value);
    return value;
  };
}
