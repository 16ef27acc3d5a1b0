import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SAGA_STATUSES } from '../libs/saga/src/definition/types/saga-status.js';

const PAGE = readFileSync(fileURLToPath(new URL('concepts.md', import.meta.url)), 'utf8');

test('the diagram of states has every status of a saga, and no other', () => {
  const [, diagram] = /^stateDiagram-v2\n([\s\S]*?)^```/m.exec(PAGE)!;
  const drawn = [...diagram!.matchAll(/^ +(\S+) --> (\S+?)(?::|$)/gm)].flatMap(([, from, to]) => [
    from!,
    to!,
  ]);
  expect([...new Set(drawn)].filter((state) => state !== '[*]').sort()).toEqual([...SAGA_STATUSES].sort());
});
