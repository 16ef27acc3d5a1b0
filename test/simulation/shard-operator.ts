import { type NamedRow, registerShards } from '../../libs/saga/src/nest/shards/register-shards.js';
import type { StoredShard } from '../../libs/saga/src/engine/ports/stored-shard.js';
import { ForgetfulDatabase } from './forgetful-database.js';
import type { Dice } from './rng.js';
import type { ShardedFleet } from './sharded-fleet.js';
import type { SimulatedShard } from './sharded-process.js';
import type { Timeline } from './timeline.js';

/** Starts with keys stop for so many milliseconds before a change, and after it. */
const PAUSE = 5_000;
const CHANGES = 4;

/** A time in which a shard accepts no sagas. */
export interface Closed {
  readonly shard: SimulatedShard;
  readonly from: number;
  to: number;
}

/** An operator who adds a shard, drains shards and admits them again, while sagas start. */
export class ShardOperator {
  readonly closed: Closed[] = [];
  /** The shard that was added. */
  added: SimulatedShard | undefined;
  /** Whether starts with keys stop, because a shard is being drained or admitted. */
  paused = false;

  constructor(
    /** All of the configuration. */
    private readonly shards: SimulatedShard[],
    private readonly fleet: ShardedFleet,
    private readonly timeline: Timeline,
    private readonly dice: Dice,
    private readonly kind: 'careful' | 'hasty',
    /** A shard accepts sagas from now on. */
    private readonly admitted: () => void = () => undefined,
  ) {}

  async run(): Promise<void> {
    const { dice, shards } = this;
    const turn = dice.int(0, CHANGES - 1);
    for (let n = 0; n < CHANGES; n += 1) {
      await this.pass(dice.int(2_000, 10_000));
      if (n === turn) await this.add();
      const open = shards.filter(({ row }) => row.accepting);
      const drained = shards.filter(({ row }) => !row.accepting);
      if (open.length > 1 && (drained.length === 0 || dice.happens(0.6)))
        await this.change(dice.among(open), false);
      else if (drained.length > 0) await this.change(dice.among(drained), true);
    }
  }

  /** Whether a shard accepted sagas all the time since then. */
  hasAccepted(shard: SimulatedShard, since: number): boolean {
    return !this.closed.some((one) => one.shard === shard && one.to > since);
  }

  private async add(): Promise<void> {
    const { shards, timeline, kind } = this;
    while (shards.some(({ database }) => database.isDown)) await this.pass(500);
    let row: StoredShard | undefined;
    const register = async (one: Omit<StoredShard, 'changed' | 'closed'>) =>
      void (row = { ...one, changed: false, closed: false });
    const rows = { register, hasSagas: async () => false } as unknown as NamedRow['rows'];
    const known = shards.map((shard) => ({ name: shard.row.name, rows, row: shard.row }));
    await registerShards([...known, { name: 'africa', rows, row: undefined }]);
    this.added = { row: row!, database: new ForgetfulDatabase(timeline) };
    if (!row!.accepting) this.closed.push({ shard: this.added, from: timeline.now, to: Infinity });
    shards.push(this.added);
    const deployed = this.fleet.deploy();
    if (kind === 'careful') await deployed;
    await this.change(this.added, true);
    await deployed;
  }

  private async change(shard: SimulatedShard, accepting: boolean): Promise<void> {
    const { timeline, closed, kind } = this;
    this.paused = kind === 'careful';
    if (this.paused) await this.pass(PAUSE);
    while (shard.database.isDown) await this.pass(500);
    const { now } = timeline;
    if (accepting) closed.findLast((one) => one.shard === shard)!.to = now;
    else closed.push({ shard, from: now, to: Infinity });
    shard.row = { ...shard.row, accepting, changed: true };
    if (accepting) this.admitted();
    await this.pass(PAUSE);
    this.paused = false;
  }

  private pass(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.timeline.after(milliseconds, resolve));
  }
}
