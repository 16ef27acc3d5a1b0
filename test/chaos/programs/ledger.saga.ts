import { Saga, Step, type TransactionalStepContext } from 'nestjs-durable-saga';
import { holdForEver, report } from './report.js';

export const LEDGER_TABLE =
  'CREATE TABLE ledger (id serial PRIMARY KEY, saga_id uuid NOT NULL, entry text NOT NULL)';

/** Writes into the saga's own database: the write and the checkpoint commit together, or not at all. */
@Saga({ name: 'ledger' })
export class LedgerSaga {
  @Step({ transactional: true })
  async book(ctx: TransactionalStepContext<{ hold: boolean }>): Promise<string> {
    await ctx.manager.query('INSERT INTO ledger (saga_id, entry) VALUES ($1, $2)', [ctx.sagaId, 'booked']);
    report({ type: 'written', pid: process.pid });
    // Only the process that a test is about to kill.
    if (ctx.input.hold && process.env.HOLD === 'true') await holdForEver();
    return 'booked';
  }
}
