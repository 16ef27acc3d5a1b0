import { POSTGRES_SCRIPT } from './nest-app.js';

export type Json = Record<string, unknown>;

/** A file of JSON with changes in it, in its own indentation; the same text when there are none. */
export function editedJson(text: string, edits: readonly ((json: Json) => boolean)[]): string {
  const json = JSON.parse(text) as Json;
  // Each, not only until the first that changes something.
  const changed = edits.map((edit) => edit(json)).includes(true);
  if (!changed) return text;
  const [, indent = '  '] = /^{\r?\n([ \t]+)/.exec(text) ?? [];
  return JSON.stringify(json, null, indent) + (text.endsWith('\n') ? '\n' : '');
}

/** `npm run postgres`, unless the application has a script of that name. */
export function withPostgresScript(json: Json): boolean {
  const scripts = (json.scripts ??= {}) as Record<string, string>;
  if (scripts.postgres !== undefined) return false;
  scripts.postgres = POSTGRES_SCRIPT;
  return true;
}

/** As Nest 11 generates it. */
const GENERATED = '^.+\\.(t|j)s$';
/** The last `node_modules` of a path counts: pnpm has others before it. */
const OURS = '/node_modules/(?!(?:.*/node_modules/)?(?:nestjs-durable-saga[^/]*|uuid)/)';
const TSCONFIG = { allowJs: true, module: 'commonjs', moduleResolution: 'node10', target: 'es2022' };
const TRANSFORM = {
  '^.+\\.ts$': 'ts-jest',
  '^.+\\.js$': ['ts-jest', { isolatedModules: true, tsconfig: TSCONFIG }],
};

/** For who has to add it manually. */
export const JEST_LINES: readonly string[] = [
  `"transform": ${JSON.stringify(TRANSFORM)},`,
  `"transformIgnorePatterns": ${JSON.stringify([OURS])},`,
];

interface JestConfig {
  transform?: Json;
  transformIgnorePatterns?: unknown[];
}

/**
 * Jest, as Nest 11 sets it up, cannot load ES modules: ts-jest makes CommonJS of those of our packages. Only of a
 * configuration as it was generated; any other is its owner's.
 */
export function withJestTransform(given: unknown): boolean {
  if (!isGenerated(given)) return false;
  given.transform = TRANSFORM;
  given.transformIgnorePatterns = [OURS];
  return true;
}

/** Whether the configuration is neither as it was generated, nor as `init` leaves it. */
export function needsManualJestConfig(given: unknown): boolean {
  const { transformIgnorePatterns } = (given ?? {}) as JestConfig;
  return !isGenerated(given) && transformIgnorePatterns?.includes(OURS) !== true;
}

function isGenerated(given: unknown): given is JestConfig {
  if (typeof given !== 'object' || given === null) return false;
  const { transform, transformIgnorePatterns } = given as JestConfig;
  const isTsJest = Object.keys(transform ?? {}).join() === GENERATED && transform?.[GENERATED] === 'ts-jest';
  return isTsJest && transformIgnorePatterns === undefined;
}
