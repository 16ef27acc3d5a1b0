import { drizzlePostgresJsLayer } from './layer-drizzle-postgres-js.js';
import { drizzleLayer } from './layer-drizzle.js';
import { knexLayer } from './layer-knex.js';
import { kyselyLayer } from './layer-kysely.js';
import { mikroOrmLayer } from './layer-mikro-orm.js';
import { pgLayer } from './layer-pg.js';
import { prismaLayer } from './layer-prisma.js';
import { tryLayers } from './try-layers.js';

/** The database layers that need no TypeORM. To add one: its file, and an entry here. */
void tryLayers({
  ...{
    pg: pgLayer,
    'drizzle-orm': drizzleLayer,
    postgres: drizzlePostgresJsLayer,
    kysely: kyselyLayer,
    knex: knexLayer,
  },
  ...{ '@mikro-orm/core': mikroOrmLayer, '@prisma/client': prismaLayer },
});
