import type { StoreSubject } from '../contract/store-subject.contract.js';
import type { WakeupMessage } from '../../libs/saga/src/engine/ports/wakeup.js';
import type { StoredMessage } from '../../libs/saga/src/engine/ports/checkpoint.js';
import { openRestate } from '../../libs/restate/src/restate-backend.js';
import { applicationDatabase } from './application-database.js';
import { RestateServer } from '../../libs/demo-support/src/restate/restate-server.js';
import '../support/with-resolvers.mjs';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };

/**
 * A Restate server of its own.
 * @param isExact a claim finds what was sent before it: sagas are offered, and locks handed over, by messages. For one caller
 * at a time: it waits until no other call is in progress
 */
export async function restateSubject(
  program: string,
  { isExact }: { readonly isExact: boolean },
): Promise<StoreSubject> {
  const server = await RestateServer.start(program);
  const database = await applicationDatabase();
  let passed = 0;
  const { ingress, admin } = server;
  const messages: WakeupMessage[] = [];
  const sent: StoredMessage[] = [];
  const backend = await openRestate(
    { ingress, admin, port: 0, transport: { send: async (message) => void sent.push(message) } },
    {
      worker: 'worker-1',
      patience: 20_000,
      log: SILENT,
      relayed: (message) => message,
      own: database.own,
      now: () => Date.now() + passed,
      announced: (message) => messages.push(message),
    },
  );
  const claim = backend.store.claim.bind(backend.store);
  backend.store.claim = async (request) => {
    if (isExact) await server.settled();
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
    outbox: async () => {
      await server.settled();
      return sent;
    },
    advance: async (ms) => {
      passed += ms;
      await backend.offerAll();
    },
    close: async () => {
      await backend.close();
      await server.stop();
      await database.drop();
    },
  };
}
