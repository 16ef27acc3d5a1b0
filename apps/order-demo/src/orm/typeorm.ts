import type { DataSource, EntityManager } from 'typeorm';
import { Order } from '../orders/order.entity.js';
import { insertFirst } from '../participant/insert-first.js';
import { type NewOrder, type OrderChange, OrderStore, type Orm } from './orm.js';

/** Sagas and orders use the DataSource of the application, as the participants do. */
export function openTypeOrm(dataSource: DataSource): Orm<EntityManager> {
  return { orders: new TypeOrmOrders(dataSource), close: () => Promise.resolve() };
}

class TypeOrmOrders extends OrderStore<EntityManager> {
  constructor(private readonly dataSource: DataSource) {
    super();
  }

  async place(order: NewOrder, start: (transaction: EntityManager) => Promise<unknown>): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      if (await insertFirst(manager, Order, order)) await start(manager);
    });
  }

  async change(manager: EntityManager, id: string, change: OrderChange): Promise<void> {
    await manager.update(Order, { id }, change);
  }
}
