import { setTimeout as sleep } from 'node:timers/promises';
import { type Service, SERVICES, type DemoEnvironment } from 'credit-demo/demo';
import type { DemoProcess } from 'demo-support';
import type { Chance } from '../chance.js';

export type Victim = Service | 'broker';
export const VICTIMS: readonly Victim[] = [...SERVICES, 'broker'];

/** Milliseconds that the dead stay dead, least and most. */
const DOWN: readonly [number, number] = [0, 2_000];

/**
 * SIGKILL to one of the four processes after the other, at random; each comes back by itself, some time
 * later. A process may be killed while it starts, but not again until it has been ready: on a slow machine, where a start takes
 * longer than the time between two kills, a service would never be there.
 */
export class Killer {
  readonly kills: Record<Victim, number> = { order: 0, customer: 0, payment: 0, broker: 0 };
  /** Exits that the rig did not cause. */
  readonly surprises: string[] = [];
  private readonly killed = new Set<DemoProcess>();
  private readonly ready = new WeakSet<DemoProcess>();
  /** Killed while they started, and not ready since. */
  private readonly cutShort = new Set<Victim>();
  private readonly comingBack = new Set<Promise<void>>();
  private going = true;
  private run: Promise<void> | undefined;

  /**
   * @param calm milliseconds between two kills
   */
  constructor(
    private readonly stage: DemoEnvironment,
    private readonly chance: Chance,
    private readonly calm: readonly [least: number, most: number],
  ) {
    for (const victim of VICTIMS) this.watch(victim);
  }

  begin(): void {
    this.run = this.killAtRandom();
  }

  /** Resolves once all four are there again. */
  async end(): Promise<void> {
    this.going = false;
    await this.run;
    while (this.comingBack.size > 0) await Promise.all(this.comingBack);
    await Promise.all(VICTIMS.map((victim) => this.processOf(victim).ready()));
  }

  private async killAtRandom(): Promise<void> {
    for (;;) {
      await sleep(this.chance.between(...this.calm));
      if (!this.going) return;
      const victim = this.chance.one(VICTIMS);
      const process = this.processOf(victim);
      if (!process.running || !this.mayBeKilled(victim)) continue;
      this.kills[victim] += 1;
      this.killed.add(process);
      await process.kill();
    }
  }

  private mayBeKilled(victim: Victim): boolean {
    if (this.ready.has(this.processOf(victim))) return true;
    if (this.cutShort.has(victim)) return false;
    this.cutShort.add(victim);
    return true;
  }

  /** As a supervisor would: whatever ends is started again. */
  private watch(victim: Victim): void {
    const process = this.processOf(victim);
    void process.ready().then(
      () => {
        this.ready.add(process);
        this.cutShort.delete(victim);
      },
      () => undefined, // It ended before, which ended() tells.
    );
    void process.ended().then(() => {
      if (!this.killed.has(process)) {
        if (!this.going) return;
        this.surprises.push(`${process.lastWords} ended by itself`);
      }
      const back = this.bringBack(victim).finally(() => this.comingBack.delete(back));
      this.comingBack.add(back);
    });
  }

  private async bringBack(victim: Victim): Promise<void> {
    await sleep(this.chance.between(...DOWN));
    if (victim === 'broker') this.stage.broker.relaunch!();
    else this.stage.launch(victim);
    this.watch(victim);
  }

  private processOf(victim: Victim): DemoProcess {
    return victim === 'broker' ? this.stage.broker.process! : this.stage.process(victim);
  }
}
