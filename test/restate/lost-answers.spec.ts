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

    beforeAll(async () => {
      server = await RestateServer.start(program);
      globalThis.fetch = async (...call) => {
        const answer = await send(...call);
        const { body } = call[1] ?? {};
        const isOf = body instanceof Uint8Array && Buffer.from(body).includes(`"${lost}"`);
        if (lost === undefined || !isOf) return answer;
        throw new DOMException('The operation was aborted due to timeout', 'TimeoutError');
      };
      const options = { ingress: server.ingress, admin: server.admin, port: 0 };
      const process = { worker: 'worker-1', patience: 20_000, log: SILENT };
      backend = await openRestate(options, { ...process, relayed: (message) => message });
    });
    afterAll(async () => {
      globalThis.fetch = send;
      await backend?.close();
      await server?.stop();
    });

    afterEach(() => (lost = undefined));

    /** How often its object has changed a saga. */
    async function changesOf(id: string): Promise<number> {
      const query = `SELECT value_utf8 FROM state WHERE service_name = 'DurableSaga' AND service_key = '${id}'`;
      const [row] = await server.query(query);
      return (JSON.parse(row!.value_utf8 as string) as { readonly revision: number }).revision;
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
      const before = await changesOf(saga.id);
      const first = checkpointOf(saga, stateOf('running', { reserve: stepOf() }));
      lost = 'checkpoint';
      await expect(store.checkpoint([first])).rejects.toThrow('timeout');
      await expect(store.checkpoint([first])).rejects.toThrow('timeout');
      lost = undefined;
      expect(await store.checkpoint([first])).toEqual(['saved']);
      expect(await changesOf(saga.id)).toBe(before + 1);
      expect(await store.checkpoint([lastCheckpointOf(saga)])).toEqual(['saved']);
      expect((await loaded(store, saga.id)).state.status).toBe('completed');
    });
  });
