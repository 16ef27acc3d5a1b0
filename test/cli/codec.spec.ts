import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Saga, Step, type StepContext } from '../../libs/saga/src/index.js';
import { TestApps } from '../support/test-app.js';
import { CodecFile } from './support/codec-file.js';
import { sagaOn } from './support/saga-bin.js';

const apps = TestApps.onOwnDatabase();
const run = sagaOn(apps);
const file = new CodecFile();

@Saga({ name: 'pay' })
class Pay {
  @Step() charge({ input }: StepContext<{ card: string }>) {
    return `charged ${input.card}`;
  }
}

const app = () =>
  apps.start({
    sagas: [Pay],
    options: {
      codec: file.codec,
      worker: { pollInterval: '50ms' },
    },
  });

describe('sagas whose payloads are encoded', () => {
  test('are shown as they are stored, and decoded to those who have the codec', async () => {
    const { sagas } = await app();
    const { id, outcome } = await sagas.start(Pay, { card: '4711' });
    await outcome();
    const without = await run('show', id, '--payloads');
    expect(without.code).toBe(0);
    expect(without.out).not.toContain('4711');
    expect(without.out).toContain('saga:coded:');
    const decoded = await run('show', id, '--payloads', '--codec', file.path);
    expect(decoded.out).toContain('charged 4711');
  });

  test('are given nothing that is not encoded', async () => {
    const { sagas } = await app();
    const refused = await run('start pay', '{"card":"4711"}');
    expect([refused.code, refused.error]).toEqual([
      2,
      expect.stringMatching(/SAGA_CODEC: <input> .*--codec <file>/),
    ]);
    expect(await apps.sql('SELECT FROM saga.instance')).toEqual([]);
    for (const paused of ['pause-step pay charge', 'resume-step pay charge']) {
      const reason = await run(paused, '--reason', 'the bank is down');
      expect([reason.code, reason.error]).toEqual([
        2,
        expect.stringMatching(/SAGA_CODEC: --reason .*--codec/),
      ]);
    }
    const { out, code } = await run('start pay', '{"card":"4711"}', '--codec', file.path, '--json');
    expect(code).toBe(0);
    const { id } = JSON.parse(out) as { id: string };
    expect((await sagas.wait(id)).results).toEqual({ charge: 'charged 4711' });
    const [row] = await apps.sql('SELECT input FROM saga.instance');
    expect(row!.input).toMatch(/^saga:coded:/);
  });

  test.each([
    ['cancel', ['--yes', '--reason', 'of the customer'], '--reason'],
    ['retry', ['--input', '{}'], '--input'],
  ])('are not acted on by %s with what would be seen', async (command, args, what) => {
    const { sagas } = await app();
    const { id } = await sagas.start(Pay, { card: '4711' }, { delay: '1h' });
    const { code, error } = await run(command, id, ...args);
    expect([code, error]).toEqual([2, expect.stringContaining(`${what} would be stored unencoded`)]);
  });

  test('want a file that has a codec', async () => {
    const other = join(file.folder, 'none.mjs');
    await writeFile(other, 'export default { encode: 1 };');
    const { code, error } = await run('list', '--codec', other);
    expect([code, error]).toEqual([
      2,
      expect.stringMatching(/none\.mjs: codec is .*give an object with encode\(\)/),
    ]);
  });
});
