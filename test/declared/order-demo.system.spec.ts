import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sagaHere } from '../cli/support/saga-here.js';
import { TestApps } from '../support/test-app.js';
import { clientOf, ServedFolder } from './support/served-folder.js';

/** `apps/order-demo` as one file, whose participants are programs in Python. */
const DEMO = fileURLToPath(new URL('../../apps/order-demo/declared', import.meta.url));
const FILE = join(DEMO, 'place-order.yaml');
const hasPython = spawnSync('python3', ['--version']).status === 0;
const withPython = hasPython
  ? describe
  : (name: string, tests: () => void) => describe.skip(`${name}: SKIPPED, python3 was not found`, tests);

const NAMES = ['inventory', 'payment', 'shipping'] as const;
type Name = (typeof NAMES)[number];

/** The services, each with its database in a folder, and on the same port after each start. */
class Participants {
  private readonly ports = new Map<Name, string>();
  private readonly running = new Map<Name, ChildProcess>();
  /** How often a service was started again. */
  restarts = 0;
  private isClosing = false;

  constructor(private readonly folder: string) {}

  async start(name: Name): Promise<void> {
    // Without -B, it would leave files in the folder.
    const words = [
      '-B',
      join(DEMO, `${name}.py`),
      this.ports.get(name) ?? '0',
      join(this.folder, `${name}.db`),
    ];
    const child = spawn('python3', words, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.running.set(name, child);
    child.once('exit', (code) => void this.exited(name, code));
    const [text] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    this.ports.set(name, /:(\d+)\s*$/.exec(text)![1]!);
  }

  /** A supervisor, as systemd or Kubernetes would be. */
  private async exited(name: Name, code: number | null): Promise<void> {
    if (this.isClosing || code !== 9) return;
    await this.start(name);
    this.restarts += 1;
  }

  async stop(name: Name): Promise<void> {
    const child = this.running.get(name)!;
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }

  async close(): Promise<void> {
    this.isClosing = true;
    await Promise.all(NAMES.map((name) => this.stop(name)));
  }

  get environment(): Record<string, string> {
    return Object.fromEntries(NAMES.map((name) => [`${name.toUpperCase()}_URL`, this.urlOf(name)]));
  }

  async read(name: Name, path: string): Promise<unknown> {
    return (await fetch(`${this.urlOf(name)}${path}`)).json();
  }

  private urlOf(name: Name): string {
    return `http://127.0.0.1:${this.ports.get(name)}`;
  }
}

withPython('the order demo as one file', () => {
  let folder: string;
  let participants: Participants;
  let input: Record<string, unknown>;
  let orders = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'order-demo-'));
    input = JSON.parse(await readFile(join(DEMO, 'order.json'), 'utf8')) as Record<string, unknown>;
    participants = new Participants(folder);
    await Promise.all(NAMES.map((name) => participants.start(name)));
    Object.assign(process.env, participants.environment);
  });
  afterAll(async () => {
    for (const name of Object.keys(participants.environment)) delete process.env[name];
    await participants.close();
    await rm(folder, { recursive: true });
  });

  const someOrder = (given: object = {}) => {
    orders += 1;
    return { ...input, orderId: `order-${orders}`, ...given };
  };

  /** What the participants have of an order. */
  async function traces(order: { orderId: unknown }) {
    const id = String(order.orderId);
    const ledger = (await participants.read('payment', `/ledger/${id}`)) as {
      kind: string;
      amount: number;
    }[];
    return {
      stock: ((await participants.read('inventory', '/stock/tea')) as { available: number }).available,
      ledger: ledger.map(({ kind, amount }) => `${kind} ${amount}`),
      shipment: ((await participants.read('shipping', `/shipments/${id}`)) as { status: string }).status,
    };
  }

  interface End {
    readonly status: string;
    readonly results: Record<string, unknown>;
    readonly failure?: {
      readonly kind: string;
      readonly step: string;
      readonly error: { readonly message: string };
    };
    readonly steps: readonly { readonly name: string; readonly attempts: number; readonly status: string }[];
  }
  async function run(order: object, ...words: string[]): Promise<{ code: number; end: End }> {
    const { code, out } = await sagaHere(['run', FILE, '--input', JSON.stringify(order), '--json', ...words]);
    return { code, end: JSON.parse(out) as End };
  }

  test('completes: the stock is reserved, the card charged, and the parcel booked', async () => {
    const order = someOrder();
    const { stock } = await traces(order);
    const { code, end } = await run(order);
    expect([code, end.status]).toEqual([0, 'completed']);
    expect(end.results).toMatchObject({
      reserveStock: { reservationId: `r-${order.orderId}` },
      chargeCard: { paymentId: `p-${order.orderId}` },
      ship: `t-${order.orderId}`,
    });
    expect(await traces(order)).toEqual({ stock: stock - 2, ledger: ['charge 1200'], shipment: 'booked' });
  });

  test('with a declined card is compensated: the stock is released', async () => {
    const order = someOrder({ paymentToken: 'tok_declined' });
    const { stock } = await traces(order);
    const { code, end } = await run(order);
    expect(code).toBe(1);
    expect(end).toMatchObject({ status: 'compensated', failure: { kind: 'rejected', step: 'chargeCard' } });
    expect(end.failure!.error.message).toContain('answered 422: {"reason": "the card was declined"}');
    expect(await traces(order)).toEqual({ stock, ledger: [], shipment: 'none' });
  });

  test('that the carrier refuses is compensated: the card is refunded', async () => {
    const order = someOrder({ address: { ...(input.address as object), country: 'AQ' } });
    const { stock } = await traces(order);
    expect((await run(order)).code).toBe(1);
    expect(await traces(order)).toMatchObject({ stock, ledger: ['charge 1200', 'refund -1200'] });
  });

  test.each([
    ['--approve', 0, ['charge 120000']],
    ['--reject', 1, []],
  ])('of a large amount waits for an approval: %s', async (answer, exit, ledger) => {
    const order = someOrder({ amount: 120_000 });
    const { stock } = await traces(order);
    const { code, end } = await run(order, answer, 'approve');
    expect(code).toBe(exit);
    if (exit === 0) expect(end.results).toMatchObject({ approve: expect.any(String) });
    expect(await traces(order)).toMatchObject({ stock: exit === 0 ? stock - 2 : stock, ledger });
  });

  test('whose payment service dies before its answer is charged once: the same key gets the first answer', async () => {
    const order = someOrder({ paymentToken: 'tok_crash' });
    const before = participants.restarts;
    const { code, end } = await run(order);
    expect([code, end.status, participants.restarts]).toEqual([0, 'completed', before + 1]);
    expect(end.steps.find(({ name }) => name === 'chargeCard')!.attempts).toBeGreaterThan(1);
    expect(end.results.chargeCard).toEqual({ paymentId: `p-${order.orderId}` });
    expect(await traces(order)).toMatchObject({ ledger: ['charge 1200'], shipment: 'booked' });
  });

  test('whose carrier is down is compensated', async () => {
    const order = someOrder();
    const { stock } = await traces(order);
    await participants.stop('shipping');
    const { code, end } = await run(order);
    await participants.start('shipping');
    expect([code, end.failure]).toMatchObject([1, { step: 'ship', error: { code: 'SAGA_STEP_CALL' } }]);
    expect(await traces(order)).toEqual({ stock, ledger: ['charge 1200', 'refund -1200'], shipment: 'none' });
  });

  test('ends the same way by a daemon, to which a client sends it over REST', async () => {
    const served = await ServedFolder.create({});
    try {
      const client = clientOf(await served.start({ files: [FILE], network: { allowHosts: ['127.0.0.1'] } }));
      const ends = [];
      const [large, declined] = [someOrder({ amount: 120_000 }), someOrder({ paymentToken: 'tok_declined' })];
      for (const order of [large, declined]) {
        const { body: saga } = await client.post('/api/sagas', { saga: 'place-order', input: order });
        if (order === large) await client.post(`/api/sagas/${saga.id}/approve`, { step: 'approve' });
        ends.push((await client.get(`/api/sagas/${saga.id}?wait=60s`)).body.status);
      }
      expect(ends).toEqual(['completed', 'compensated']);
      expect(await traces(large)).toMatchObject({ ledger: ['charge 120000'], shipment: 'booked' });
      expect(await traces(declined)).toMatchObject({ ledger: [], shipment: 'none' });
    } finally {
      await served.end();
    }
  });

  describe('on PostgreSQL', () => {
    const apps = TestApps.onOwnDatabase();

    test('ends the same way', async () => {
      const { sagas } = await apps.start({ sagas: [], options: { declared: FILE } });
      const [good, declined] = [
        someOrder({ paymentToken: 'tok_crash' }),
        someOrder({ paymentToken: 'tok_declined' }),
      ];
      // One after the other: the crash would leave the outcome of another request unknown, too.
      const ends = [];
      for (const order of [good, declined]) {
        const { outcome } = await sagas.start('place-order', order);
        ends.push((await outcome()).status);
      }
      expect(ends).toEqual(['completed', 'compensated']);
      expect(await traces(good)).toMatchObject({ ledger: ['charge 1200'], shipment: 'booked' });
      expect(await traces(declined)).toMatchObject({ ledger: [], shipment: 'none' });
    });
  });
});
