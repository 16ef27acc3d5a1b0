import { SagaTransactionError } from '../../../errors.js';

/** read_only_sql_transaction */
const READ_ONLY = '25006';

/**
 * What the failure of a checkpoint in a step's transaction means. A transaction is read-only because the server is (a
 * standby, until a failover is over), which goes away by itself, or because the step's method made it so. Another
 * statement of the engine shows which: what the method has set applies to its transaction only.
 * @param query sends a statement of the engine
 * @returns a SagaTransactionError if the method is the reason, otherwise the error itself
 */
export async function readOnlyFailure(
  error: unknown,
  query: (text: string) => Promise<unknown>,
): Promise<unknown> {
  if ((error as { code?: unknown } | undefined)?.code !== READ_ONLY) return error;
  const asked = query(
    `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS expected`,
  ) as Promise<[{ expected: boolean }]>;
  const [{ expected }] = await asked.catch(() => [{ expected: true }] as const);
  if (expected) return error;
  // Without the cause, which looks as if it went away by itself.
  return new SagaTransactionError(
    'The result of the step is not stored: its method made its transaction read-only, but the checkpoint is written in ' +
      'the same transaction. Remove SET TRANSACTION READ ONLY (or transaction_read_only), or read in a step that is ' +
      'not transactional.',
  );
}
