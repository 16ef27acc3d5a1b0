import { type DatabaseParts, DRIZZLE_PARTS, KNEX_PARTS, KYSELY_PARTS, PG_PARTS } from './layer-parts.js';
import { isInSources, type NestApp } from './nest-app.js';

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
  /** The packages that an application needs, and their versions for a major version of Nest. */
  readonly needs: (nestMajor: number) => Readonly<Record<string, string>>;
  /** The packages for development. */
  readonly development: readonly string[];
  /** What is written to connect it. Undefined: `TypeOrmModule.forRoot()` connects it. */
  readonly parts?: DatabaseParts;
}

export const TYPEORM: Layer = {
  ...{ name: 'typeorm', title: 'TypeORM', packages: ['@nestjs/typeorm', 'typeorm'], development: [] },
  connection: /\bTypeOrmModule\s*\.forRoot(Async)?\(/,
  // Another major of @nestjs/typeorm requires another Nest.
  needs: (nestMajor) => ({ '@nestjs/typeorm': String(nestMajor), typeorm: '1', pg: '8' }),
};

export const PG: Layer = {
  ...{ name: 'pg', title: 'pg', packages: ['pg'], development: ['@types/pg'], parts: PG_PARTS },
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
    parts: DRIZZLE_PARTS,
  },
  {
    ...{ name: 'kysely', title: 'Kysely', packages: ['kysely'], development: ['@types/pg'] },
    connection: /\bnew\s+Kysely\b|\bKyselyModule\s*\.(forRoot|register)/,
    needs: () => ({ kysely: '0.29', pg: '8' }),
    parts: KYSELY_PARTS,
  },
  {
    ...{ name: 'knex', title: 'Knex', packages: ['knex'], development: [] },
    connection: /\b[kK]nex\s*\(|\bKnexModule\s*\.(forRoot|register)/,
    needs: () => ({ knex: '3', pg: '8' }),
    parts: KNEX_PARTS,
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
