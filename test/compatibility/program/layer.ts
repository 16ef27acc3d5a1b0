import type { ModuleMetadata } from '@nestjs/common';
import type { SagaDatabase } from 'nestjs-durable-saga/database';

/** A database layer as an application has it, over a database with the table `booking (what text)`. */
export interface Layer<Tx> {
  /** Undefined: the TypeORM DataSource of `imports`. */
  readonly database?: SagaDatabase;
  readonly imports?: ModuleMetadata['imports'];
  /** Runs work in a transaction of the layer, as the application does. */
  transaction(work: (transaction: Tx) => Promise<unknown>): Promise<unknown>;
  /** Inserts into `booking`, in a transaction of the layer. */
  book(transaction: Tx, what: string): Promise<unknown>;
  /** Ends the connections, after the application is closed. */
  close(): Promise<void>;
}

/** Opens a layer on a database. Its name is the key in the record of a program. */
// oxlint-disable-next-line typescript/no-explicit-any -- each layer has its own transaction
export type Layers = Readonly<Record<string, (url: string) => Layer<any> | Promise<Layer<any>>>>;
