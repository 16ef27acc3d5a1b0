import { type EntityManager, EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { mikroOrmDatabase } from 'nestjs-durable-saga/mikro-orm';
import type { Pool } from 'pg';
import type { Layer } from './layer.js';

interface Booking {
  what: string;
}

const BOOKING = new EntitySchema<Booking>({
  name: 'Booking',
  tableName: 'booking',
  properties: { what: { type: 'text', primary: true } },
});

export async function mikroOrmLayer(url: string): Promise<Layer<EntityManager>> {
  const orm = await MikroORM.init({
    ...{ clientUrl: url, entities: [BOOKING] },
    schemaGenerator: { ignoreSchema: ['saga'] },
  });
  return {
    database: mikroOrmDatabase(orm, await poolOf(orm)),
    transaction: (work) => orm.em.fork().transactional(work),
    // It is sent when MikroORM flushes.
    book: (em, what) => em.persist(em.create(BOOKING, { what })).flush(),
    close: () => orm.close(),
  };
}

/** MikroORM 7 does not show its pool at once, and 6 has no such method. */
function poolOf(orm: MikroORM): Promise<Pool> | undefined {
  const connection = orm.em.getConnection() as { getNativeClient?(): Promise<Pool> };
  return connection.getNativeClient?.();
}
