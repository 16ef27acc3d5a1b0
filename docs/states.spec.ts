import { readFileSync } from 'node:fs';
import { WAITS } from '../libs/saga/src/nest/views/waiting-for.js';

const page = readFileSync(new URL('states.md', import.meta.url), 'utf8');

test('the page of states explains each kind of wait, and no other', () => {
  const section = page.split('## waitingFor')[1]!.split('\n## ')[0]!;
  const rows = section.matchAll(/^\| `(?!kind)([a-z-]+)`/gm);
  const explained = [...rows].map(([, kind]) => kind!);
  expect(explained.toSorted()).toEqual([...new Set(Object.values(WAITS).map(({ kind }) => kind))].sort());
});
