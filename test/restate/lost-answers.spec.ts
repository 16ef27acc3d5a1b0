import { openRestate, type RestateBackend } from '../../libs/restate/src/restate-backend.js';
import { RestateServer, restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import { claimed, held, loaded, newSaga, OTHER_WORKER, WORKER } from '../contract/store-subject.contract.js';
import { until } from '../support/gate.js';
import '../support/with-resolvers.mjs';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const program = restateProgram();

if (!program) test.skip('There is no Restate server for this platform on npm', () => undefined);
else
  describe('the answer to a claim that does not come', () => {
    const send = globalThis.fetch;
    let server: RestateServer;
    let backend: RestateBackend;
    let isLost = false;

    beforeAll(async () => {
      server = await RestateServer.start(program);
      globalThis.fetch = async (...call) => {
        const answer = await send(...call);
        const { body } = call[1] ?? {};
        if (!isLost || !(body instanceof Uint8Array) || !Buffer.from(body).includes('"method":"claim"'))
          return answer;
        isLost = false;
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

    test('costs no lease: the saga is claimed again, and no worker counts as lost', async () => {
      const { store } = backend;
      const saga = newSaga();
      await store.start([saga], WORKER);
      await server.settled();
      isLost = true;
      await expect(claimed(store, saga.name)).rejects.toThrow('timeout');
      await until(async () => (await loaded(store, saga.id)).lockedBy === undefined);
      const [taken] = await until(async () => {
        const { sagas } = await claimed(store, saga.name);
        return sagas.length > 0 ? sagas : undefined;
      });
      expect(taken).toMatchObject({ id: saga.id, losses: 0, takeovers: 0 });
    });

    test('takes no lease from a worker that has it by another claim', async () => {
      const { store } = backend;
      const saga = await held(store);
      isLost = true;
      await claimed(store, saga.name, 1, OTHER_WORKER).catch(() => undefined);
      await server.settled();
      expect((await loaded(store, saga.id)).lockedBy).toBe(WORKER.worker);
      isLost = false;
    });
  });
