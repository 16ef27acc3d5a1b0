import type { DataSource } from 'typeorm';
import {
  type SagaHandle,
  SagaNotFoundError,
  type SagaOperations,
  type SagaSchedules,
  type SagaService,
} from '../../libs/saga/src/index.js';
import type { Inbox, Outbox, RelayedMessage } from '../../libs/messaging/src/index.js';
import { until } from '../support/gate.js';
import * as world from './sagas.js';

/** A process of an application that has all of `SAGAS`, an outbox with a relay, and an inbox. */
export interface WorldProcess {
  readonly sagas: SagaService;
  readonly operations: SagaOperations;
  readonly schedules: SagaSchedules;
  readonly dataSource: DataSource;
  readonly outbox: Outbox;
  readonly inbox: Inbox;
}

/** Processes over one database, and what their relays have sent, in the order in which the broker took it. */
export interface World {
  readonly processes: readonly WorldProcess[];
  readonly sent: readonly RelayedMessage[];
}

type Play = (world: World) => Promise<void>;

/** The outcome, whichever process ran it. */
const outcomes = (handles: readonly SagaHandle[]) =>
  Promise.all(handles.map((handle) => handle.outcome({ timeout: '60s' })));
const statuses = async (handles: readonly SagaHandle[]) =>
  (await outcomes(handles)).map(({ status }) => status);
/** So many, each on the next process. */
const onEach = <T>(
  { processes }: World,
  count: number,
  work: (process: WorldProcess, n: number) => Promise<T>,
) => Promise.all(Array.from({ length: count }, (_, n) => work(processes[n % processes.length]!, n)));
const all = (count: number, status: string): string[] => Array.from({ length: count }, () => status);
const ledgerOf = async ({ dataSource }: WorldProcess, saga: string): Promise<string[]> => {
  const rows: { entry: string }[] = await dataSource.query(
    'SELECT entry FROM public.ledger WHERE saga = $1 ORDER BY n',
    [saga],
  );
  return rows.map(({ entry }) => entry);
};
const waitsFor = ({ sagas }: WorldProcess, id: string, kind: string) =>
  until(async () => (await sagas.get(id)).waitingFor?.kind === kind);

/** What is stored and read again has to be what it was, character for character. */
const AWKWARD = {
  text: `ä€😀 "quoted" 'single' back\\slash \\n {1,2} NULL $1 -- /* */`,
  numbers: [0.1, -1e-7, 1.7976931348623157e308, 9007199254740991],
  nothing: null,
  at: '2024-02-29T12:00:00.123Z',
  nested: [[], {}, [null, { '': 'empty key' }]],
};

const plays: Record<string, Play> = {
  async 'plain sagas, and payloads as they were given'(w) {
    const before = Date.now();
    const handles = await onEach(w, 12, ({ sagas }, n) =>
      sagas.start(
        world.PlainSaga,
        { ...AWKWARD, n },
        { correlationId: `plain-${n}`, tags: { kind: 'plain \\ "' } },
      ),
    );
    for (const [n, { status, results }] of (await outcomes(handles)).entries())
      expect({ status, results }).toEqual({
        status: 'completed',
        results: { first: { ...AWKWARD, n }, second: { ...AWKWARD, n } },
      });
    const again = await onEach(w, 12, ({ sagas }, n) =>
      sagas.start(world.PlainSaga, { ...AWKWARD, n }, { correlationId: `plain-${n}` }),
    );
    expect(again.map(({ id, created }) => ({ id, created }))).toEqual(
      handles.map(({ id }) => ({ id, created: false })),
    );
    const [{ sagas }] = w.processes as [WorldProcess];
    const { items, next } = await sagas.find({
      saga: world.PlainSaga,
      status: 'completed',
      tags: { kind: 'plain \\ "' },
      createdAfter: new Date(before - 60_000),
      createdBefore: new Date(before + 3_600_000),
      limit: 10,
    });
    const tooEarly = { createdAfter: new Date(Date.UTC(-4800, 0)) };
    await expect(sagas.find(tooEarly)).rejects.toThrow(/createdAfter .* 4713 BC/);
    const rest = await sagas.find({ saga: world.PlainSaga, limit: 10, cursor: next! });
    expect([items.length, rest.items.length, rest.next]).toEqual([10, 2, undefined]);
    // The clocks of the server and of this process are one.
    for (const at of [
      items[0]!.createdAt,
      items[0]!.finishedAt!,
      (await sagas.get(handles[0]!.id)).createdAt,
    ])
      expect(Math.abs(at.getTime() - before)).toBeLessThan(60_000);
  },

  async 'sagas that fail, and are compensated'(w) {
    const handles = await onEach(w, 4, ({ sagas }) => sagas.start(world.FailingSaga, { refund: 'works' }));
    for (const { id, status, failure } of await outcomes(handles)) {
      expect([status, failure?.error?.message]).toEqual(['compensated', 'no such address: "Straße 7\\b"']);
      expect(await ledgerOf(w.processes[0]!, id)).toEqual(['book', 'unbook B-1']);
    }
  },

  async 'operators: cancel, pause and resume, resolve, retry, history'(w) {
    const [one, other] = [w.processes[0]!, w.processes.at(-1)!];
    const failing = await one.sagas.start(world.FailingSaga, { refund: 'fails' });
    expect(await statuses([failing])).toEqual(['stuck']);
    await other.operations.resolve(failing.id, 'charge', { by: 'ann', reason: 'refunded by transfer' });
    expect(await statuses([failing])).toEqual(['compensated']);
    expect(await other.operations.history(failing.id)).toMatchObject([
      { action: 'resolve', by: 'ann', step: 'charge' },
    ]);

    const stuck = await other.sagas.start(world.StuckSaga, { broken: true });
    expect(await statuses([stuck])).toEqual(['stuck']);
    await one.operations.retry(stuck.id, { input: { broken: false } });
    expect(await outcomes([stuck])).toMatchObject([
      { status: 'completed', results: { deliver: 'delivered' } },
    ]);

    const asked = await one.sagas.start(world.QuestionSaga, {});
    await waitsFor(one, asked.id, 'signal');
    await other.operations.pause(asked.id, { by: 'bob' });
    await waitsFor(other, asked.id, 'paused');
    await one.operations.resume(asked.id, { by: 'bob' });
    await waitsFor(other, asked.id, 'signal');
    await other.sagas.cancel(asked.id, { reason: 'no longer asked' });
    expect(await outcomes([asked])).toMatchObject([
      { status: 'compensated', failure: { kind: 'cancelled', reason: 'no longer asked' } },
    ]);
    const history = await one.operations.history(asked.id);
    expect(history.map(({ action }) => action)).toEqual(['pause', 'resume', 'cancel']);
  },

  async 'a lock key, whose sagas hand it on at every isolation level'(w) {
    world.lockCrowd.reset();
    const levels = ['repeatable read', undefined, 'serializable', 'read committed'];
    const handles = await onEach(w, 12, ({ sagas }, n) =>
      sagas.start(world.BookingSaga, { account: 'a', level: levels[n % 4] }),
    );
    for (const [n, { id, status, results }] of (await outcomes(handles)).entries()) {
      expect(status).toBe('completed');
      if (levels[n % 4]) expect(results.write).toBe(levels[n % 4]);
      expect(await ledgerOf(w.processes[0]!, id)).toEqual(['write']);
    }
    expect(world.lockCrowd.most).toBe(1);
  },

  async 'a limit of a saga, kept by all processes together'(w) {
    world.limitCrowd.reset();
    expect(await statuses(await onEach(w, 8, ({ sagas }) => sagas.start(world.LimitedSaga, {})))).toEqual(
      all(8, 'completed'),
    );
    expect(world.limitCrowd.most).toBeLessThanOrEqual(2);
  },

  async 'signals, before they are waited for and after'(w) {
    const [one, other] = [w.processes[0]!, w.processes.at(-1)!];
    const handles = await onEach(w, 4, ({ sagas }, n) =>
      sagas.start(world.QuestionSaga, {}, { correlationId: `question-${n}` }),
    );
    for (const [n, { id }] of handles.entries()) {
      if (n % 2 === 1) await waitsFor(one, id, 'signal');
      const target = { saga: world.QuestionSaga, correlationId: `question-${n}` };
      await other.sagas.signal(target, 'answer', { text: `1 of ${n}` }, { messageId: 'm1' });
      await one.sagas.signal(id, 'answer', { text: `1 of ${n}` }, { messageId: 'm1' });
      await one.sagas.signal(id, 'answer', { text: `2 of ${n} \\ 'ü'` });
    }
    for (const [n, outcome] of (await outcomes(handles)).entries())
      expect(outcome).toMatchObject({
        status: 'completed',
        results: { ask: `1 of ${n}`, askAgain: `2 of ${n} \\ 'ü'` },
      });
  },

  async approvals(w) {
    const [one, other] = [w.processes[0]!, w.processes.at(-1)!];
    const [approved, rejected] = [
      await one.sagas.start(world.RequestSaga, {}),
      await other.sagas.start(world.RequestSaga, {}),
    ];
    await waitsFor(one, approved.id, 'approval');
    await other.sagas.approve(approved.id, 'decide', { by: 'ann', comment: 'fine' });
    await one.sagas.reject(rejected.id, 'decide', { by: 'bob' });
    expect(await outcomes([approved, rejected])).toMatchObject([
      { status: 'completed', results: { decide: { by: 'ann', comment: 'fine' } } },
      { status: 'compensated' },
    ]);
  },

  async 'sub-sagas, which wake their parents, and share a lock'(w) {
    const handles = await onEach(w, 3, ({ sagas }, n) => sagas.start(world.DeliverySaga, { to: `${n}` }));
    for (const [n, outcome] of (await outcomes(handles)).entries())
      expect(outcome).toMatchObject({
        status: 'completed',
        results: { sum: [`loaded for ${n} left`, `loaded for ${n} right`] },
      });
  },

  async 'fan-outs and delays'(w) {
    const numbers = Array.from({ length: 7 }, (_, n) => n);
    const handles = await onEach(w, 3, ({ sagas }) => sagas.start(world.FanOutSaga, { numbers }));
    for (const { status, results } of await outcomes(handles))
      expect([status, results.sum]).toEqual(['completed', 42]);
  },

  async 'messages of sagas and of transactions, in order, and handled once'(w) {
    const handles = await onEach(w, 4, ({ sagas }, n) =>
      sagas.start(world.AnnouncingSaga, { key: `saga-${n}`, texts: ['1', '2', '3'] }),
    );
    await onEach(w, 4, async ({ dataSource, outbox }, n) => {
      for (const text of ['1', '2', '3'])
        await dataSource.transaction((manager) =>
          outbox.publish(manager, { topic: 'news', key: `own-${n}`, payload: { text } }),
        );
    });
    expect(await statuses(handles)).toEqual(all(4, 'completed'));
    const ofKey = (key: string) => w.sent.filter((message) => message.key === key);
    const keys = [0, 1, 2, 3].flatMap((n) => [`saga-${n}`, `own-${n}`]);
    for (const key of keys) {
      await until(() => ofKey(key).length >= 3);
      const payloads = ofKey(key).map(({ payload }) => (JSON.parse(payload) as { text: string }).text);
      expect([...new Set(payloads)]).toEqual(['1', '2', '3']);
    }
    const { id } = ofKey('own-0')[0]!;
    const deliveries = await onEach(w, 4, ({ inbox, dataSource }) =>
      inbox.once(id, dataSource.manager, (manager) =>
        world.book(manager, id, 'handled').then(() => undefined),
      ),
    );
    expect(deliveries.filter(({ handled }) => handled)).toHaveLength(1);
    expect(await ledgerOf(w.processes[0]!, id)).toEqual(['handled']);
  },

  async 'starts within transactions, which commit or roll back'(w) {
    const [one, other] = [w.processes[0]!, w.processes.at(-1)!];
    const started = await one.dataSource.transaction(async (manager) => {
      await world.book(manager, 'within', 'committed');
      return one.sagas.start(world.BookingSaga, { account: 'within' }, { manager });
    });
    const id = '01890000-0000-7000-8000-000000000001';
    const rolledBack = other.dataSource.transaction(async (manager) => {
      await other.sagas.start(world.BookingSaga, { account: 'within' }, { manager, id });
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    await expect(one.sagas.get(id)).rejects.toThrow(SagaNotFoundError);
    expect(await statuses([started])).toEqual(['completed']);
  },

  async 'retention, by itself and when it is asked for'(w) {
    const { sagas } = w.processes[0]!;
    const short = await sagas.start(world.ShortLivedSaga, {});
    await short.outcome({ timeout: '60s' });
    await until(() =>
      sagas.get(short.id).then(
        () => false,
        (error: unknown) => error instanceof SagaNotFoundError,
      ),
    );
  },
};

/** All kinds of sagas at the same time; then nothing is left of them. */
export async function playProgram(w: World): Promise<void> {
  await w.processes[0]!.dataSource.query(world.LEDGER);
  const failures: string[] = [];
  await Promise.all(
    Object.entries(plays).map(([name, play]) =>
      play(w).catch((error: unknown) => failures.push(`${name}: ${(error as Error).stack}`)),
    ),
  );
  if (failures.length > 0)
    throw new Error(`${failures.length} of the program failed\n${failures.join('\n\n')}`);
  const { sagas, operations } = w.processes[0]!;
  await until(async () => (await operations.stats()).outbox.waiting === 0);
  // One that ended at a raised level is due until it has left its line.
  await until(async () => (await operations.stats()).sagas.length === 0);
  expect(await operations.stats()).toMatchObject({
    sagas: [],
    due: 0,
    overdue: 0,
    outbox: { waiting: 0, dead: 0 },
  });
  const deleted = await operations.cleanup({ olderThan: 0 });
  expect(deleted.more).toBe(false);
  expect((await sagas.find({})).items).toEqual([]);
}
