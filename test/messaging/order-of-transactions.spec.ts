import pg from 'pg';
import { fuzz } from '../fixtures/fuzz-settings.js';
import { MessageRefusedError } from '../../libs/messaging/src/index.js';
import { Rng, type Dice } from '../simulation/rng.js';
import { pause, until } from '../support/gate.js';
import { keysOfOneLane } from './support/lanes.js';
import { MemoryBroker, payloadOf } from './support/memory-broker.js';
import { type MessagingApp, MessagingApps } from './support/messaging-apps.js';
import { OrderOracle } from './support/order-oracle.js';
import { Publishers } from './support/publishers.js';

const apps = MessagingApps.onOwnDatabase();

const STEPS = 1_500;
/** How often each session has its turn: two of them stay open for hundreds of steps. */
const SESSIONS = [20, 20, 20, 20, 20, 20, 20, 1, 0.3];
/** So often a lease runs out at some step, as if its relay had stood still. */
const LEASES_END = 0.1;

const END_LEASE = `UPDATE saga.outbox_lane SET leased_until = '-infinity'
  WHERE lane = (hashtextextended('orders ' || $1, 0) & 63) AND leased_by IS NOT NULL`;

/** Takes its time, refuses some messages for a while, and some until they are requeued. */
class MoodyBroker extends MemoryBroker {
  private readonly moods = new Map<string, 'fine' | 'once' | 'dead'>();

  constructor(private readonly dice: Dice) {
    super();
    this.before = async (message) => {
      await pause(this.dice.long(0, 3));
      const payload = payloadOf(message);
      const mood = this.moods.get(payload) ?? this.dice.weighed({ fine: 96, once: 3, dead: 1 });
      this.moods.set(payload, mood === 'dead' ? 'dead' : 'fine');
      if (mood !== 'fine') throw new MessageRefusedError('not now');
    };
  }

  soothe(payload: string): void {
    this.moods.set(payload, 'fine');
  }
}

/** Requeues dead messages, and discards some, until nothing is left to do. */
async function operate(app: MessagingApp, broker: MoodyBroker, oracle: OrderOracle, dice: Dice) {
  for (const { id, payload } of (await app.outbox.dead()).items) {
    broker.soothe(String(payload));
    if (dice.happens(0.7)) await app.outbox.requeue([id]);
    else if ((await app.outbox.discard([id])) === 1) oracle.discards(String(payload));
  }
}

const { seed: base, numRuns } = fuzz(3);
const seeds = Array.from({ length: numRuns }, (_, n) => base * 1_000 + n);

test.each(seeds)(
  'transactions that followed each other are sent in order, all of them, and nothing that rolled back (seed %i)',
  async (seed) => {
    const chance = new Rng(seed);
    const [broker, oracle] = [new MoodyBroker(chance.for('broker')), new OrderOracle()];
    const relay = {
      ...{ batch: 4, batchesAtOnce: 2, pollInterval: 20 },
      retry: { attempts: 3, delay: 5, maxDelay: 20 },
    };
    const start = () => apps.start({ messaging: { transport: broker, relay } });
    const [operator, leaving] = [await start(), await start(), await start()];
    const keys = [...(await keysOfOneLane(apps, 4)), 'a', 'b'];
    const publishers = await Publishers.connect(
      ...([apps.url, SESSIONS, keys, chance.for('publishers'), oracle] as const),
    );
    const stranger = new pg.Client({ connectionString: apps.url });
    await stranger.connect();
    const dice = chance.for('beside');

    for (let step = 0; step < STEPS; step += 1) {
      await publishers.step();
      if (step % 300 === 0) await stranger.query('COMMIT; BEGIN; SELECT pg_current_xact_id()');
      if (dice.happens(0.02)) await operate(operator, broker, oracle, dice);
      if (dice.happens(LEASES_END)) await apps.sql(END_LEASE, [dice.among(keys)]);
      if (step === STEPS / 2) {
        await leaving.close();
        await start();
      }
    }
    await publishers.end();
    // The stranger's transaction is open to the end.
    await until(async () => {
      await operate(operator, broker, oracle, dice);
      return (await apps.outboxRows()).length === 0;
    });
    await stranger.end();
    expect(oracle.flaws(broker.payloads)).toEqual([]);
  },
  120_000,
);
