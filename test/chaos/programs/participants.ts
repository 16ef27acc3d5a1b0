import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import pg from 'pg';
import { holdForEver, report } from './report.js';

export const PARTICIPANT_TABLE = `
CREATE TABLE effect (
  key text PRIMARY KEY,
  saga_id uuid NOT NULL,
  step text NOT NULL,
  compensation boolean NOT NULL,
  seq bigserial,
  calls int NOT NULL DEFAULT 1,
  known_result text
)`;

/**
 * The other services: a database of their own, in which each effect is applied once per idempotency key, and
 * every call is counted.
 */
@Injectable()
export class Participants implements OnModuleDestroy {
  private readonly pool = new pg.Pool({ connectionString: process.env.PARTICIPANT_URL, max: 10 });

  constructor() {
    this.pool.on('error', () => undefined);
  }

  async apply(call: {
    idempotencyKey: string;
    sagaId: string;
    step: string;
    compensation: boolean;
    /** What the saga says the step returned; compensations only. */
    knownResult?: string;
    /**
     * The first call with its key applies the effect, reports it, and never returns. A process that is killed
     * then is in the middle of a step.
     */
    held?: boolean;
  }): Promise<{ receipt: string }> {
    // A moment before and after the effect, so that workers die on either side of it.
    await sleep(Math.random() * 10);
    const { rows } = await this.pool.query<{ seq: string; calls: number }>(
      `INSERT INTO effect (key, saga_id, step, compensation, known_result) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (key) DO UPDATE SET calls = effect.calls + 1 RETURNING seq, calls`,
      [call.idempotencyKey, call.sagaId, call.step, call.compensation, call.knownResult],
    );
    if (call.held && rows[0]!.calls === 1) {
      report({ type: 'holding' });
      await holdForEver();
    }
    await sleep(Math.random() * 10);
    return { receipt: rows[0]!.seq };
  }

  async onModuleDestroy(): Promise<void> {
    await this.pool.end();
  }
}
