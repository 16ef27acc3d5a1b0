import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SagaConfigurationError } from 'nestjs-durable-saga';
import { declareSaga, readSagas, readSources } from './read-sagas.js';

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

test.each<[string, () => Promise<unknown>, string]>([
  [
    'no text',
    () => declareSaga(undefined as never),
    'declareSaga(): text is undefined; give the text of a YAML',
  ],
  [
    'another value as text',
    () => declareSaga(5 as never),
    'declareSaga(): text is 5; give the text of a YAML',
  ],
  ['no options', () => declareSaga('saga: a', null as never), 'options are null; give an object'],
  ['a file without a name', () => declareSaga('saga: a', { file: 5 as never }), 'file is 5; give a string'],
  [
    'no files',
    () => readSagas(undefined as never),
    'readSagas(): files is undefined; give paths of YAML or JSON',
  ],
  ['another value as file', () => readSagas([5] as never), 'readSagas(): files is [ 5 ]; give paths'],
  [
    'nothing as options of files',
    () => readSagas('a.yaml', null as never),
    'options are null; give an object',
  ],
])('a call with %s is refused as a call, not as a file', async (_, call, message) => {
  const refused = call();
  await expect(refused).rejects.toThrow(SagaConfigurationError);
  await expect(refused).rejects.toThrow(message);
});
