import type { Feature } from '../contract/features.js';
import { describeSagaStore } from '../contract/saga-store.contract.js';
import type { StoreSubject } from '../contract/store-subject.contract.js';
import type { WakeupMessage } from '../../libs/saga/src/engine/ports/wakeup.js';
import { openRestate } from '../../libs/restate/src/restate-backend.js';
import { RestateServer, restateProgram } from '../support/restate-server.js';
import '../support/with-resolvers.mjs';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };

/** What Restate does not keep yet. */
const REFUSED: readonly Feature[] = [
  ...(['transactions', 'messages', 'announcements of free slots', 'turns of keys'] as const),
  ...(['the time of the next due saga', 'a clock set back', 'failovers', 'answers of bounded size'] as const),
];
const program = restateProgram();

async function subject(): Promise<StoreSubject> {
  const server = await RestateServer.start(program!);
  let passed = 0;
  const { ingress, admin } = server;
  const messages: WakeupMessage[] = [];
  const backend = await openRestate(
    { ingress, admin, port: 0 },
    {
      worker: 'worker-1',
      patience: 20_000,
      log: SILENT,
      now: () => Date.now() + passed,
      announced: (message) => messages.push(message),
    },
  );
  const claim = backend.store.claim.bind(backend.store);
  backend.store.claim = async (request) => {
    // Sagas are offered, and locks handed over, by messages.
    await server.settled();
    return claim(request);
  };
  return {
    ...backend,
    pageBytes: 256 * 1024,
    largestAnswerTo: async (work) => {
      await work();
      return 0;
    },
    messages,
    outbox: async () => [],
    advance: async (ms) => {
      passed += ms;
      await backend.offerAll();
    },
    close: async () => {
      await backend.close();
      await server.stop();
    },
  };
}

if (program) describeSagaStore('RestateSagaStore', subject, REFUSED);
else test.skip('There is no Restate server for this platform on npm', () => undefined);
