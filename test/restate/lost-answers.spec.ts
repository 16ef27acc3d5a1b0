import { openRestate, type RestateBackend } from '../../libs/restate/src/restate-backend.js';
import { RestateServer, restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import {
  checkpointOf,
  claimed,
  held,
  lastCheckpointOf,
  loaded,
  newSaga,
  OTHER_WORKER,
  stateOf,
  stepOf,
  WORKER,
} from '../contract/store-subject.contract.js';
import { until } from '../support/gate.js';
import '../support/with-resolvers.mjs';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const program = restateProgram();

if (!program) test.skip('There is no Restate server for this platform on npm', () => undefined);
else
  describe('an answer that does not come', () => {
    const send = globalThis.fetch;
    let server: RestateServer;
    let backend: RestateBackend;
    /** Calls of this method have no answer. Undefined: all have. */
    let lost: string | undefined;
    /** Calls of this address are not sent. Undefined: all are. */
    let unsent: string | undefined;
    let passed = 0;

    beforeAll(async () => {
      server = await RestateServer.start(program);
      globalThis.fetch = async (...call) => {
        const timeout = () => new DOMException('The operation was aborted due to timeout', 'TimeoutError');
        const [to] = call;
        const isUnsent = typeof to === 'string' && unsent !== undefined && to.includes(unsent);
        if (isUnsent) throw timeout();
        const answer = await send(...call);
        const { body } = call[1] ?? {};
        const isOf = body instanceof Uint8Array && Buffer.from(body).includes(`"method":"${lost}"`);
        if (lost === undefined || !isOf) return answer;
        throw timeout();
      };
      const options = { ingress: server.ingress, admin: server.admin, port: 0 };
      const now = () => Date.now() + passed;
      const process = { worker: 'worker-1', patience: 20_000, log: SILENT, now };
      backend = await openRestate(options, { ...process, relayed: (message) => message });
    });
    afterAll(async () => {
      globalThis.fetch = send;
      await backend?.close();
      await server?.stop();
    });

    afterEach(() => {
      lost = unsent = undefined;
    });

    /** What its object keeps of a saga. */
    async function keptOf(id: string) {
      const query = `SELECT value_utf8 FROM state WHERE service_name = 'DurableSaga' AND service_key = '${id}'`;
      const [row] = await server.query(query);
      return JSON.parse(row!.value_utf8 as string) as {
        readonly revision: number;
        readonly looksAt?: number;
      };
    }

    test('to a claim costs no lease: the saga is claimed again, and no worker counts as lost', async () => {
      const { store } = backend;
      const saga = newSaga();
      await store.start([saga], WORKER);
      await server.settled();
      lost = 'claim';
      await expect(claimed(store, saga.name)).rejects.toThrow('timeout');
      lost = undefined;
      await until(async () => (await loaded(store, saga.id)).lockedBy === undefined);
      const [taken] = await until(async () => {
        const { sagas } = await claimed(store, saga.name);
        return sagas.length > 0 ? sagas : undefined;
      });
      expect(taken).toMatchObject({ id: saga.id, losses: 0, takeovers: 0 });
    });

    test('to a claim takes no lease from a worker that has it by another claim', async () => {
      const { store } = backend;
      const saga = await held(store);
      lost = 'claim';
      await claimed(store, saga.name, 1, OTHER_WORKER).catch(() => undefined);
      await server.settled();
      expect((await loaded(store, saga.id)).lockedBy).toBe(WORKER.worker);
    });

    test('to a checkpoint makes it once, however often it is repeated, and the next one as well', async () => {
      const { store } = backend;
      const saga = await held(store);
      const before = (await keptOf(saga.id)).revision;
      const first = checkpointOf(saga, stateOf('running', { reserve: stepOf() }));
      lost = 'checkpoint';
      await expect(store.checkpoint([first])).rejects.toThrow('timeout');
      await expect(store.checkpoint([first])).rejects.toThrow('timeout');
      lost = undefined;
      expect(await store.checkpoint([first])).toEqual(['saved']);
      expect((await keptOf(saga.id)).revision).toBe(before + 1);
      expect(await store.checkpoint([lastCheckpointOf(saga)])).toEqual(['saved']);
      expect((await loaded(store, saga.id)).state.status).toBe('completed');
    });

    test('to a deletion leaves no sub-saga behind whose parent is gone', async () => {
      const { store, cleanup } = backend;
      const parent = await held(store);
      const child = { ...newSaga(), parent: { id: parent.id, step: 'ship' } };
      const running = stateOf('running', { reserve: stepOf() });
      await store.checkpoint([checkpointOf(parent, running, { starts: [child] })]);
      await store.checkpoint([lastCheckpointOf(parent)]);
      const [taken] = (await claimed(store, child.name)).sagas;
      await store.checkpoint([lastCheckpointOf(taken!)]);
      passed += 1_000;
      const batch = { name: parent.name, age: 0, most: 10, dryRun: false, alone: true };
      unsent = `${child.id}/remove`;
      await expect(cleanup.batch(batch)).rejects.toThrow('timeout');
      expect(await store.load({ id: parent.id })).toBeDefined();
      unsent = undefined;
      expect(await cleanup.batch(batch)).toEqual({ gone: 2 });
      expect(await store.missing([parent.id, child.id])).toEqual([parent.id, child.id]);
    });

    test('a saga that was to be looked at while Restate stood still is looked at when it is due, and not as much later', async () => {
      const { store } = backend;
      const saga = { ...newSaga({ leased: true }), epoch: 1 };
      await store.start([saga], { ...WORKER, duration: 1_000 });
      const { looksAt } = await keptOf(saga.id);
      // Its lease ended while Restate stood still, and that look is still to come.
      passed += 60_000;
      const dueAt = Date.now() + passed + 1_000;
      const state = stateOf('running', { reserve: stepOf() });
      await store.checkpoint([checkpointOf(saga, state, { release: { dueAt } })]);
      await until(async () => ((await keptOf(saga.id)).looksAt ?? looksAt) !== looksAt);
      await server.settled();
      const query =
        `SELECT * FROM sys_invocation WHERE target_service_key = '${saga.id}' ` +
        `AND target_handler_name = 'look' AND status = 'scheduled'`;
      const looks = (await server.query(query)).map((row) => Date.parse(row.scheduled_start_at as string));
      expect(looks.filter((at) => !(at < Date.now() + 10_000))).toEqual([]);
    });

    test('a saga that was due while Restate stood still for a day is looked at once, and not for each time that was missed', async () => {
      const { store } = backend;
      const { id } = newSaga();
      await store.start([newSaga({ id })], WORKER);
      const before = Date.now() + passed;
      passed += 86_400_000;
      // There may have been a look before the day.
      const next = await until(async () => {
        const { looksAt = 0 } = await keptOf(id);
        return looksAt < before + 3_600_000 ? undefined : looksAt;
      });
      expect(next).toBeGreaterThan(Date.now() + passed - 10_000);
    });
  });
