import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Type } from '@nestjs/common';
import { describeSaga, mermaidOf } from 'nestjs-durable-saga/diagram';

const DOCS = fileURLToPath(new URL('.', import.meta.url));
/** Folders of pages whose code stands in modules of their own, in `code/`, each with a spec that runs it. */
const FOLDERS = ['recipes', 'migrating'];
const PAGES = FOLDERS.flatMap((folder) =>
  readdirSync(join(DOCS, folder))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => ({ folder, name, page: `${folder}/${name}` })),
);
const BLOCK = /^```(ts|mermaid)\n([\s\S]*?)^```/gm;

describe.each(PAGES)('the code of $page', ({ folder, name, page }) => {
  const path = join(DOCS, page);
  const code = join(DOCS, folder, 'code');
  const modules = readdirSync(code)
    .filter((file) => file.startsWith(`${basename(name, '.md')}.`))
    .map((file) => join(code, file));

  test('is run by a spec', () => {
    expect(modules.map((file) => basename(file))).toEqual(
      expect.arrayContaining([`${basename(name, '.md')}.ts`, `${basename(name, '.md')}.spec.ts`]),
    );
  });

  test('is that of its modules, line by line', () => {
    const sources = modules.map((file) => readFileSync(file, 'utf8').split('\n'));
    const foreign = blocksOf(path, 'ts').filter((block) => !sources.some((lines) => isPart(block, lines)));
    expect(foreign).toEqual([]);
  });

  test('has diagrams of its sagas as they are (npm run generate)', async () => {
    const [main] = modules.filter((file) => basename(file) === basename(name, '.md').concat('.ts'));
    const exported = (await import(main!)) as Record<string, Type>;
    const drawn = redrawn(readFileSync(path, 'utf8'), exported);
    if (process.env.GENERATE) writeFileSync(path, drawn);
    expect(readFileSync(path, 'utf8')).toBe(drawn);
  });
});

test('every module of code is shown by a page', () => {
  const hidden = FOLDERS.flatMap((folder) =>
    readdirSync(join(DOCS, folder, 'code'))
      .filter((file) => file.endsWith('.spec.ts'))
      .map((file) => `${folder}/${file.replace(/\.spec\.ts$/, '.md')}`)
      .filter((page) => !existsSync(join(DOCS, page))),
  );
  expect(hidden).toEqual([]);
});

function blocksOf(path: string, language: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(BLOCK)]
    .filter(([, found]) => found === language)
    .map(([, , text]) => text!);
}

/** Do the block's lines stand in the file, one after the other, with the same indentation more for all? */
function isPart(block: string, file: readonly string[]): boolean {
  const lines = block.trimEnd().split('\n');
  return file.some((_, start) => {
    const indent = /^ */.exec(file[start]!)![0];
    return lines.every((line, n) => file[start + n] === (line === '' ? '' : indent + line));
  });
}

/** The page with each diagram as that of the last saga above it. */
function redrawn(text: string, exported: Record<string, Type>): string {
  let above: string | undefined;
  return text.replace(BLOCK, (block, language: string, body: string) => {
    if (language === 'ts') {
      const classes = [...body.matchAll(/\bclass (\w+)/g)].map(([, name]) => name!);
      above = classes.findLast(isSagaOf(exported)) ?? above;
      return block;
    }
    if (above === undefined) throw new Error(`there is no saga above this diagram:\n${body}`);
    return `\`\`\`mermaid\n${mermaidOf(describeSaga(exported[above]!))}\`\`\``;
  });
}

const isSagaOf = (exported: Record<string, Type>) => (name: string) =>
  name.endsWith('Saga') && exported[name] !== undefined;
