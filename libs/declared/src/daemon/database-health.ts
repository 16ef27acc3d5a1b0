import type pg from 'pg';
import { inTime, serializeError } from 'nestjs-durable-saga/internal';

/** How long (ms) an answer is used. */
const FRESH = 1_000;
/** How long (ms) the database may take. */
const TIMEOUT = 3_000;

/**
 * Whether the database answers. Everybody may ask, so that it costs one small statement a second, however many do: it counts
 * no sagas, and takes no second connection while the first one waits.
 */
export class DatabaseHealth {
  private asked: Promise<string | undefined> | undefined;
  private asking: Promise<unknown> | undefined;

  constructor(
    private readonly pool: pg.Pool,
    private readonly schema: string,
  ) {}

  /** Returns why the database does not answer. Undefined: it does. */
  problem(): Promise<string | undefined> {
    this.asked ??= this.ask().finally(() => setTimeout(() => (this.asked = undefined), FRESH).unref());
    return this.asked;
  }

  private async ask(): Promise<string | undefined> {
    // One that is late goes on: it has its connection until the database answers.
    this.asking ??= this.pool
      .query(`SELECT FROM "${this.schema}".migration LIMIT 1`)
      .finally(() => (this.asking = undefined));
    try {
      await inTime(TIMEOUT, 'the database', this.asking);
      return undefined;
    } catch (error) {
      return serializeError(error).message;
    }
  }
}
