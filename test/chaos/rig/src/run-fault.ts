import { setTimeout as sleep } from 'node:timers/promises';
import { Chance } from './chance.js';
import { check } from './check.js';
import type { Fault } from './stage.js';
import type { Figures } from './figures.js';
import { Load } from './load.js';
import { ended, recovered } from './recovery.js';
import { ShardedLoad } from './sharded-load.js';
import { DemoEnvironment } from './stage.js';
import { unexplained } from './unexplained.js';

export interface RunOptions {
  readonly minutes: number;
  readonly seed: number;
  /** Sagas started a second. */
  readonly rate: number;
  readonly say: (line: string) => void;
}

/** Unfinished sagas may take this long (ms) to end after a fault. Afterwards they count as lost. */
const PATIENCE = 90_000;
/** The pause (ms) between two injections, in which all is well. */
const BREATH = 1_500;
/** A worker that was just replaced learns of things by polling at the latest. */
const WARM_UP = 2_000;

/**
 * Injects a fault again and again under a steady load, and counts what it did. Undefined: it is not permitted
 * here.
 */
export async function runFault(fault: Fault, options: RunOptions): Promise<Figures | undefined> {
  const chance = new Chance(options.seed);
  const stage = await DemoEnvironment.set(fault, chance);
  if (!stage) return undefined;
  try {
    const load = fault.shards ? new ShardedLoad(stage, options.rate) : new Load(stage, options.rate);
    load.begin();
    await sleep(WARM_UP);
    const began = performance.now();
    const recoveries: number[] = [];
    const end = began + options.minutes * 60_000;
    do {
      await fault.inject(stage);
      const recovery = await recovered(stage.databases, PATIENCE);
      recoveries.push(recovery);
      options.say(`${fault.name}: injection ${recoveries.length}, recovered in ${Math.round(recovery)} ms`);
      await findUnexplained(stage);
      if (recovery === Infinity) break;
      await fault.repair?.(stage);
      await sleep(BREATH * (0.5 + chance.next()));
    } while (performance.now() < end);
    const minutes = (performance.now() - began) / 60_000;
    // The last sagas start after the last fault. The unfinished ones have the same time to end.
    await load.end();
    await Promise.all(stage.databases.map((sagas) => ended(sagas, PATIENCE)));
    await findUnexplained(stage);
    const findings = await check(stage, load.acknowledged);
    const unexpected = [...load.surprises, ...stage.surprises];
    for (const [kind, list] of Object.entries<string[]>({ ...findings, unexpected }))
      for (const line of list.slice(0, 20)) options.say(`${fault.name}: ${kind}: ${line}`);
    return {
      fault: fault.name,
      date: new Date().toISOString().slice(0, 10),
      minutes,
      injections: recoveries.length,
      sagas: load.acknowledged.size,
      lost: findings.lost.length,
      doubled: findings.doubled.length,
      wrong: findings.wrong.length + unexpected.length,
      stuck: findings.stuck.length,
      recoveryMedian: median(recoveries),
      recoveryMax: Math.max(...recoveries),
    };
  } finally {
    await stage.strike();
  }
}

/** While sagas go on: none of them may wait for nothing. */
async function findUnexplained({ databases, surprises }: DemoEnvironment): Promise<void> {
  for (const sagas of databases) surprises.push(...(await unexplained(sagas)));
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}
