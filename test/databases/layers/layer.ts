import type { ModuleMetadata } from '@nestjs/common';
import type { SagaDatabase } from '../../../libs/saga/src/database.js';

/** A database layer as an application has it, over one database with the table `effect (what text)`. */
export interface Layer<Tx extends object = object> {
  /** Undefined: a TypeORM DataSource. */
  readonly database?: SagaDatabase<Tx>;
  readonly imports?: ModuleMetadata['imports'];
  /** What `Inbox.once()` opens a transaction on. */
  readonly source: object;
  /** Runs work in a transaction, as the application does. Commits if the work succeeds, and rolls back if it fails. */
  transaction<T>(work: (transaction: Tx) => Promise<T>): Promise<T>;
  /** Runs work in a savepoint of the transaction. */
  nested<T>(transaction: Tx, work: (transaction: Tx) => Promise<T>): Promise<T>;
  /** Inserts a row into `effect`. */
  write(transaction: Tx, what: string): Promise<unknown>;
  /** Sends a statement that fails with this SQLSTATE and the message 'refused'. */
  fail(transaction: Tx, code: string): Promise<unknown>;
  /** Makes the transaction read-only. */
  readOnly(transaction: Tx): Promise<unknown>;
  /** Ends its connections. The application is closed. */
  close(): Promise<void>;
}

export interface LayerSubject<Tx extends object = object> {
  readonly name: string;
  /** @param connections of its pool, at most */
  open(url: string, connections?: number): Promise<Layer<Tx>>;
}

export const INSERT = 'INSERT INTO effect VALUES ($1)';

/** A statement that fails with this SQLSTATE. */
export const failing = (code: string): string =>
  `DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${code}'; END $$`;

export const READ_ONLY = 'SET TRANSACTION READ ONLY';
