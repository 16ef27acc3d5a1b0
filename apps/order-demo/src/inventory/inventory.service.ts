import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, MoreThanOrEqual } from 'typeorm';
import { FaultsService } from '../faults/faults.service.js';
import type { Call } from '../participant/call.js';
import { handleOnce } from '../participant/handle-once.js';
import { insertFirst } from '../participant/insert-first.js';
import { RefusedError } from '../participant/participant-errors.js';
import { InventoryRequest } from './inventory-request.entity.js';
import { Reservation } from './reservation.entity.js';
import { Stock } from './stock.entity.js';

export interface ReserveRequest {
  orderId: string;
  sku: string;
  quantity: number;
}

export interface Reserved {
  reservationId: string;
}

export class OutOfStockError extends RefusedError {
  override readonly name = 'OutOfStockError';
}

/** The warehouse's stock. Knows nothing of sagas: it reserves, releases, and does each request once. */
@Injectable()
export class InventoryService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly faults: FaultsService,
  ) {}

  stock(): Promise<Stock[]> {
    return this.dataSource.manager.find(Stock, { order: { sku: 'ASC' } });
  }

  reserve(request: ReserveRequest, { idempotencyKey, signal }: Call): Promise<Reserved> {
    return this.faults.meet('inventory', 'reserve', signal, () =>
      handleOnce(this.dataSource, InventoryRequest, idempotencyKey, (manager) => hold(manager, request)),
    );
  }

  /** A release without a reservation succeeds: a caller that lost the answer cannot know which it is. */
  release(request: { orderId: string; sku: string }, { idempotencyKey, signal }: Call): Promise<object> {
    return this.faults.meet('inventory', 'release', signal, () =>
      handleOnce(this.dataSource, InventoryRequest, idempotencyKey, (manager) => giveBack(manager, request)),
    );
  }
}

async function hold(manager: EntityManager, { orderId, sku, quantity }: ReserveRequest): Promise<Reserved> {
  const reservationId = randomUUID();
  const first = await insertFirst(manager, Reservation, {
    id: reservationId,
    orderId,
    sku,
    quantity,
    status: 'held',
  });
  if (!first) throw new RefusedError(`order ${orderId} had a reservation before`);
  const { affected } = await manager.decrement(
    Stock,
    { sku, onHand: MoreThanOrEqual(quantity) },
    'onHand',
    quantity,
  );
  if (!affected) throw new OutOfStockError(`fewer than ${quantity} of '${sku}' are left`);
  return { reservationId };
}

async function giveBack(
  manager: EntityManager,
  { orderId, sku }: { orderId: string; sku: string },
): Promise<object> {
  // If there is none yet, it is recorded as released: a reservation still on its way comes too late.
  const none = { id: randomUUID(), orderId, sku, quantity: 0, status: 'released' } as const;
  if (await insertFirst(manager, Reservation, none)) return { released: 0 };
  const held = await manager.findOneOrFail(Reservation, {
    where: { orderId },
    lock: { mode: 'pessimistic_write' },
  });
  if (held.status === 'released') return { released: 0 };
  await manager.update(Reservation, { orderId }, { status: 'released' });
  await manager.increment(Stock, { sku: held.sku }, 'onHand', held.quantity);
  return { released: held.quantity };
}
