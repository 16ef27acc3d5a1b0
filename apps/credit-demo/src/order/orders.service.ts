import { randomUUID } from 'node:crypto';
import { Injectable, NotFoundException } from '@nestjs/common';
import { SagaNotFoundError, SagaService } from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';
import { Order } from './order.entity.js';
import type { PlaceOrderDto } from './place-order.dto.js';
import { type PlaceOrder, PlaceOrderSaga } from './place-order.saga.js';

/** An order as its customer sees it. */
export type OrderView = Pick<Order, 'id' | 'customerId' | 'amount' | 'status' | 'rejectedBecause'>;

@Injectable()
export class OrdersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sagas: SagaService,
  ) {}

  /**
   * Once this resolves the order cannot be lost. The same id again is the same order.
   * @throws SagaConflictError the id was used for another order
   */
  async place({ id: orderId = randomUUID(), customerId, amount, card }: PlaceOrderDto): Promise<OrderView> {
    const input: PlaceOrder = { orderId, customerId, amount, card: { ...card } };
    await this.sagas.start(PlaceOrderSaga, input, { correlationId: orderId });
    return this.get(orderId);
  }

  async get(id: string): Promise<OrderView> {
    const order = await this.dataSource.manager.findOneBy(Order, { id });
    return order ?? this.notWrittenYet(id);
  }

  /** Its saga is stored, and writes the order with its first step. */
  private async notWrittenYet(id: string): Promise<OrderView> {
    try {
      const { input } = await this.sagas.get({ saga: PlaceOrderSaga, correlationId: id });
      const { customerId, amount } = input;
      return { id, customerId, amount, status: 'pending', rejectedBecause: null };
    } catch (error) {
      if (error instanceof SagaNotFoundError) throw new NotFoundException(`There is no order ${id}`);
      throw error;
    }
  }
}
