import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { FaultsService } from '../faults/faults.service.js';
import type { Call } from '../participant/call.js';
import { handleOnce } from '../participant/handle-once.js';
import { insertFirst } from '../participant/insert-first.js';
import { RefusedError } from '../participant/participant-errors.js';
import type { Address } from './address.js';
import { Shipment } from './shipment.entity.js';
import { ShippingRequest } from './shipping-request.entity.js';

export interface ShipRequest {
  orderId: string;
  parcels: number;
  address: Address;
}

export interface Shipped {
  trackingNumber: string;
}

export class NotServedError extends RefusedError {
  override readonly name = 'NotServedError';
}

const COUNTRIES_SERVED: readonly string[] = [
  'AT',
  'BE',
  'CH',
  'DE',
  'DK',
  'ES',
  'FR',
  'IT',
  'LU',
  'NL',
  'PL',
  'SE',
];

/** The carrier. Knows nothing of sagas: it books shipments, cancels them, and does each request once. */
@Injectable()
export class ShippingService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly faults: FaultsService,
  ) {}

  shipments(orderId: string): Promise<Shipment[]> {
    return this.dataSource.manager.findBy(Shipment, { orderId });
  }

  ship(request: ShipRequest, { idempotencyKey, signal }: Call): Promise<Shipped> {
    return this.faults.meet('shipping', 'ship', signal, () =>
      handleOnce(this.dataSource, ShippingRequest, idempotencyKey, (manager) => book(manager, request)),
    );
  }

  /** A cancellation without a booking succeeds: a caller that lost the answer cannot know which it is. */
  cancel(request: { orderId: string }, { idempotencyKey, signal }: Call): Promise<object> {
    return this.faults.meet('shipping', 'cancel', signal, () =>
      handleOnce(this.dataSource, ShippingRequest, idempotencyKey, (manager) => callOff(manager, request)),
    );
  }
}

async function book(manager: EntityManager, { orderId, parcels, address }: ShipRequest): Promise<Shipped> {
  if (!COUNTRIES_SERVED.includes(address.country)) {
    throw new NotServedError(`no carrier goes to ${address.country}`);
  }
  const trackingNumber = randomUUID();
  const first = await insertFirst(manager, Shipment, {
    id: trackingNumber,
    orderId,
    parcels,
    address,
    status: 'booked',
  });
  if (!first) throw new RefusedError(`order ${orderId} had a shipment before`);
  return { trackingNumber };
}

async function callOff(manager: EntityManager, { orderId }: { orderId: string }): Promise<object> {
  // If there is none yet, it is recorded as void: a booking still on its way comes too late.
  const none = { id: randomUUID(), orderId, parcels: 0, address: null, status: 'void' } as const;
  if (await insertFirst(manager, Shipment, none)) return { cancelled: 0 };
  const { affected } = await manager.update(Shipment, { orderId, status: 'booked' }, { status: 'cancelled' });
  return { cancelled: affected ?? 0 };
}
