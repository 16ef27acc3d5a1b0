import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import ts from 'typescript';
import { DataSource } from 'typeorm';
import { sagaMigrations } from 'nestjs-durable-saga';
import { createTestDatabase } from '../test/support/test-database.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
);

describe('what the documentation shows', () => {
  test.each(PAGES.filter((page) => blocksOf(page, 'ts').length > 0))(
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

  test('links to files that are there', () => {
    const broken = PAGES.flatMap((page) =>
      [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map(([, target]) => join(dirname(page), target!))
        .filter(
          (target) => !ts.sys.fileExists(join(ROOT, target)) && !ts.sys.directoryExists(join(ROOT, target)),
        )
        .map((target) => `${page} → ${target}`),
    );
    expect(broken).toEqual([]);
  });
});

function blocksOf(page: string, language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm');
  return [...readFileSync(join(ROOT, page), 'utf8').matchAll(pattern)].map(([, block]) => block!);
}

/** The compiler's complaints about a module that exists only in memory. */
function compile(path: string, source: string): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, types: ['node'] }, ROOT);
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists } = host;
  const getSourceFile = host.getSourceFile.bind(host);
  host.fileExists = (name) => name === path || fileExists.call(host, name);
  host.readFile = (name) => (name === path ? source : readFile.call(host, name));
  host.getSourceFile = (name, language, ...rest) =>
    name === path ? ts.createSourceFile(name, source, language) : getSourceFile(name, language, ...rest);
  const program = ts.createProgram([path], { ...options, noEmit: true, noUnusedLocals: false }, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map((diagnostic) => ts.flattenDiagnosticMessageText(diagnostic.messageText, ' '));
}
