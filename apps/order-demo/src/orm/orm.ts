import type { SagaDatabase } from 'nestjs-durable-saga/database';
import type { PlaceOrderDto } from '../orders/place-order.dto.js';
import type { OrderStatus } from '../orders/order.entity.js';

/** The values of `--orm`. */
export const ORM_NAMES = ['typeorm', 'drizzle', 'kysely', 'knex', 'mikro-orm', 'prisma', 'pg'] as const;
export type OrmName = (typeof ORM_NAMES)[number];

export interface NewOrder {
  readonly id: string;
  readonly idempotencyKey?: string;
  readonly request: PlaceOrderDto;
  readonly amount: number;
  readonly status: OrderStatus;
}

/** What a step of the saga changes in an order. */
export interface OrderChange {
  readonly status: OrderStatus;
  readonly cancelledBecause?: string;
  readonly trackingNumber?: string;
}

/** Writes orders in transactions of the database layer that the demo runs on. `Tx` is such a transaction. */
export abstract class OrderStore<Tx extends object = object> {
  /**
   * Inserts an order, unless its key is taken, and calls `start` in the same transaction.
   * @param start not called for an order that exists
   */
  abstract place(order: NewOrder, start: (transaction: Tx) => Promise<unknown>): Promise<void>;

  /** Changes an order in the transaction of a step. */
  abstract change(transaction: Tx, id: string, change: OrderChange): Promise<void>;
}

/** A database layer of the demo. */
export interface Orm<Tx extends object = object> {
  /** The database of sagas. Undefined: they use the DataSource of TypeORM. */
  readonly database?: SagaDatabase<Tx>;
  readonly orders: OrderStore<Tx>;
  /** Ends the connections of the layer. */
  close(): Promise<unknown>;
}
