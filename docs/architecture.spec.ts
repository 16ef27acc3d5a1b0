import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { declares, missingCode, parsed, stepsOf, uncalledCode } from './saga-path.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SRC = join(ROOT, 'libs/saga/src');
const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');

/** The parts of the repository that the page names files of. */
const FILES = [
  ...readdirSync(ROOT),
  ...['libs', 'apps', 'test', 'docs', 'scripts'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => !/\/(node_modules|dist)\//.test(path)),
  ),
];

function readSource(file: string): string | undefined {
  const path = join(SRC, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

describe('the path of a saga', () => {
  const [, section = ''] = PAGE.split('## The path of a saga');
  const steps = stepsOf(section.split('\n\n', 3)[2]!);

  test('has steps, each of which names code from the start of a saga to its outcome', () => {
    expect(steps.length).toBeGreaterThan(8);
    expect(steps.filter((step) => step.length === 0)).toEqual([]);
    expect(steps.at(0)!.at(0)!.name).toBe('SagaService.start');
    expect(steps.at(-1)!.at(-1)!.name).toBe('OutcomeWaiters.settled');
  });

  test('names functions that its files have', () => {
    expect(missingCode(steps, readSource)).toEqual([]);
  });

  test('names functions that are called by a file of the same step or of the step before', () => {
    expect(uncalledCode(steps, readSource)).toEqual([]);
  });
});

describe('the check of such a path', () => {
  const steps = stepsOf(
    '1. `Orders.take` (`orders.ts`) calls `priceOf` (`price.ts`).\n2. `Shelf.pick` (`shelf.ts`) picks it.',
  );
  const sources: Record<string, string> = {
    'orders.ts': 'export class Orders { take() { return priceOf(this.shelf.pick()); } }',
    'price.ts': 'export const priceOf = () => 1;',
    'shelf.ts': 'export class Shelf { async pick() {} }',
  };
  const problems = (changed: Record<string, string | undefined>) => {
    const read = (file: string) => ({ ...sources, ...changed })[file];
    return { missing: missingCode(steps, read), uncalled: uncalledCode(steps, read) };
  };

  test('accepts code that is there and is called', () => {
    expect(problems({})).toEqual({ missing: [], uncalled: [] });
  });

  test.each<[string, Record<string, string | undefined>]>([
    ['a file that is gone', { 'shelf.ts': undefined }],
    ['a method that was renamed', { 'shelf.ts': 'export class Shelf { fetch() {} }' }],
    ['a method that is another class’s', { 'shelf.ts': 'class Shelf {} export class Box { pick() {} }' }],
    ['a method that is only called', { 'shelf.ts': 'export class Shelf { run() { this.pick(); } }' }],
  ])('reports %s', (_, changed) => {
    expect(problems(changed).missing).toEqual(['Shelf.pick (shelf.ts)']);
  });

  test.each<[string, Record<string, string>]>([
    ['is called no more', { 'orders.ts': 'export class Orders { take() { return this.shelf.pick(); } }' }],
    [
      'is imported only',
      {
        'orders.ts': `import { priceOf } from './price.js'; export class Orders { take() { this.shelf.pick(); } }`,
      },
    ],
  ])('reports a function that %s', (_, changed) => {
    expect(problems(changed).uncalled).toEqual(['priceOf (price.ts)']);
  });
});

describe('the page', () => {
  test('names files that the repository has', () => {
    const named = [...PAGE.matchAll(/`([\w./-]+\.(?:ts|js|mjs|cts|html))`/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(150);
    expect(named.filter((name) => !FILES.some((file) => `/${file}`.endsWith(`/${name}`)))).toEqual([]);
  });

  test('names functions of the database that its schema has', () => {
    const folder = join(SRC, 'store/postgres/schema');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const sql = files
      .filter((name) => name.endsWith('.sql'))
      .map((name) => readFileSync(join(folder, name), 'utf8'));
    const named = [...new Set([...PAGE.matchAll(/`saga\.(\w+)\(\)`/g)].map(([, name]) => name!))];
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !sql.some((text) => text.includes(`FUNCTION saga.${name}(`)))).toEqual([]);
  });

  test('names methods that a class or an interface of the library has', () => {
    const named = [...PAGE.matchAll(/`([A-Z]\w+\.[a-z]\w*)`/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(30);
    const sources = FILES.filter((file) => /^libs\/[a-z]+\/src\/.*(?<!\.spec)\.ts$/.test(file)).map(
      (file) => ({
        file,
        text: readFileSync(join(ROOT, file), 'utf8'),
      }),
    );
    const isThere = (name: string) =>
      sources.some(
        ({ file, text }) =>
          new RegExp(`(?:class|interface) ${name.split('.', 1)[0]}\\b`).test(text) &&
          declares(parsed(basename(file), text), name),
      );
    expect([...new Set(named)].filter((name) => !isThere(name))).toEqual([]);
  });
});
