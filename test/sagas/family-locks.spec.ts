import { Saga, Step, type StepContext, StepRejectedError, SubSaga } from '../../libs/saga/src/index.js';
import { Gate, until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';

const apps = TestApps.onOwnDatabase();
/** Nothing here may be found by polling: what waits has to be woken. */
const NO_POLL = { worker: { pollInterval: '1h' } };

interface Folder {
  owner: string;
  depth: number;
  n: number;
}

/** A saga that starts itself with the same key, as deep as its input says. */
const scene = () => {
  const log: string[] = [];
  const gate = new Gate();
  const note = (what: string, { input }: { input: Folder }) => log.push(`${what} ${input.n}.${input.depth}`);
  @Saga({ name: 'folder', lockKey: ({ owner }: Folder) => owner, retry: { attempts: 1 } })
  class FolderSaga {
    @Step({ compensate: 'unlock' }) async begin(ctx: StepContext<Folder>) {
      note('begin', ctx);
      if (ctx.input.depth === 0) await gate.opened;
    }
    unlock(ctx: { input: Folder }) {
      note('undo', ctx);
    }
    @SubSaga(() => FolderSaga, { after: 'begin', when: ({ input }) => (input as Folder).depth > 0 })
    inner({ input }: StepContext<Folder>): Folder {
      return { ...input, depth: input.depth - 1 };
    }
    @Step({ after: 'inner' }) end(ctx: StepContext<Folder>) {
      note('end', ctx);
      if (ctx.input.n < 0 && ctx.input.depth > 0) throw new StepRejectedError('no');
    }
  }
  return { log, gate, FolderSaga };
};

describe('a sub-saga whose key an ancestor holds', () => {
  test('runs under its hold, in two processes, and the next saga of the key begins when the ancestor has ended', async () => {
    const { log, gate, FolderSaga } = scene();
    const { sagas } = await apps.start({ sagas: [FolderSaga], options: NO_POLL });
    await apps.start({ sagas: [FolderSaga], options: NO_POLL });
    const first = await sagas.start(FolderSaga, { owner: 'ann', depth: 2, n: 1 });
    const second = await sagas.start(FolderSaga, { owner: 'ann', depth: 1, n: 2 });
    await until(() => log.includes('begin 1.0'));
    expect((await until(async () => (await sagas.get(second.id)).waitingFor)).kind).toBe('lock');
    gate.open();
    expect((await first.outcome()).status).toBe('completed');
    expect((await second.outcome()).status).toBe('completed');
    const of = (n: number, depth: number): string[] => [
      `begin ${n}.${depth}`,
      ...(depth > 0 ? of(n, depth - 1) : []),
      `end ${n}.${depth}`,
    ];
    expect(log).toEqual([...of(1, 2), ...of(2, 1)]);
    expect(await apps.sql('SELECT id FROM saga.instance WHERE lock_state IS NOT NULL')).toEqual([]);
  });

  test('is compensated under its hold', async () => {
    const { log, gate, FolderSaga } = scene();
    gate.open();
    const { sagas } = await apps.start({ sagas: [FolderSaga], options: NO_POLL });
    const failing = await sagas.start(FolderSaga, { owner: 'ann', depth: 1, n: -1 });
    const next = await sagas.start(FolderSaga, { owner: 'ann', depth: 0, n: 2 });
    expect((await failing.outcome()).status).toBe('compensated');
    expect((await next.outcome()).status).toBe('completed');
    expect(log).toEqual([
      ...['begin -1.1', 'begin -1.0', 'end -1.0', 'end -1.1', 'undo -1.0', 'undo -1.1'],
      ...['begin 2.0', 'end 2.0'],
    ]);
  });

  test('leaves the key to the next saga when its family is aborted', async () => {
    const { log, FolderSaga } = scene();
    const { sagas } = await apps.start({ sagas: [FolderSaga], options: NO_POLL });
    const first = await sagas.start(FolderSaga, { owner: 'ann', depth: 1, n: 1 });
    const second = await sagas.start(FolderSaga, { owner: 'ann', depth: 1, n: 2 });
    await until(() => log.includes('begin 1.0'));
    await until(async () => (await sagas.get(second.id)).waitingFor?.kind === 'lock');
    await sagas.abort(first.id);
    await until(() => log.includes('begin 2.0'));
    expect(log).toEqual(['begin 1.1', 'begin 1.0', 'begin 2.1', 'begin 2.0']);
    await sagas.abort(second.id);
    expect(await apps.sql('SELECT id FROM saga.instance WHERE lock_state IS NOT NULL')).toEqual([]);
  });
});
