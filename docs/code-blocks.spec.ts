import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import ts from 'typescript';
import { DataSource } from 'typeorm';
import { sagaMigrations } from 'nestjs-durable-saga';
import { prismaClientOf } from '../test/support/prisma-client.js';
import { createTestDatabase } from '../test/support/test-database.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCS = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .map((name) => `docs/${name.replaceAll('\\', '/')}`)
  // Made from the sources, by who wants it.
  .filter((name) => name.endsWith('.md') && !name.startsWith('docs/reference/'));
const PAGES = ['README.md', 'CONTRIBUTING.md', 'bench/README.md', ...DOCS];
/** Their blocks are parts of modules that are compiled and run: shown-code.spec.ts. */
const SHOWS_MODULES = /^docs\/(recipes|migrating)\//;

/** Where the page of Prisma has its client, and where it is. */
const PRISMA_CLIENT = { shown: join(ROOT, 'generated/prisma/'), made: '' };

describe('what the documentation shows', () => {
  beforeAll(async () => {
    const [schema] = blocksOf('docs/databases/prisma.md', 'prisma');
    const made = await prismaClientOf(schema!.replace('"../generated/prisma"', '"client"'));
    PRISMA_CLIENT.made = `${made}/`;
  }, 60_000);

  test.each(PAGES.filter((page) => !SHOWS_MODULES.test(page) && blocksOf(page, 'ts').length > 0))(
    '%s compiles',
    (page) => {
      // The blocks of a page are one module: later ones may use what earlier ones declare.
      const source = blocksOf(page, 'ts').join('\n');
      expect(compile(join(ROOT, 'docs', `${page.replace(/\W/g, '_')}.ts`), source)).toEqual([]);
    },
    60_000,
  );

  test('is SQL that the tables understand', async () => {
    const database = await createTestDatabase();
    const dataSource = await new DataSource({
      type: 'postgres',
      url: database.url,
      migrations: sagaMigrations(),
    }).initialize();
    await dataSource.runMigrations();
    await dataSource.destroy();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    for (const statement of PAGES.flatMap((page) => blocksOf(page, 'sql'))) await client.query(statement);
    await client.end();
    await database.drop();
  });

  test('is JSON that can be read', () => {
    for (const block of PAGES.flatMap((page) => blocksOf(page, 'json')))
      expect(() => void JSON.parse(block)).not.toThrow();
  });

  test('links to files, and headings in them, that are there', () => {
    const broken = PAGES.flatMap((page) =>
      linksOf(page)
        .filter(({ file, heading }) => !isThere(file) || (heading !== undefined && !has(file, heading)))
        .map(({ text }) => `${page} → ${text}`),
    );
    expect(broken).toEqual([]);
  });
});

function blocksOf(page: string, language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm');
  return [...readFileSync(join(ROOT, page), 'utf8').matchAll(pattern)].map(([, block]) => block!);
}

/** The links of a page to others, and to places in itself. */
function linksOf(page: string): { text: string; file: string; heading?: string }[] {
  const prose = readFileSync(join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].map(([, target, heading]) => ({
    text: `${target}${heading === undefined ? '' : `#${heading}`}`,
    file: target === '' ? join(ROOT, page) : join(ROOT, dirname(page), target!),
    heading,
  }));
}

function isThere(file: string): boolean {
  return ts.sys.fileExists(file) || ts.sys.directoryExists(file);
}

/** Does the page have a heading of this anchor, as GitHub makes them? */
function has(file: string, anchor: string): boolean {
  const prose = readFileSync(file, 'utf8').replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/^#+ (.+)$/gm)]
    .map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    )
    .includes(anchor);
}

/** Declarations that the pages share, each parsed once. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/** The compiler's complaints about a module that exists only in memory. */
function compile(path: string, source: string): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, types: ['node'] }, ROOT);
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists } = host;
  const getSourceFile = host.getSourceFile.bind(host);
  const made = (name: string) => name.replace(PRISMA_CLIENT.shown, PRISMA_CLIENT.made);
  host.directoryExists = (name) => ts.sys.directoryExists(made(`${name}/`));
  host.fileExists = (name) => name === path || fileExists.call(host, made(name));
  host.readFile = (name) => (name === path ? source : readFile.call(host, made(name)));
  host.getSourceFile = (name, language, ...rest) => {
    if (name === path) return ts.createSourceFile(name, source, language);
    if (!parsed.has(name)) parsed.set(name, getSourceFile(made(name), language, ...rest));
    return parsed.get(name);
  };
  const program = ts.createProgram([path], { ...options, noEmit: true, noUnusedLocals: false }, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map((diagnostic) => ts.flattenDiagnosticMessageText(diagnostic.messageText, ' '));
}
