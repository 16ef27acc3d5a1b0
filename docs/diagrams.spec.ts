import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import * as common from '@nestjs/common';
import * as typeorm from '@nestjs/typeorm';
import ts from 'typescript';
import { describeSaga } from '../libs/saga/src/definition/describe/saga-description.js';
import { mermaidOf } from '../libs/saga/src/definition/describe/mermaid-of-graph.js';
import { SagaMetadata } from '../libs/saga/src/definition/decorators/saga-metadata.js';
import * as library from '../libs/saga/src/index.js';

const PAGES = ['step-graph.md', 'failures.md', 'limits.md', 'remote-steps.md'];
/** What the pages import that `require` cannot load here. */
const MODULES: Record<string, unknown> = {
  'nestjs-durable-saga': library,
  '@nestjs/common': common,
  '@nestjs/typeorm': typeorm,
};
const BLOCK = /^```(ts|mermaid)\n([\s\S]*?)^```/gm;

interface Diagram {
  /** Of the last saga in the block of code above it. */
  readonly saga: string;
  readonly text: string;
}

/** The sagas of the page, by the name of their class. */
type Sagas = ReadonlyMap<string, common.Type>;

describe.each(PAGES)('the diagrams of %s', (name) => {
  const path = fileURLToPath(new URL(name, import.meta.url));
  const readPage = () => readFileSync(path, 'utf8');
  const sagas = sagasOf(readPage());

  test('are what the classes above them are (npm run generate)', () => {
    if (process.env.GENERATE) writeFileSync(path, redrawn(readPage(), sagas));
    for (const { saga, text } of diagramsOf(readPage(), sagas)) {
      expect(text).toBe(mermaidOf(describeSaga(sagas.get(saga)!)));
    }
  });

  test('show every saga of the page', () => {
    expect(diagramsOf(readPage(), sagas).map(({ saga }) => saga)).toEqual([...sagas.keys()]);
  });
});

function diagramsOf(page: string, sagas: Sagas): Diagram[] {
  const diagrams: Diagram[] = [];
  eachDiagram(page, sagas, (saga, text) => {
    diagrams.push({ saga, text });
    return text;
  });
  return diagrams;
}

function redrawn(page: string, sagas: Sagas): string {
  return eachDiagram(page, sagas, (saga) => mermaidOf(describeSaga(sagas.get(saga)!)));
}

/** The page with what `draw` gives in place of each diagram. */
function eachDiagram(page: string, sagas: Sagas, draw: (saga: string, text: string) => string): string {
  let above: string | undefined;
  return page.replace(BLOCK, (block, language: string, text: string) => {
    if (language === 'mermaid') {
      if (above === undefined) throw new Error(`there is no saga above this diagram:\n${text}`);
      return `\`\`\`mermaid\n${draw(above, text)}\`\`\``;
    }
    above = [...text.matchAll(/\bclass (\w+)/g)].map(([, name]) => name!).findLast((name) => sagas.has(name));
    return block;
  });
}

/** The blocks of the page are one module, which is run here. */
function sagasOf(page: string): Sagas {
  const code = [...page.matchAll(BLOCK)]
    .map(([, language, text]) => (language === 'ts' ? text : ''))
    .join('\n');
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.CommonJS,
      experimentalDecorators: true,
    },
  });
  const installed = createRequire(import.meta.url);
  const exports: Record<string, object> = {};
  // oxlint-disable-next-line typescript/no-implied-eval -- it is our own page
  const run = new Function('exports', 'require', outputText) as (
    exports: object,
    require: (name: string) => unknown,
  ) => void;
  run(exports, (name) => MODULES[name] ?? (installed(name) as unknown));
  return new Map(
    Object.entries(exports).filter(
      (entry): entry is [string, common.Type] => !!SagaMetadata.sagaOf(entry[1]),
    ),
  );
}
