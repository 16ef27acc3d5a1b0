import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Terminal } from '../terminal.js';
import { chooseLayer } from './layers.js';
import type { NestApp } from './nest-app.js';

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'saga-layer-'))));
afterEach(() => rmSync(root, { recursive: true }));

/** An application with these packages in its package.json, and this source. */
function appWith(packages: readonly string[], source = ''): NestApp {
  writeFileSync(join(root, 'main.ts'), source);
  return { root, sourceRoot: '.', otherSources: [], has: (name: string) => packages.includes(name) } as never;
}

const terminal = (more: Partial<Terminal> = {}) => ({ interactive: false, ...more }) as Terminal;

const chosen = async (app: NestApp, given?: string, at = terminal()) =>
  (await chooseLayer(app, given, at)).name;

describe('the database layer of an application', () => {
  test.each([
    ['typeorm', []],
    ['typeorm', ['@nestjs/typeorm', 'pg']],
    ['drizzle', ['drizzle-orm', 'pg']],
    ['kysely', ['kysely', 'pg']],
    ['knex', ['knex', 'pg']],
    ['mikro-orm', ['@mikro-orm/nestjs', 'pg']],
    ['prisma', ['@prisma/client', 'pg']],
    ['pg', ['pg']],
  ])('is %s with %j in its package.json', async (name, packages) => {
    expect(await chosen(appWith(packages))).toBe(name);
  });

  test('is the one whose adapter its sources import, before the packages are installed and beside others', async () => {
    const source = `import { knexDatabase } from 'nestjs-durable-saga/knex';`;
    expect(await chosen(appWith([], source))).toBe('knex');
    expect(await chosen(appWith(['kysely', 'drizzle-orm'], source))).toBe('knex');
  });

  test('is the one that --orm gives, whatever package.json has', async () => {
    expect(await chosen(appWith(['kysely']), 'drizzle')).toBe('drizzle');
  });

  test('has to be given if there are several, unless an operator can be asked', async () => {
    const app = appWith(['typeorm', 'knex']);
    await expect(chosen(app)).rejects.toThrow(
      'package.json has several database layers. Give the one that sagas are to use: --orm typeorm or --orm knex',
    );
    const ask = (answer: string) => terminal({ interactive: true, ask: () => Promise.resolve(answer) });
    expect(await chosen(app, undefined, ask('knex '))).toBe('knex');
    await expect(chosen(app, undefined, ask('drizzle'))).rejects.toThrow(
      `'drizzle' is not a database layer of this application; give typeorm or knex`,
    );
  });

  test('is refused if there is none of that name', async () => {
    await expect(chosen(appWith([]), 'drizle')).rejects.toThrow(
      `--orm 'drizle' is not a database layer; give typeorm, drizzle, kysely, knex, mikro-orm, prisma or pg. Did you mean 'drizzle'?`,
    );
  });
});
