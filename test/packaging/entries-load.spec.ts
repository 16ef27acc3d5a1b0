import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { exports: entries } = JSON.parse(readFileSync(`${ROOT}/libs/saga/package.json`, 'utf8')) as {
  exports: Record<string, unknown>;
};
/** The entries, as an application imports them: one database layer each, and the others together. */
const SPECIFIERS = Object.keys(entries)
  .filter((entry) => !entry.endsWith('.json'))
  .map((entry) => entry.replace(/^\./, 'nestjs-durable-saga'));
const OF_LAYER = /\/(drizzle|kysely|knex|mikro-orm|prisma)$/;
const OTHERS = SPECIFIERS.filter((specifier) => !OF_LAYER.test(specifier));
/** Database layers. pg is not among them: it is a dependency of every application. */
const LAYERS = /node_modules\/((?:@nestjs\/)?typeorm|drizzle-orm|kysely|knex|@mikro-orm|@prisma)\//;

/** Writes each module that is imported to a file, before it is loaded. A pipe could be full. */
const HOOKS = `data:text/javascript,${encodeURIComponent(`
  import { appendFileSync } from 'node:fs';
  let file;
  export const initialize = (given) => { file = given; };
  export async function resolve(specifier, context, next) {
    const resolved = await next(specifier, context);
    appendFileSync(file, resolved.url + '\\n');
    return resolved;
  }`)}`;
const folder = mkdtempSync(join(tmpdir(), 'entries-'));
let runs = 0;
afterAll(() => rmSync(folder, { recursive: true }));

/** The database layers that a process loads for imports, as ES modules or as CommonJS. */
async function loadedBy(...specifiers: string[]): Promise<string[]> {
  const imported = join(folder, String(runs++));
  const program = `
    import { createRequire, register } from 'node:module';
    import 'reflect-metadata';
    register(${JSON.stringify(HOOKS)}, { data: ${JSON.stringify(imported)} });
    for (const specifier of ${JSON.stringify(specifiers)}) await import(specifier);
    const { cache } = createRequire(import.meta.url);
    console.log(Object.keys(cache).join('\\n'));`;
  const options = { cwd: ROOT, env: { ...process.env, NODE_OPTIONS: '' }, maxBuffer: 1e8 };
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], options);
  const loaded = `${readFileSync(imported, 'utf8')}\n${stdout}`;
  const files = loaded.split('\n').map((file) => LAYERS.exec(file.replaceAll('\\', '/'))?.[1]);
  return [...new Set(files.filter((layer) => layer !== undefined))].sort();
}

describe('a process that imports an entry of the built package', () => {
  test('is seen to load a layer', async () => {
    const packages = ['@nestjs/typeorm', 'drizzle-orm/node-postgres', 'knex', '@prisma/adapter-pg'];
    const seen = [['@nestjs/typeorm', 'typeorm'], ['drizzle-orm'], ['knex'], ['@prisma']];
    expect(await Promise.all(packages.map((name) => loadedBy(name)))).toEqual(seen);
  });

  test('loads no database layer for those that belong to none', async () => {
    expect(OTHERS).toContain('nestjs-durable-saga/pg');
    expect(await loadedBy(...OTHERS)).toEqual([]);
  });

  test.each(SPECIFIERS.filter((specifier) => OF_LAYER.test(specifier)))(
    'loads no other database layer for %s',
    async (specifier) => {
      const [, own] = OF_LAYER.exec(specifier)!;
      expect((await loadedBy(specifier)).filter((layer) => layer !== own)).toEqual([]);
    },
  );
});
