import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../scripts/check-words.mjs', import.meta.url));

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'saga-words-'))));
afterEach(() => rmSync(folder, { recursive: true }));

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

test('The files that the check covers contain no banned words', () => {
  expect(check()).toEqual({ status: 0, lines: [''] });
}, 60_000);

test('A banned word is reported with its line and its replacement', () => {
  const text =
    "export const a = 1;\nexport const message = `step ${a} gave up`;\nthrow new Error('by hand');\n";
  expect(checkFile('bad.ts', text)).toEqual({
    status: 1,
    lines: [
      'bad.ts:2: "gave up"; use: fails, failed permanently, retries exhausted',
      'bad.ts:3: "by hand"; use: manually, manual action',
      '2 banned word(s). The list is in scripts/check-words.mjs.',
    ],
  });
});

describe('A banned word is found', () => {
  test.each([
    ['in a comment', 'bad.ts', '// whoever reads this\nexport {};\n'],
    [
      'in a docstring, across lines',
      'bad.ts',
      '/**\n * The saga turns\n * back.\n */\nexport const a = 1;\n',
    ],
    ['as the first word of a docstring', 'bad.ts', '/** Of a saga: its name. */\nexport const name = 1;\n'],
    ['in a comment at the end of a block', 'bad.ts', 'export function f() {\n  f();\n  // as wanted\n}\n'],
    ['in JavaScript', 'bad.js', "export const text = 'Somebody';\n"],
    ['in Markdown', 'bad.md', '# Errors\n\nThe step is told of it.\n'],
    ['in the new part of the changelog', 'CHANGELOG.md', '## Unreleased\n\n- No errand.\n\n## 1.0.0\n'],
    ['in HTML', 'bad.html', '<p>Median and 95 of 100</p>\n'],
  ])('%s', (_, name, text) => {
    const { status, lines } = checkFile(name, text);
    expect([status, lines.length]).toEqual([1, 2]);
  });
});

describe('No banned word is found', () => {
  test.each([
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
  ])('%s', (_, name, text) => {
    expect(checkFile(name, text)).toEqual({ status: 0, lines: [''] });
  });
});
