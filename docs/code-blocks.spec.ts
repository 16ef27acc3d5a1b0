import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import ts from 'typescript';
import { DataSource } from 'typeorm';
import { sagaMigrations } from 'nestjs-durable-saga/database';
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
const COMPILED = PAGES.filter((page) => !SHOWS_MODULES.test(page) && blocksOf(page, 'ts').length > 0);

/** Where the page of Prisma has its client, and where it is. */
const PRISMA_CLIENT = { shown: join(ROOT, 'generated/prisma/'), made: '' };

describe('what the documentation shows', () => {
  /** By module; of all pages at once, made by the first test that asks. */
  let complaints: Map<string, string[]> | undefined;

  beforeAll(async () => {
    const [schema] = blocksOf('docs/databases/prisma.md', 'prisma');
    const made = await prismaClientOf(schema!.replace('"../generated/prisma"', '"client"'));
    PRISMA_CLIENT.made = `${made}/`;
  }, 60_000);

  test.each(COMPILED)(
    '%s compiles',
    (page) => {
      complaints ??= compile(new Map(COMPILED.map((each) => [moduleOf(each), blocksOf(each, 'ts')])));
      expect(complaints.get(moduleOf(page))).toEqual([]);
    },
    120_000,
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

/** The blocks of a page are one module, which exists only in memory: later ones may use what earlier ones declare. */
function moduleOf(page: string): string {
  return join(ROOT, 'docs', `${page.replace(/\W/g, '_')}.ts`);
}

/** The compiler's complaints about these modules, in one program: what they share is parsed and checked once. */
function compile(modules: ReadonlyMap<string, readonly string[]>): Map<string, string[]> {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: { compilerOptions: object };
  };
  const given = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, types: ['node'] }, ROOT);
  const options = { ...given.options, noEmit: true, noUnusedLocals: false };
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists } = host;
  const made = (name: string) => name.replace(PRISMA_CLIENT.shown, PRISMA_CLIENT.made);
  host.directoryExists = (name) => ts.sys.directoryExists(made(`${name}/`));
  host.fileExists = (name) => modules.has(name) || fileExists.call(host, made(name));
  host.readFile = (name) => modules.get(name)?.join('\n') ?? readFile.call(host, made(name));
  const program = ts.createProgram([...modules.keys()], options, host);
  const broken = [...program.getConfigFileParsingDiagnostics(), ...program.getOptionsDiagnostics()];
  expect([...broken, ...program.getGlobalDiagnostics()].map(textOf)).toEqual([]);
  return new Map(
    [...modules.keys()].map((name) => {
      const module = program.getSourceFile(name);
      const found = [...program.getSyntacticDiagnostics(module), ...program.getSemanticDiagnostics(module)];
      return [name, found.map(textOf)];
    }),
  );
}

function textOf({ messageText }: ts.Diagnostic): string {
  return ts.flattenDiagnosticMessageText(messageText, ' ');
}
