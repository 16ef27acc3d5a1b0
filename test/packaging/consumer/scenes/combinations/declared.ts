import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { open, ownSchema } from './app.js';

const FILE = `
saga: greet
version: 1
input:
  type: object
  properties: { name: { type: string, pattern: '^(a+)+$' }, width: { type: number } }
steps:
  greet: { exec: { command: [sh, -c, 'printf %s "\\"$0\\""', '{{ $pad(input.name, input.width) }}'] } }
`;

/** Neither a pattern that never ends nor a size that an input decides stops the application. */
export async function oneInputStopsNothing(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'declared-'));
  const file = join(folder, 'greet.yaml');
  await writeFile(file, FILE);
  const { sagas, close } = await open([], { schema: ownSchema(), declared: file });
  let longest = 0;
  let last = performance.now();
  const watch = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 20);
  await assert.rejects(sagas.start('greet', { name: `${'a'.repeat(40)}!`, width: 1 }));
  const huge = await sagas.start('greet', { name: 'a', width: 500_000_000 });
  assert.notEqual((await huge.outcome({ timeout: '60s' })).status, 'completed');
  const fine = await sagas.start('greet', { name: 'aa', width: 4 });
  assert.deepEqual((await fine.outcome({ timeout: '20s' })).results, { greet: 'aa  ' });
  await sleep(50);
  clearInterval(watch);
  assert.ok(longest < 1_000, `the application stood still for ${Math.round(longest)} ms`);
  await close();
}
