import { SagaTransactionError } from '../../../errors.js';
import { shown } from '../../../shared/shown-value.js';

/** A database layer that this package has an entry for. */
interface Adapter {
  readonly layer: string;
  /** A sentence. */
  readonly fix: string;
}

interface NamedLayer {
  /** What was given, for a message that begins with "… is". */
  readonly what: string;
  readonly adapter?: Adapter;
}

const adapterOf = (layer: string, call: string, entry: string): Adapter => ({
  layer,
  fix: `For ${layer}, give forRoot({ database: ${call} }), with ${call.replace(/\(.*/, '')} of nestjs-durable-saga/${entry}.`,
});

export const DATA_SOURCE = 'a DataSource of TypeORM';
export const MANAGER = 'an EntityManager of TypeORM';
const TYPEORM: Adapter = {
  layer: 'TypeORM',
  fix: 'For TypeORM, remove the option database, or give the name of a DataSource as forRoot({ dataSource }).',
};
const PG = adapterOf('pg', 'pgDatabase(pool)', 'pg');
const DRIZZLE = adapterOf('Drizzle', 'drizzleDatabase(db)', 'drizzle');
const KYSELY = adapterOf('Kysely', 'kyselyDatabase(db, pool)', 'kysely');
const KNEX = adapterOf('Knex', 'knexDatabase(knex)', 'knex');
const MIKRO_ORM = adapterOf('MikroORM', 'mikroOrmDatabase(orm)', 'mikro-orm');
const PRISMA = adapterOf('Prisma', 'prismaDatabase(prisma)', 'prisma');
/** What Drizzle marks its classes with. */
const DRIZZLE_KIND = Symbol.for('drizzle:entityKind');

/** Returns what was given as a database or as a transaction, and the adapter that takes it. */
export function nameOfLayer(given: unknown): NamedLayer {
  try {
    return recognized(given) ?? { what: shown(given) };
  } catch {
    // A getter of a proxy threw.
    return { what: 'an unknown object' };
  }
}

/**
 * Returns the error for an object that is no transaction of the module's layer.
 * @param fix how the application opens a transaction
 */
export function wrongTransaction(given: unknown, layer: string, fix: string): SagaTransactionError {
  const { what, adapter } = nameOfLayer(given);
  const other = adapter === undefined || adapter.layer === layer ? '' : ` ${adapter.fix}`;
  return new SagaTransactionError(
    `The transaction that was given is ${what}, but the module uses the database of ${layer}.${other} ${fix}`,
  );
}

/** By what they have: there may be several copies of a package, and none of them is loaded for this. */
function recognized(given: unknown): NamedLayer | undefined {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null) return undefined;
  const has = (...names: string[]) => names.every((name) => name in given);
  if (has('getTransactionContext', 'isInTransaction')) {
    const isInside = (given as { isInTransaction(): boolean }).isInTransaction();
    const where = isInside ? 'in a transaction' : 'outside of a transaction';
    return { what: `an EntityManager of MikroORM ${where}`, adapter: MIKRO_ORM };
  }
  if (has('em', 'getMetadata')) return { what: 'a MikroORM', adapter: MIKRO_ORM };
  if (has('$queryRawUnsafe'))
    return { what: has('$connect') ? 'a PrismaClient' : 'a transaction of Prisma', adapter: PRISMA };
  if (has('createQueryRunner')) return { what: DATA_SOURCE, adapter: TYPEORM };
  if (has('getRepository', 'query')) return { what: MANAGER, adapter: TYPEORM };
  if (has('query', 'totalCount')) return { what: 'a Pool of pg', adapter: PG };
  if (has('query', 'getTypeParser')) return { what: 'a client of pg', adapter: PG };
  if (has('selectFrom', 'isTransaction')) {
    const { isTransaction } = given as { readonly isTransaction: unknown };
    return { what: isTransaction === true ? 'a transaction of Kysely' : 'a Kysely', adapter: KYSELY };
  }
  if (has('raw', 'queryBuilder', 'client')) {
    const { isTransaction } = given as { readonly isTransaction?: unknown };
    return { what: isTransaction === true ? 'a transaction of Knex' : 'a Knex', adapter: KNEX };
  }
  if (DRIZZLE_KIND in given.constructor)
    return { what: has('rollback') ? 'a transaction of Drizzle' : 'a database of Drizzle', adapter: DRIZZLE };
  // Not its properties, which may be secret.
  return { what: `an object of the class ${nameOfClass(given)}` };
}

function nameOfClass(given: object): string {
  const { constructor } = given as { readonly constructor?: { readonly name?: unknown } };
  return typeof constructor?.name === 'string' && constructor.name !== '' ? constructor.name : 'Object';
}
