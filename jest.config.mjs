import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { specsOf } from './test/support/tiers.mjs';

const ROOT = fileURLToPath(new URL('.', import.meta.url)).replace(/\/$/, '');

const common = {
  rootDir: ROOT,
  testEnvironment: '<rootDir>/test/support/spec-environment.mjs',
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/test', '<rootDir>/docs'],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        module: { type: 'es6' },
      },
    ],
  },
};

/** The package by its name is its sources, so that the specs need no build. */
const sources = {
  '^nestjs-durable-saga$': '<rootDir>/libs/saga/src/index.ts',
  '^nestjs-durable-saga/(admin|declared|messaging|telemetry|testing)$': '<rootDir>/libs/saga/src/$1/index.ts',
  '^nestjs-durable-saga/(pg|drizzle|kysely|knex)$': '<rootDir>/libs/saga/src/databases/$1/index.ts',
};

const onPostgres = {
  globalSetup: '<rootDir>/test/support/start-postgres.mjs',
  globalTeardown: '<rootDir>/test/support/stop-postgres.mjs',
};

/** One project a tier: `--selectProjects unit database`. Without it, all tiers run. */
export default {
  projects: [
    {
      ...common,
      displayName: 'unit',
      testRegex: specsOf('unit', ROOT),
      moduleNameMapper: { ...sources, ...common.moduleNameMapper },
    },
    { ...common, ...onPostgres, displayName: 'database', testRegex: specsOf('database', ROOT) },
    { ...common, ...onPostgres, displayName: 'system', testRegex: specsOf('system', ROOT) },
    { ...common, ...onPostgres, displayName: 'slow', testRegex: specsOf('slow', ROOT) },
  ],
  testTimeout: 180_000,
  testSequencer: fileURLToPath(new URL('test/support/longest-first.mjs', import.meta.url)),
  // One more than there are processors, because many specs wait: for timers, servers and other processes.
  maxWorkers: Math.min(availableParallelism(), 7) + 1,
};
