/** The part of pg's Pool that is used here. */
export interface PgPool {
  readonly options: { readonly connectionTimeoutMillis?: number; readonly max: number };
  readonly Client: new (options: object) => PgClient;
  /** Those that are being connected included; not public, and may be missing. */
  readonly _clients?: readonly PgClient[];
  connect(callback: TakeClient): void;
  on(event: 'acquire', listener: (client: PgClient) => void): unknown;
}

export type ReleaseClient = (error?: Error | boolean) => void;

export type TakeClient = (error: Error | undefined, client: PgClient, release: ReleaseClient) => void;

export interface PgStatement {
  /** The name of a prepared statement. */
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
  /** How what is answered is read. */
  readonly types: { getTypeParser(type: number): (text: string) => unknown };
}

export interface PgClient {
  connect(): Promise<unknown>;
  query<Row>(statement: PgStatement): Promise<{ rows: Row[] }>;
  query(text: string, values?: unknown[]): Promise<unknown>;
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
  end(): Promise<void>;
  readonly processID?: number | null;
  readonly secretKey?: unknown;
  /** Not public, but what the pool itself goes by. */
  readonly _connecting?: boolean;
  readonly connection?: {
    readonly stream: { destroy(error?: Error): void };
    on(event: 'error', listener: (error: Error) => void): unknown;
  };
  cancel?(client: { activeQuery: object; processID: number; secretKey: unknown }, query: object): void;
}

/** Waits for answers of the server, for a bounded time. */
export interface StatementWatch {
  /** @param timeoutFactor in bounds */
  watch<T>(client: PgClient, answer: Promise<T>, timeoutFactor?: number): Promise<T>;
}
