import { untilSettled, reconcile, DemoEnvironment } from 'credit-demo/demo';
import { Chance } from '../chance.js';
import { CreditLoad } from './credit-load.js';
import { Killer, type Victim } from './killer.js';

export interface CreditOptions {
  readonly orders: number;
  /** Orders that come in a second. */
  readonly rate: number;
  readonly seed: number;
  /** Milliseconds between two kills, least and most. Default: 1,000 and 7,000. */
  readonly calm?: readonly [least: number, most: number];
  readonly say: (line: string) => void;
}

/** What a run came to. */
export interface CreditFigures {
  /** The date of the run: YYYY-MM-DD. */
  readonly date: string;
  readonly minutes: number;
  /** Acknowledged. */
  readonly orders: number;
  readonly kills: Readonly<Record<Victim, number>>;
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
  /** Milliseconds from the last order until everything was idle. */
  readonly rest: number;
  /** What was counted, in words. */
  readonly claims: readonly string[];
}

/** If nothing happens for this time (ms), unfinished orders count as lost. */
const PATIENCE = 60_000;

/** The credit demo under a steady load of orders, while its processes and its broker are killed at random. */
export async function runCredit(options: CreditOptions): Promise<CreditFigures> {
  const { orders, rate, seed, calm = [1_000, 7_000], say } = options;
  const chance = new Chance(seed);
  const stage = new DemoEnvironment({ broker: 'mqtt' });
  try {
    await stage.open();
    const load = new CreditLoad(stage, chance, orders, rate);
    await load.prepare();
    const killer = new Killer(stage, chance, calm);
    const began = performance.now();
    killer.begin();
    await load.run();
    await killer.end();
    const ended = performance.now();
    const claims = await untilSettled(() => reconcile(stage), PATIENCE);
    const problems = {
      lost: await neverSeen(stage, load),
      doubled: [] as string[],
      wrong: unexpected(load, killer),
    };
    for (const claim of claims) problems[claim.kind].push(...claim.problems);
    for (const [kind, list] of Object.entries<string[]>(problems))
      for (const line of list.slice(0, 20)) say(`${kind}: ${line}`);
    return {
      date: new Date().toISOString().slice(0, 10),
      minutes: (performance.now() - began) / 60_000,
      orders: load.acknowledged.size,
      kills: killer.kills,
      lost: problems.lost.length,
      doubled: problems.doubled.length,
      wrong: problems.wrong.length,
      rest: performance.now() - ended,
      claims: claims.map(({ what }) => what),
    };
  } finally {
    await stage.close();
  }
}

/** Orders that were acknowledged, and are not there. */
async function neverSeen(stage: DemoEnvironment, { acknowledged }: CreditLoad): Promise<string[]> {
  const rows = await stage.database('order').query<{ id: string }>('SELECT id FROM "order"');
  const there = new Set(rows.map(({ id }) => id));
  return [...acknowledged.keys()]
    .filter((id) => !there.has(id))
    .map((id) => `the order ${id} was acknowledged, and is not there`);
}

function unexpected(load: CreditLoad, killer: Killer): string[] {
  return [...load.surprises, ...killer.surprises];
}
