import { type DatabaseParts, DRIZZLE_PARTS, KNEX_PARTS, KYSELY_PARTS, PG_PARTS } from './layer-parts.js';
import { mikroOrmMajor, mikroOrmParts } from './mikro-orm-parts.js';
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
  needs: ({ nestMajor }) => ({ '@nestjs/typeorm': String(nestMajor), typeorm: '1', pg: '8' }),
};

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
