import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { specsOf } from './test/support/tiers.mjs';

const ROOT = fileURLToPath(new URL('.', import.meta.url)).replace(/\/$/, '');

/** The packages by their names are their sources, as for the compiler: a spec and what it imports have one copy of each. */
const { paths } = JSON.parse(readFileSync(`${ROOT}/tsconfig.json`, 'utf8')).compilerOptions;
const sources = Object.fromEntries(
  Object.entries(paths).map(([name, [file]]) => [`^${name}$`, file.replace('.', '<rootDir>')]),
);

const common = {
  rootDir: ROOT,
  testEnvironment: '<rootDir>/test/support/spec-environment.mjs',
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/test', '<rootDir>/docs'],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { ...sources, '^(\\.{1,2}/.*)\\.js$': '$1' },
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

const onPostgres = {
  globalSetup: '<rootDir>/test/support/start-postgres.mjs',
  globalTeardown: '<rootDir>/test/support/stop-postgres.mjs',
};

/** One project a tier: `--selectProjects unit database`. Without it, all tiers run. */
export default {
  projects: [
    { ...common, displayName: 'unit', testRegex: specsOf('unit', ROOT) },
    { ...common, ...onPostgres, displayName: 'database', testRegex: specsOf('database', ROOT) },
    { ...common, ...onPostgres, displayName: 'system', testRegex: specsOf('system', ROOT) },
    { ...common, ...onPostgres, displayName: 'slow', testRegex: specsOf('slow', ROOT) },
  ],
  testTimeout: 180_000,
  testSequencer: fileURLToPath(new URL('test/support/longest-first.mjs', import.meta.url)),
  // One more than there are processors, because many specs wait: for timers, servers and other processes.
  maxWorkers: Math.min(availableParallelism(), 7) + 1,
};
