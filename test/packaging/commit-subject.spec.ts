import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const HOOK = resolve('.githooks/commit-msg');
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'commit-subject-'))));
afterEach(() => rmSync(folder, { recursive: true }));

test.each([
  ['72 characters is accepted', 'a'.repeat(72), 0],
  ['73 characters is refused', 'a'.repeat(73), 1],
])('a commit subject of %s', (_, subject, code) => {
  const message = join(folder, 'message');
  writeFileSync(message, `${subject}\n\n${'a body of any width '.repeat(10)}\n`);
  const { status, stderr } = spawnSync(HOOK, [message], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([code, code === 0 ? '' : expect.stringContaining('has 73 characters')]);
});
