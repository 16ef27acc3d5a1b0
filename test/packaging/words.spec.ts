import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../scripts/check-words.mjs', import.meta.url));

let folder: string;

/** Runs `work` with a new folder, and removes the folder. */
function inFolder<T>(work: () => T): T {
  folder = mkdtempSync(join(tmpdir(), 'saga-words-'));
  try {
    return work();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function check(...paths: string[]) {
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT, ...paths], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, lines: stderr.trim().split('\n') };
}

function checkFile(name: string, text: string) {
  writeFileSync(join(folder, name), text);
  return check(name);
}

test('A banned word is reported with its line and its replacement', () => {
  const text =
    "export const a = 1;\nexport const message = `step ${a} gave up`;\nthrow new Error('by hand');\n";
  expect(inFolder(() => checkFile('bad.ts', text))).toEqual({
    status: 1,
    lines: [
      'bad.ts:2: "gave up"; use: fails, failed permanently, retries exhausted',
      'bad.ts:3: "by hand"; use: manually, manual action',
      '2 banned word(s). The list is in scripts/check-words.mjs.',
    ],
  });
});

/** Name of the case, name of the file, text of the file. */
type Case = readonly [string, string, string];

/** For each case, how many lines the check reports of its file. It runs once, with a folder for each case. */
function countLines(cases: readonly Case[], exitCode: 0 | 1): number[] {
  for (const [n, [, name, text]] of cases.entries()) {
    mkdirSync(dirname(join(folder, `${n}`, name)), { recursive: true });
    writeFileSync(join(folder, `${n}`, name), text);
  }
  const { status, lines } = check(...cases.map(([, name], n) => join(`${n}`, name)));
  expect(status).toBe(exitCode);
  return cases.map(([, name], n) => lines.filter((line) => line.startsWith(`${join(`${n}`, name)}:`)).length);
}

describe('A banned word is found', () => {
  const cases: readonly Case[] = [
    ['in a comment', 'bad.ts', '// whoever reads this\nexport {};\n'],
    [
      'in a docstring, across lines',
      'bad.ts',
      '/**\n * The saga turns\n * back.\n */\nexport const a = 1;\n',
    ],
    ['as the first word of a docstring', 'bad.ts', '/** Of a saga: its name. */\nexport const name = 1;\n'],
    [
      'as the first words of a docstring of the library that needs the one above',
      'libs/bad.ts',
      '/**\n * The same of a saga.\n */\nexport const name = 1;\n',
    ],
    ['in a comment at the end of a block', 'bad.ts', 'export function f() {\n  f();\n  // as wanted\n}\n'],
    ['in JavaScript', 'bad.js', "export const text = 'Somebody';\n"],
    ['in Markdown', 'bad.md', '# Errors\n\nThe step is told of it.\n'],
    ['in the new part of the changelog', 'CHANGELOG.md', '## Unreleased\n\n- No errand.\n\n## 1.0.0\n'],
    ['in HTML', 'bad.html', '<p>Median and 95 of 100</p>\n'],
  ];
  let found: number[];
  beforeAll(() => void (found = inFolder(() => countLines(cases, 1))));

  test.each(cases.map(([what], n) => [what, n] as const))('%s', (_, n) => {
    expect(found[n]).toBe(1);
  });
});

describe('No banned word is found', () => {
  const cases: readonly Case[] = [
    [
      'in identifiers and keys',
      'good.ts',
      "const mend = { heard: 1 };\nexport const [a] = [mend['heard']];\n",
    ],
    ['in import paths', 'good.ts', "import './at rest/errand.js';\n"],
    ['in types', 'good.ts', "export type Cause = 'by hand' | 'other';\n"],
    ['in code of Markdown', 'good.md', 'The field `underWay`, `by hand`.\n\n```text\nnobody\n```\n'],
    [
      'in released parts of the changelog',
      'CHANGELOG.md',
      '## Unreleased\n\n- A fix.\n\n## 1.0.0\n\n- Mended.\n',
    ],
    ['in longer words', 'good.md', 'Recommended, amendment, sheard.\n'],
  ];
  let found: number[];
  beforeAll(() => void (found = inFolder(() => countLines(cases, 0))));

  test.each(cases.map(([what], n) => [what, n] as const))('%s', (_, n) => {
    expect(found[n]).toBe(0);
  });
});
