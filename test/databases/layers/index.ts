import { DRIZZLE } from './drizzle.layer.js';
import { DRIZZLE_POSTGRES_JS } from './drizzle-postgres-js.layer.js';
import { KNEX } from './knex.layer.js';
import { KYSELY } from './kysely.layer.js';
import type { LayerSubject } from './layer.js';
import { MIKRO_ORM } from './mikro-orm.layer.js';
import { PG } from './pg.layer.js';
import { PRISMA } from './prisma.layer.js';
import { TYPEORM } from './typeorm.layer.js';

/** All layers that have an adapter. */
export const LAYERS: readonly LayerSubject[] = [
  TYPEORM,
  PG,
  DRIZZLE,
  DRIZZLE_POSTGRES_JS,
  KYSELY,
  KNEX,
  MIKRO_ORM,
  PRISMA,
];
