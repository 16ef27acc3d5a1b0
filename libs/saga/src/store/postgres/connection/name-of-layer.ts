import { SagaConfigurationError, SagaTransactionError } from '../../../errors.js';
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

/** How an object of a layer is recognized: there may be several copies of a package, and none of them is loaded for this. */
interface Shape {
  readonly has: readonly string[];
  readonly what: string | ((given: never) => string);
  readonly adapter: Adapter;
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

const orTransaction = (layer: string) => (given: { readonly isTransaction?: unknown }) =>
  given.isTransaction === true ? `a transaction of ${layer}` : `a ${layer}`;
const managerOfMikroOrm = (em: { isInTransaction(): boolean }) =>
  `an EntityManager of MikroORM ${em.isInTransaction() ? 'in' : 'outside of'} a transaction`;

/** The first that fits is it. */
const SHAPES: readonly Shape[] = [
  { has: ['getTransactionContext', 'isInTransaction'], what: managerOfMikroOrm, adapter: MIKRO_ORM },
  { has: ['em', 'getMetadata'], what: 'a MikroORM', adapter: MIKRO_ORM },
  { has: ['$queryRawUnsafe', '$connect'], what: 'a PrismaClient', adapter: PRISMA },
  { has: ['$queryRawUnsafe'], what: 'a transaction of Prisma', adapter: PRISMA },
  { has: ['createQueryRunner'], what: DATA_SOURCE, adapter: TYPEORM },
  { has: ['getRepository', 'query'], what: MANAGER, adapter: TYPEORM },
  { has: ['query', 'totalCount'], what: 'a Pool of pg', adapter: PG },
  { has: ['query', 'getTypeParser'], what: 'a client of pg', adapter: PG },
  { has: ['selectFrom', 'isTransaction'], what: orTransaction('Kysely'), adapter: KYSELY },
  { has: ['raw', 'queryBuilder', 'client'], what: orTransaction('Knex'), adapter: KNEX },
];

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
  return new SagaTransactionError(
    `The transaction that was given is ${what}, but the module uses the database of ${layer}.${elsewhere(adapter, layer)} ${fix}`,
  );
}

/**
 * Returns the error for an argument of an adapter's function that is not what it has to be.
 * @param call the function
 * @param layer the layer of the adapter
 * @param fix what to give instead
 */
export function wrongArgument(
  call: string,
  layer: string,
  parameter: string,
  given: unknown,
  fix: string,
): SagaConfigurationError {
  const { what, adapter } = nameOfLayer(given);
  return new SagaConfigurationError(
    `${call}(): ${parameter} is ${what}; ${fix}.${elsewhere(adapter, layer)}`,
  );
}

/** A sentence with the adapter for an object of another layer. */
function elsewhere(adapter: Adapter | undefined, layer: string): string {
  return adapter === undefined || adapter.layer === layer ? '' : ` ${adapter.fix}`;
}

function recognized(given: unknown): NamedLayer | undefined {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null) return undefined;
  const shape = SHAPES.find(({ has }) => has.every((name) => name in given));
  if (shape) {
    const { what, adapter } = shape;
    return { what: typeof what === 'string' ? what : what(given as never), adapter };
  }
  if (DRIZZLE_KIND in given.constructor)
    return {
      what: 'rollback' in given ? 'a transaction of Drizzle' : 'a database of Drizzle',
      adapter: DRIZZLE,
    };
  // Not its properties, which may be secret.
  return { what: `an object of the class ${nameOfClass(given)}` };
}

function nameOfClass(given: object): string {
  const { constructor } = given as { readonly constructor?: { readonly name?: unknown } };
  return typeof constructor?.name === 'string' && constructor.name !== '' ? constructor.name : 'Object';
}
