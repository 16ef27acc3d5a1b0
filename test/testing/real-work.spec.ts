import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Saga, Step } from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

/** No CPU time for so long: what a busy machine does to a process. */
const STARVED = 700;

@Saga({ name: 'reads-files' })
class ReadsFiles {
  @Step({ timeout: '1s' })
  async read(): Promise<string> {
    await new Promise(setImmediate);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STARVED);
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    return 'read';
  }
}

test('a method that does real work does not time out because the machine gives the test no CPU time', async () => {
  const { outcome } = await SagaTest.of(ReadsFiles).run({});
  expect(outcome).toMatchObject({ status: 'completed', results: { read: 'read' } });
});

// Before Node 22.19, a thread does not know its own CPU time.
('threadCpuUsage' in process ? test : test.skip)(
  'it does not time out either while other threads of the process have all the CPU time',
  async () => {
    const busy = new Worker('for (;;);', { eval: true });
    await once(busy, 'online');
    const { outcome } = await SagaTest.of(ReadsFiles).run({});
    await busy.terminate();
    expect(outcome).toMatchObject({ status: 'completed', results: { read: 'read' } });
  },
);

const folder = mkdtempSync(join(tmpdir(), 'real-work-'));
/** A read of it waits until something is written. */
const PIPE = join(folder, 'pipe');
beforeAll(() => execFileSync('mkfifo', [PIPE]));
afterAll(() => rmSync(folder, { recursive: true }));

@Saga({ name: 'reads-slowly' })
class ReadsSlowly {
  @Step({ timeout: '1s', retry: { attempts: 1 } })
  async read(): Promise<string> {
    setTimeout(() => void writeFile(PIPE, 'read'), 3 * STARVED);
    return readFile(PIPE, 'utf8');
  }
}

test('a method that reads a file does not time out because the file is slow', async () => {
  const { outcome } = await SagaTest.of(ReadsSlowly).run({});
  expect(outcome).toMatchObject({ status: 'completed', results: { read: 'read' } });
});

@Saga({ name: 'hangs' })
class Hangs {
  @Step({ timeout: '1h', retry: { attempts: 1 } })
  hang(): Promise<void> {
    return new Promise(() => undefined);
  }
}

test('virtual time goes on without a method that hangs', async () => {
  const { outcome } = await SagaTest.of(Hangs).run({});
  expect(outcome).toMatchObject({ failure: { kind: 'timeout', step: 'hang' } });
});
