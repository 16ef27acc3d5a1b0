import { openRestate } from '../../libs/restate/src/restate-backend.js';
import { RestateServer, restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import '../support/with-resolvers.mjs';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const KEY = 'publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f';
const program = restateProgram();

(program ? test : test.skip)(
  'with identityKeys, a process refuses requests that are not signed by them',
  async () => {
    const server = await RestateServer.start(program!);
    const { ingress, admin } = server;
    const options = { ingress, admin, port: 0, identityKeys: [KEY] };
    const process = { worker: 'worker-1', patience: 20_000, log: SILENT };
    const opened = openRestate(options, { ...process, relayed: (message) => message });
    // The server of the test signs nothing, and cannot even ask what is served.
    await expect(opened).rejects.toThrow(/could not be registered with Restate/);
    await server.stop();
  },
  120_000,
);
