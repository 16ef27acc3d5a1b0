import { type EntityManager, EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { mikroOrmDatabase } from 'nestjs-durable-saga/mikro-orm';
import { DEMO_SCHEMA } from '../database/schema.js';
import type { PlaceOrderDto } from '../orders/place-order.dto.js';
import { type NewOrder, type OrderChange, OrderStore, type Orm } from './orm.js';

interface OrderRow {
  id: string;
  idempotencyKey?: string;
  request: PlaceOrderDto;
  amount: number;
  status: string;
  cancelledBecause?: string;
  trackingNumber?: string;
  updatedAt: Date;
}

const ORDER = new EntitySchema<OrderRow>({
  name: 'Order',
  tableName: 'order',
  schema: DEMO_SCHEMA,
  properties: {
    id: { type: 'uuid', primary: true },
    idempotencyKey: { type: 'text', nullable: true, unique: true },
    request: { type: 'json' },
    amount: { type: 'integer' },
    status: { type: 'text' },
    cancelledBecause: { type: 'text', nullable: true },
    trackingNumber: { type: 'uuid', nullable: true },
    updatedAt: { type: 'Date', onUpdate: () => new Date() },
  },
});

export async function openMikroOrm(url: string): Promise<Orm<EntityManager>> {
  const orm = await MikroORM.init({
    ...{ clientUrl: url, entities: [ORDER] },
    schemaGenerator: { ignoreSchema: ['saga'] },
  });
  return { database: mikroOrmDatabase(orm), orders: new MikroOrmOrders(orm), close: () => orm.close() };
}

class MikroOrmOrders extends OrderStore<EntityManager> {
  constructor(private readonly orm: MikroORM) {
    super();
  }

  async place(order: NewOrder, start: (transaction: EntityManager) => Promise<unknown>): Promise<void> {
    await this.orm.em.fork().transactional(async (em) => {
      const insert = em.createQueryBuilder(ORDER).insert({ ...order, updatedAt: new Date() });
      const inserted: { affectedRows: number } = await insert.onConflict().ignore().execute('run');
      if (inserted.affectedRows > 0) await start(em);
    });
  }

  /** The change is sent when the step has ended: MikroORM flushes then. */
  async change(em: EntityManager, id: string, change: OrderChange): Promise<void> {
    em.assign(await em.findOneOrFail(ORDER, { id }), change, { ignoreUndefined: true });
  }
}
