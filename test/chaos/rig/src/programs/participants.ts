import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import pg from 'pg';

export const EFFECTS = `
CREATE TABLE effect (
  key text PRIMARY KEY,
  saga_id uuid NOT NULL,
  seq bigserial,
  calls int NOT NULL DEFAULT 1
)`;

/** The other services: a database of their own, in which an effect is applied once per idempotency key, and calls are counted. */
@Injectable()
export class Participants implements OnModuleDestroy {
  private readonly pool = new pg.Pool({ connectionString: process.env.PARTICIPANT_URL, max: 5 });

  constructor() {
    this.pool.on('error', () => undefined);
  }

  async apply(call: { sagaId: string; idempotencyKey: string }): Promise<string> {
    // A moment before and after the effect, so that faults come on either side of it.
    await sleep(Math.random() * 20);
    const { rows } = await this.pool.query<{ seq: string }>(
      `INSERT INTO effect (key, saga_id) VALUES ($1, $2)
       ON CONFLICT (key) DO UPDATE SET calls = effect.calls + 1 RETURNING seq`,
      [call.idempotencyKey, call.sagaId],
    );
    await sleep(Math.random() * 20);
    return rows[0]!.seq;
  }

  async onModuleDestroy(): Promise<void> {
    await this.pool.end();
  }
}
