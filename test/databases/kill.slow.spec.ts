import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { Saga, Step, type TransactionalStepContext } from '../../libs/saga/src/index.js';
import { LayerApps } from './contract/layer-apps.js';
import { LAYERS } from './layers/index.js';
import type { Layer } from './layers/layer.js';

const PROGRAM = fileURLToPath(new URL('dist/held-worker.mjs', import.meta.url));

/** The library as it is built, because esbuild emits no metadata of decorators. */
const BUILT: Plugin = {
  name: 'built',
  setup: ({ onResolve }) =>
    onResolve({ filter: /libs\/saga\/src\// }, ({ path }) => ({
      path: fileURLToPath(new URL(`../../libs/saga/dist/modules/${path.split('/src/')[1]}`, import.meta.url)),
      external: true,
    })),
};

let layer: Layer;

@Saga({ name: 'order' })
class Order {
  @Step({ transactional: true }) async book(ctx: TransactionalStepContext<object, unknown, object>) {
    await layer.write(ctx.transaction, 'book');
    return ctx.attempt;
  }
}

beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL('programs/held-worker.ts', import.meta.url))],
    ...{ outfile: PROGRAM, bundle: true, packages: 'external', platform: 'node', format: 'esm' },
    plugins: [BUILT],
  });
}, 60_000);

afterAll(() => rm(PROGRAM, { force: true }));

describe.each(LAYERS.map((subject) => [subject.name, subject] as const))('with %s', (name, subject) => {
  const apps = LayerApps.of(subject);
  const children: ChildProcess[] = [];
  afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')));

  test('a process that is killed in the transaction of a step leaves nothing of it, and another one makes it once', async () => {
    const id = randomUUID();
    const env = { ...process.env, NODE_OPTIONS: '', LAYER: name, DATABASE_URL: apps.url, SAGA_ID: id };
    const child = spawn(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    await said(child, 'written');
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    expect(await apps.effects()).toEqual([]);
    // As if the time of its lease had passed.
    await apps.sql('UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = $1', [id]);
    const app = await apps.start({ sagas: [Order] });
    layer = app.layer;
    expect(await app.sagas.wait(id)).toMatchObject({ status: 'completed', results: { book: 2 } });
    expect(await apps.effects()).toEqual(['book']);
  }, 60_000);
});

/** Resolves once the process has written this line. Rejects with its errors if it ends before. */
async function said(child: ChildProcess, line: string): Promise<void> {
  let [output, errors] = ['', ''];
  child.stderr!.on('data', (text: Buffer) => (errors += text.toString()));
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', (text: Buffer) => {
      output += text.toString();
      if (output.includes(line)) resolve();
    });
    child.once('exit', () => reject(new Error(`The process ended: ${output}${errors}`)));
  });
}
