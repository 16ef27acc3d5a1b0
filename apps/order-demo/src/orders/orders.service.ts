import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { SagaService } from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';
import { OrderStore } from '../orm/orm.js';
import { CATALOG } from './catalog.js';
import { Order } from './order.entity.js';
import type { PlaceOrderDto } from './place-order.dto.js';
import { PlaceOrderSaga } from './place-order.saga.js';

@Injectable()
export class OrdersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly orders: OrderStore,
    private readonly sagas: SagaService,
  ) {}

  /**
   * Stores the order and its saga in one transaction: neither is there without the other.
   * @param idempotencyKey the client's name for this request: the same again is the same order
   */
  async place(request: PlaceOrderDto, idempotencyKey: string | undefined): Promise<Order> {
    const id = randomUUID();
    const amount = request.quantity * CATALOG[request.sku]!;
    const key = idempotencyKey === undefined ? { id } : { idempotencyKey };
    const order = { id, idempotencyKey, request, amount, status: 'placed' } as const;
    await this.orders.place(order, async (transaction) => {
      const input = { orderId: id, amount, ...request };
      await this.sagas.start(PlaceOrderSaga, input, { correlationId: id, transaction });
    });
    const placed = await this.dataSource.manager.findOneByOrFail(Order, key);
    if (isDeepStrictEqual(placed.request, { ...request, address: { ...request.address } })) return placed;
    throw new ConflictException(
      `Another order, ${placed.id}, was placed with the Idempotency-Key '${idempotencyKey}'`,
    );
  }

  async get(id: string): Promise<Order> {
    const order = await this.dataSource.manager.findOneBy(Order, { id });
    if (!order) throw new NotFoundException(`There is no order ${id}`);
    return order;
  }
}
