import { readFileSync } from 'node:fs';
import { operations } from '../libs/cli/src/commands/operate.js';
import { CALL_NAMES } from '../libs/saga/src/engine/ports/call-table.js';

const read = (page: string) => readFileSync(new URL(page, import.meta.url), 'utf8');

test('the page of what operators can do has each call', () => {
  const [table = ''] = read('operator-calls.md').split('\n## ');
  const lines = table.split('\n').map((line) => line.split('|')[1] ?? '');
  const isShown = (name: string) => lines.some((line) => new RegExp(`\`${name}[(\`]`).test(line));
  // A signal is no call of an operator only: the page of waits explains it.
  expect(CALL_NAMES.filter((name) => !isShown(name))).toEqual(['signal']);
});

test('the page of the command line has the command of each call', () => {
  const page = read('command-line.md');
  expect(operations.map(({ words }) => words).filter((words) => !page.includes(`saga ${words} `))).toEqual(
    [],
  );
});
