import { randomBytes } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { connect } from '@restatedev/restate-sdk-clients';
import { SAGA } from '../../libs/restate/src/contracts.js';
import { restateEngine } from '../../libs/restate/src/index.js';
import { fromText } from '../../libs/restate/src/stored-text.js';
import type { KeptSaga } from '../../libs/restate/src/kept-saga.js';
import { AesGcmCodec } from '../../libs/saga/src/encryption.js';
import {
  describePrivateValues,
  leaks,
  placesOf,
  PRIVATE_OPTIONS,
  PRIVATE_SAGAS,
  show,
} from '../support/private-scene.js';
import { RestateServer, restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import { type TestApp, TestApps } from '../support/test-app.js';
import '../support/with-resolvers.mjs';

const METHODS = ['log', 'error', 'warn', 'debug', 'verbose', 'fatal'] as const;
const loggers = METHODS.map((name) => Logger.prototype[name]);
const codec = new AesGcmCodec({ keys: { k: randomBytes(32) }, current: 'k' });
const program = restateProgram();
/** The lease of a worker that is lost (ms). */
const LOST_FOR = 2_100;

if (!program) test.skip('There is no Restate server for this platform on npm', () => undefined);
else
  describe('with a codec, no value that an application or an operator gave is readable in what Restate is sent, or keeps', () => {
    const apps = TestApps.onOwnDatabase();
    const send = globalThis.fetch;
    let server: RestateServer;
    let app: TestApp;

    beforeAll(async () => {
      server = await RestateServer.start(program);
      for (const name of METHODS)
        Logger.prototype[name] = (...given: unknown[]) => show('a log line', ...given);
      globalThis.fetch = async (url, init) => {
        const { body } = init ?? {};
        const sent = body instanceof Uint8Array ? Buffer.from(body).toString() : body;
        show(`a call of ${new Request(url).url.replace(/^https?:..[^/]*/, '')}`, sent);
        return send(url, init);
      };
    });
    afterAll(async () => {
      METHODS.forEach((name, n) => (Logger.prototype[name] = loggers[n]!));
      globalThis.fetch = send;
      await server.stop();
    });

    const start = async (given: object) =>
      apps.start({
        sagas: PRIVATE_SAGAS,
        options: {
          ...{ ...PRIVATE_OPTIONS, ...given },
          engine: restateEngine({
            ...{ ingress: server.ingress, admin: server.admin, port: 0 },
            transport: { send: async () => undefined },
          }),
        },
      });
    beforeEach(async () => {
      app = await start({ codec });
    });
    afterEach(async () => {
      await app.close();
      await showState();
      expect(leaks()).toEqual([]);
    });

    async function showState(): Promise<void> {
      for (const { kept } of await server.query('SELECT value_utf8 AS kept FROM state'))
        show('the state of objects', String(kept));
    }
    const keptOf = async (id: string): Promise<KeptSaga['row']['saga']> => {
      const [row] = await server.query(
        `SELECT value_utf8 AS kept FROM state WHERE service_name = 'DurableSaga' AND service_key = '${id}'`,
      );
      return (fromText(String(row!.kept)) as KeptSaga).row.saga;
    };

    describePrivateValues(() => ({
      app,
      rests: async (id) => {
        const { lockedBy, dueAt = 0 } = await keptOf(id);
        return lockedBy === undefined && dueAt > Date.now();
      },
      loseWorker: async (id) => {
        const { name, version, dueAt } = await keptOf(id);
        const request = { lease: { worker: 'lost', duration: 0 }, sagas: [{ name, version }], limit: 1 };
        const now = Math.max(dueAt!, Date.now() + LOST_FOR);
        await connect({ url: server.ingress })
          .client(SAGA, id)
          .change({ method: 'claim', args: [request], now, worker: 'lost' });
      },
      showKept: showState,
    }));

    test('a correlation id is no private value, and is found there', async () => {
      const correlationId = 'found-by-the-test';
      await (await app.sagas.start('parcel', { to: 'x' }, { correlationId })).outcome();
      await showState();
      expect(placesOf(correlationId)).toEqual(
        expect.arrayContaining([
          'the state of objects',
          expect.stringMatching(/^a call of .DurableSagaCorr/),
        ]),
      );
    });
  });
