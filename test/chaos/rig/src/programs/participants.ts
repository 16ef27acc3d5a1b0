import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import pg from 'pg';

/**
 * Rejects an effect that arrives after its compensation (its saga rolled back with the outcome unknown). A
 * participant that honours idempotency keys has to do this. Calls with the same key run one at a time.
 */
export const EFFECTS = `
CREATE TABLE effect (key text PRIMARY KEY, saga_id uuid NOT NULL, seq bigserial, calls int NOT NULL DEFAULT 1);
CREATE TABLE refused (key text NOT NULL);
CREATE INDEX ON refused (key);
CREATE FUNCTION apply(call text, saga uuid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE place bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(replace(call, ':compensate', ''), 0));
  IF EXISTS (SELECT FROM effect WHERE key = call || ':compensate') THEN
    INSERT INTO refused VALUES (call);
    RETURN NULL;
  END IF;
  INSERT INTO effect (key, saga_id) VALUES (call, saga)
  ON CONFLICT (key) DO UPDATE SET calls = effect.calls + 1 RETURNING seq INTO place;
  RETURN place;
END $$`;

/**
 * The other services: a database of their own, in which an effect is applied once per idempotency key, and
 * calls are counted.
 */
@Injectable()
export class Participants implements OnModuleDestroy {
  private readonly pool = new pg.Pool({ connectionString: process.env.PARTICIPANT_URL, max: 5 });

  constructor() {
    this.pool.on('error', () => undefined);
  }

  async apply(call: { sagaId: string; idempotencyKey: string }): Promise<string> {
    // A moment before and after the effect, so that faults come on either side of it.
    await sleep(Math.random() * 20);
    const { rows } = await this.pool.query<{ seq: string | null }>('SELECT apply($1, $2) AS seq', [
      call.idempotencyKey,
      call.sagaId,
    ]);
    await sleep(Math.random() * 20);
    if (rows[0]!.seq === null) throw new Error('undone already');
    return rows[0]!.seq;
  }

  async onModuleDestroy(): Promise<void> {
    await this.pool.end();
  }
}
