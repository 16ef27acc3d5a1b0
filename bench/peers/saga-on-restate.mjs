// nestjs-durable-saga on a Restate server, which is a server of its own with its own store: the application of saga.mjs with
// restateEngine(). Durability: as in restate.mjs.
// --conc sagas advanced at once, --window starts in flight until their sagas are finished, --nodes=3: a cluster
import { SagaModule } from 'nestjs-durable-saga';
import { restateEngine } from 'nestjs-durable-saga-restate';
import { BenchApp, version } from './bench-saga.mjs';
import { args, main, skip } from './lib.mjs';
import { RestateServer, serverPackage } from './restate-server.mjs';

const conc = args.conc ?? 300;
const window = args.window ?? 300;
const nodes = args.nodes ?? 1;

if (!serverPackage())
  skip(
    'saga-on-restate',
    'outcome',
    `no package of its server is installed for ${process.platform} ${process.arch}`,
  );

const server = new RestateServer();
const app = new BenchApp();

const COMPLETED = '"status":"completed"';
/** A row of a saga that is completed says so of itself, and of each of its steps. */
const FINISHED =
  `SELECT count(*) AS sagas, sum(char_length(value_utf8) - char_length(replace(value_utf8, '${COMPLETED}', ''))) AS chars ` +
  `FROM state WHERE service_name = 'DurableSaga' AND key = 'saga' AND value_utf8 LIKE '%"state":{${COMPLETED}%'`;

await main({
  engine: 'saga-on-restate',
  version,
  variant: nodes > 1 ? `${nodes} nodes` : 'outcome',
  settings: { conc, window },
  ownStore: true,
  serverCpu: () => server.cpu(),
  async install() {},
  async start() {
    await server.start(nodes);
    const { ingress, admin } = server;
    const engine = restateEngine({ ingress, admin, port: 0 });
    await app.start(SagaModule.forRoot({ engine, worker: { concurrency: conc } }));
  },
  submit: (from, n) => app.submit(from, n, window, true),
  allDone: async () => true, // Each start was awaited until its saga was finished, as it is stored.
  async finished() {
    const [{ sagas: completed, chars }] = await server.query(FINISHED);
    return { sagas: completed, steps: chars / COMPLETED.length - completed };
  },
  startOne: (i) => app.startOne(i),
  isDone: (id) => app.isCompleted(id),
  async stop() {
    await app.close();
    await server.stop();
  },
  preload() {
    throw new Error('not measured');
  },
});
