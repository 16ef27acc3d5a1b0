import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSources } from './read-sagas.js';

const folder = mkdtempSync(join(tmpdir(), 'saga-sources-'));
writeFileSync(join(folder, 'a.yaml'), 'saga: a');

async function problemsOf(path: string): Promise<string[]> {
  const problems: Parameters<typeof readSources>[1] = [];
  await readSources([path], problems);
  return problems.map(({ problem }) => problem);
}

describe('a file that could be read for ever is a problem:', () => {
  test('a pipe in a folder', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe.yaml')]);
    expect(await problemsOf(join(folder, '*.yaml'))).toEqual(['this is not a regular file']);
  });

  test('a device', async () => {
    expect(await problemsOf('/dev/zero')).toEqual(['this is not a regular file']);
  });

  test('a file that is much too large', async () => {
    writeFileSync(join(folder, 'large.yml'), 'x'.repeat(2 ** 20 + 1));
    expect(await problemsOf(join(folder, 'large.yml'))).toEqual(['the file has 1048577 bytes']);
  });
});
