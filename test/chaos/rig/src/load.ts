import { setTimeout as sleep } from 'node:timers/promises';
import type { Type } from '@nestjs/common';
import {
  RigFamilySaga,
  RigFanSaga,
  type RigInput,
  RigLedgerSaga,
  RigOnceSaga,
  RigOrderSaga,
  RigQueueSaga,
} from './programs/rig-sagas.js';
import { rollingSaga } from './programs/rolling.saga.js';
import type { DemoEnvironment } from './stage.js';

const LANES = 10;

/** Starts that were acknowledged. */
export interface Started {
  /** Undefined: it was started without one. */
  readonly correlationId: string | undefined;
  readonly input: RigInput;
}

/** Sagas that are being started at a steady pace, each again until it is acknowledged. */
export class Load {
  readonly acknowledged = new Map<string, Started>();
  /** Errors that a start may not have. */
  readonly surprises: string[] = [];
  private going = true;
  private lanes: Promise<void>[] = [];
  private count = 0;

  constructor(
    protected readonly stage: DemoEnvironment,
    private readonly perSecond: number,
  ) {}

  begin(): void {
    this.lanes = Array.from({ length: LANES }, () => this.lane());
  }

  /** Starts no more; resolves once the last is acknowledged. */
  async end(): Promise<void> {
    this.going = false;
    await Promise.all(this.lanes);
  }

  private async lane(): Promise<void> {
    const pace = (LANES * 1_000) / this.perSecond;
    while (this.going) {
      const began = performance.now();
      await this.startOne((this.count += 1));
      await sleep(Math.max(0, began + pace * (0.5 + this.stage.chance.next()) - performance.now()));
    }
  }

  protected async startOne(n: number): Promise<void> {
    const input = inputOf(n);
    const correlationId = `rig-${n}`;
    for (let tries = 0; ; tries += 1) {
      try {
        const id = await this.start(n, input, correlationId);
        this.acknowledged.set(id, { correlationId, input });
        return;
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        // It may or may not have arrived: the same correlation id finds out.
        if (code === 'SAGA_UNAVAILABLE' && tries < 20) continue;
        this.surprises.push(`start: ${code ?? ''} ${message}`);
        return;
      }
    }
  }

  private async start(n: number, input: RigInput, correlationId: string): Promise<string> {
    const { daemon } = this.stage;
    if (daemon) return daemon.start(input, correlationId);
    const { id } = await this.stage.service.start(this.kindOf(n), input, { correlationId });
    return id;
  }

  protected kindOf(n: number): Type {
    const kinds = [
      ...[RigOrderSaga, RigLedgerSaga, RigOnceSaga, RigFamilySaga, RigQueueSaga, RigFanSaga],
      rollingSaga(this.stage.version),
    ];
    return kinds[n % kinds.length]! as Type;
  }
}

export function inputOf(n: number): RigInput {
  return { n, refused: n % 4 === 0, shaky: n % 5 === 0 };
}
