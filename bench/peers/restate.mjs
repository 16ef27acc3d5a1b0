// Restate: a server of its own, with its own store, and a handler of three no-op ctx.run calls whose compensations a catch runs
// in reverse. Durability: its log is a RocksDB with a write-ahead log, which the server syncs (fdatasync) for each batch before
// it acknowledges an entry, as `log-server.rocksdb-disable-wal-fsync` is false by default. All options are the defaults.
// --nodes=3: a cluster in which each entry is on two nodes
// --variant=call (default): a call in flight until its result; --conc calls at once. send: one-way calls
import { createServer } from 'node:http2';
import { args, main, pkgVersion, skip, tracker, windowed } from './lib.mjs';
import { RestateServer, serverPackage } from './restate-server.mjs';

const variant = args.variant ?? 'call';
const window = args.conc ?? 300;

const [restate, clients] = await Promise.all([
  import('@restatedev/restate-sdk'),
  import('@restatedev/restate-sdk-clients'),
]).catch((error) => skip('restate', variant, `its SDK is not installed: ${error.message}`));
const version =
  serverPackage() ??
  skip('restate', variant, `no package of its server is installed for ${process.platform} ${process.arch}`);

const step = async () => 1;
const undo = async () => {};
const saga = restate.service({
  name: 'saga',
  handlers: {
    async run(ctx, i) {
      const compensations = [];
      try {
        for (const name of ['s1', 's2', 's3']) {
          compensations.push(() => ctx.run(`undo ${name}`, undo));
          await ctx.run(name, step);
        }
      } catch (error) {
        if (error instanceof restate.TerminalError)
          for (const compensate of compensations.reverse()) await compensate();
        throw error;
      }
      queueMicrotask(() => tracker.done(i));
      return i;
    },
  },
});

const server = new RestateServer();
const endpoint = createServer({}, restate.createEndpointHandler({ services: [saga], logger() {} }));
let ingress;

const adapter = {
  engine: 'restate',
  version,
  variant: args.nodes ? `${args.nodes} nodes` : variant,
  settings: { SDK: pkgVersion('@restatedev/restate-sdk'), window },
  ownStore: true,
  serverCpu: () => server.cpu(),
  async install() {},
  async start() {
    await new Promise((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
    await server.start(args.nodes);
    await server.register(`http://127.0.0.1:${endpoint.address().port}`);
    ingress = clients.connect({ url: server.ingress });
  },
  submit(from, n) {
    const client = variant === 'call' ? ingress.serviceClient(saga) : ingress.serviceSendClient(saga);
    return windowed(from, n, window, (i) => client.run(i));
  },
  async allDone() {
    if (variant === 'call') return true; // Each call had its result, which is stored before it is sent.
    return (
      (await server.query(`SELECT 1 FROM sys_invocation WHERE status <> 'completed' LIMIT 1`)).length === 0
    );
  },
  async finished() {
    const [{ sagas }] = await server.query(
      `SELECT count(*) AS sagas FROM sys_invocation WHERE status = 'completed'`,
    );
    const [{ steps }] = await server.query(
      `SELECT count(*) AS steps FROM sys_journal WHERE entry_type = 'Notification: Run'`,
    );
    return { sagas, steps };
  },
  startOne: async (i) => (await ingress.serviceSendClient(saga).run(i)).invocationId,
  /** Answers once the result is stored, over another connection. */
  async isDone(invocationId) {
    await ingress.result({ invocationId, status: 'Accepted', attachable: true });
    return true;
  },
  stop: () => server.stop(),
  preload() {
    throw new Error('not measured');
  },
};
await main(adapter);
