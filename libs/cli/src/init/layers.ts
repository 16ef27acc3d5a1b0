import { nearestName } from 'nestjs-durable-saga/internal';
import { UsageError } from '../command.js';
import type { Terminal } from '../terminal.js';
import { type DatabaseParts, DRIZZLE_PARTS, KNEX_PARTS, KYSELY_PARTS, PG_PARTS } from './layer-parts.js';
import { isInSources, type NestApp } from './nest-app.js';
import { prismaParts } from './prisma-parts.js';

/** A database layer that `saga init` sets up. */
export interface Layer {
  /** The value of `--orm`. */
  readonly name: string;
  /** The name of the layer in messages. */
  readonly title: string;
  /** A package.json that has one of these uses the layer. */
  readonly packages: readonly string[];
  /** Finds the code that connects the layer. */
  readonly connection: RegExp;
  /** The packages that an application needs, and their versions. */
  readonly needs: (app: NestApp) => Readonly<Record<string, string>>;
  /** The packages for development. */
  readonly development: readonly string[];
  /**
   * Returns what is written to connect it. Undefined: `TypeOrmModule.forRoot()` connects it.
   * @param extension of relative imports
   */
  readonly partsOf?: (app: NestApp, extension: '.js' | '') => DatabaseParts;
}

export const TYPEORM: Layer = {
  ...{ name: 'typeorm', title: 'TypeORM', packages: ['@nestjs/typeorm', 'typeorm'], development: [] },
  connection: /\bTypeOrmModule\s*\.forRoot(Async)?\(/,
  // Another major of @nestjs/typeorm requires another Nest.
  needs: (app) => ({ '@nestjs/typeorm': String(app.nestMajor), typeorm: typeOrmVersion(app), pg: '8' }),
};

/** TypeORM 1 requires ts-node 10.9.2 beside it, and Nx pins 10.9.1: npm would end with ERESOLVE. */
function typeOrmVersion(app: NestApp): string {
  return /^(\d\.|10\.([0-8]\.|9\.[01]$))/.test(app.installed('ts-node') ?? '') ? '0.3' : '1';
}

export const PG: Layer = {
  ...{ name: 'pg', title: 'pg', packages: ['pg'], development: ['@types/pg'], partsOf: () => PG_PARTS },
  connection: /\bnew\s+(\w+\.)?Pool\s*\(/,
  needs: () => ({ pg: '8' }),
};

/** To add one: its parts in layer-parts.ts, and an entry here. Those over pg stand before it. */
export const LAYERS: readonly Layer[] = [
  TYPEORM,
  {
    ...{ name: 'drizzle', title: 'Drizzle', packages: ['drizzle-orm'], development: ['@types/pg'] },
    connection: /\bdrizzle\s*\(|\bDrizzle\w*Module\s*\.(forRoot|register)/,
    needs: () => ({ 'drizzle-orm': '0.45', pg: '8' }),
    partsOf: () => DRIZZLE_PARTS,
  },
  {
    ...{ name: 'kysely', title: 'Kysely', packages: ['kysely'], development: ['@types/pg'] },
    connection: /\bnew\s+Kysely\b|\bKyselyModule\s*\.(forRoot|register)/,
    needs: () => ({ kysely: '0.29', pg: '8' }),
    partsOf: () => KYSELY_PARTS,
  },
  {
    ...{ name: 'knex', title: 'Knex', packages: ['knex'], development: [] },
    connection: /\b[kK]nex\s*\(|\bKnexModule\s*\.(forRoot|register)/,
    needs: () => ({ knex: '3', pg: '8' }),
    partsOf: () => KNEX_PARTS,
  },
  {
    ...{ name: 'mikro-orm', title: 'MikroORM', development: ['@types/pg'], partsOf: mikroOrmParts },
    packages: ['@mikro-orm/postgresql', '@mikro-orm/nestjs', '@mikro-orm/core'],
    connection: /\bMikroORM\s*\.init(Sync)?\s*\(|\bnew\s+MikroORM\b|\bMikroOrmModule\s*\.forRoot/,
    needs: (app) => {
      const major = String(mikroOrmMajor(app));
      return { '@mikro-orm/core': major, '@mikro-orm/postgresql': major, pg: '8' };
    },
  },
  {
    ...{ name: 'prisma', title: 'Prisma', packages: ['@prisma/client', 'prisma'], partsOf: prismaParts },
    development: ['prisma@7', '@types/pg'],
    connection: /\bnew\s+PrismaClient\b|\bextends\s+PrismaClient\b|\bPrismaModule\s*\.forRoot/,
    needs: () => ({ '@prisma/client': '7', '@prisma/adapter-pg': '7', pg: '8' }),
  },
  PG,
];

export const LAYER_NAMES: readonly string[] = LAYERS.map(({ name }) => name);

/**
 * The layers that the application may use, the likely one first. The one whose adapter its sources import decides.
 * Otherwise those of its package.json do; pg belongs to the other one. Without any, it is TypeORM.
 */
export function layersOf(app: NestApp): readonly Layer[] {
  const adapted = LAYERS.find(({ name }) =>
    isInSources(app, new RegExp(`['"]nestjs-durable-saga/${name}['"]`)),
  );
  if (adapted) return [adapted];
  const named = LAYERS.filter((layer) => layer.packages.some((one) => app.has(one)));
  const others = named.filter((layer) => layer !== PG);
  if (others.length > 0) return others;
  return named.length > 0 ? named : [TYPEORM];
}

/**
 * Returns the database layer of the sagas: the one that was given, or the one that the application uses. If it uses
 * several, the operator is asked.
 * @throws UsageError for an unknown layer, or for several without a terminal to ask in
 */
export async function chooseLayer(
  app: NestApp,
  given: string | undefined,
  terminal: Terminal,
): Promise<Layer> {
  if (given !== undefined)
    return layerNamed(given, LAYERS) ?? refuse(`--orm '${given}' is not a database layer`, LAYERS);
  const used = layersOf(app);
  if (used.length === 1) return used[0]!;
  const several = 'package.json has several database layers.';
  if (!terminal.interactive)
    throw new UsageError(
      `${several} Give the one that sagas are to use: ${used.map(({ name }) => `--orm ${name}`).join(' or ')}`,
    );
  const answer = (await terminal.ask(`${several} Which one are sagas to use: ${listed(used)}? `)).trim();
  return layerNamed(answer, used) ?? refuse(`'${answer}' is not a database layer of this application`, used);
}

const layerNamed = (name: string, among: readonly Layer[]) => among.find((one) => one.name === name);

function refuse(problem: string, among: readonly Layer[]): never {
  const [, name = ''] = /'(.*)'/.exec(problem) ?? [];
  const nearest = nearestName(
    name,
    among.map((one) => one.name),
  );
  const meant = nearest === undefined ? '' : `. Did you mean '${nearest}'?`;
  throw new UsageError(`${problem}; give ${listed(among)}${meant}`);
}

/** `typeorm, drizzle or pg` */
function listed(layers: readonly Layer[]): string {
  const names = layers.map(({ name }) => name);
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

/** The first version of Node that MikroORM 7 runs on. */
const NODE_OF_7 = [22, 17] as const;

/** The major version of MikroORM that is installed, or that is to be installed. */
export function mikroOrmMajor(app: NestApp): number {
  const installed = app.installed('@mikro-orm/core');
  if (installed !== undefined) return Number.parseInt(installed, 10);
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > NODE_OF_7[0] || (major === NODE_OF_7[0] && minor >= NODE_OF_7[1]) ? 7 : 6;
}

/** MikroORM 7 does not show its pool at once. */
const POOL_OF_7 = `db.em.getConnection().getNativeClient()`;

export function mikroOrmParts(app: NestApp): DatabaseParts {
  return {
    imports: [
      ['{ type EntityManager, MikroORM }', '@mikro-orm/postgresql'],
      ['{ mikroOrmDatabase }', 'nestjs-durable-saga/mikro-orm'],
    ],
    ...{ database: 'MikroORM', transaction: 'EntityManager', connectsLater: true },
    connect: `MikroORM.init({
    clientUrl: url,
    // The entities of the application.
    entities: [],
    discovery: { warnWhenNoEntities: false },
    // MikroORM's schema tools would drop the tables of sagas.
    schemaGenerator: { ignoreSchema: ['saga'] },
  })`,
    adapter: mikroOrmMajor(app) < 7 ? 'mikroOrmDatabase(db)' : `mikroOrmDatabase(db, await ${POOL_OF_7})`,
    end: 'this.db.close()',
  };
}
