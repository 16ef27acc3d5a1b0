import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { DatabaseServer } from 'demo-support';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { DatabaseServerModule } from '../database/database-server.module.js';
import { readEnvironment } from '../environment.js';
import { OrderStore, type Orm, type OrmName } from './orm.js';

export const ORM = Symbol('ORM');

type Open = (url: string, dataSource: DataSource) => Promise<Orm>;

const poolAt = (url: string) => new Pool({ connectionString: url, application_name: 'order-demo' });

/** How each layer is opened. Only the chosen one is loaded. */
const OPEN: Readonly<Record<OrmName, Open>> = {
  typeorm: async (_, dataSource) => (await import('./typeorm.js')).openTypeOrm(dataSource),
  drizzle: async (url) => (await import('./drizzle.js')).openDrizzle(poolAt(url)),
  kysely: async (url) => (await import('./kysely.js')).openKysely(poolAt(url)),
  knex: async (url) => (await import('./knex.js')).openKnex(url),
  'mikro-orm': async (url) => (await import('./mikro-orm.js')).openMikroOrm(url),
  prisma: async (url) => (await import('./prisma.js')).openPrisma(poolAt(url)),
  pg: async (url) => (await import('./pg.js')).openPg(poolAt(url)),
};

/**
 * The database layer of orders and their sagas: `npm run demo -- --orm=drizzle`. The participants keep their tables with
 * TypeORM. The DataSource is injected for every layer, because it creates the table of orders.
 */
@Module({
  imports: [DatabaseServerModule],
  providers: [
    {
      provide: ORM,
      inject: [DatabaseServer, DataSource],
      useFactory: ({ url }: DatabaseServer, dataSource: DataSource) =>
        OPEN[readEnvironment().orm](url, dataSource),
    },
    { provide: OrderStore, inject: [ORM], useFactory: ({ orders }: Orm) => orders },
  ],
  exports: [ORM, OrderStore],
})
export class OrmModule implements OnApplicationShutdown {
  constructor(@Inject(ORM) private readonly orm: Orm) {}

  /** Ends the connections. Sagas have stopped by then. */
  async onApplicationShutdown(): Promise<void> {
    await this.orm.close();
  }
}
