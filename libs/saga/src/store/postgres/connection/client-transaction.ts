import { SagaTransactionError } from '../../../errors.js';
import { homeOf } from './home-database.js';
import { OWN_TYPES } from './own-types.js';
import type { PgClient, PgPool } from './pg-types.js';
import { withoutParameters } from './redact-message.js';
import type { JoinedTransaction } from './saga-database.js';
import { TransactionWatch } from './transaction-watch.js';
import { asEngineFailure } from './transient-errors.js';

/** A transaction that an application has given. */
export interface GivenTransaction {
  /** The connections of the module's database. */
  readonly pool: PgPool;
  /** The object of the layer that stands for this transaction and for no other. Undefined: the layer has none. */
  readonly handle?: object;
  /** How the application opens a transaction, for an error message. */
  readonly fix: string;
}

/**
 * The engine's statements in a transaction of the application, on the connection of pg that it uses. What they answer is
 * read by the engine's own parsers, and their errors carry nothing that they were given.
 */
export class ClientTransaction implements JoinedTransaction {
  /** @param find returns the connection */
  constructor(
    private readonly find: () => PgClient | Promise<PgClient>,
    private readonly given: GivenTransaction,
  ) {}

  async query<Rows = unknown>(text: string, parameters?: unknown[]): Promise<Rows> {
    return sendOn<Rows>(await this.find(), this.given, text, parameters);
  }

  async connection(): Promise<object> {
    return this.find();
  }

  follow(): (() => boolean) | undefined {
    const client = this.find();
    return 'then' in client ? undefined : TransactionWatch.on(client).follow();
  }
}

/**
 * Sends a statement of the engine in a transaction of the application.
 * @throws SagaTransactionError if the connection is in no transaction, if the transaction has ended and the connection is in
 * another one, or if it is of another database
 */
export async function sendOn<Rows>(
  client: PgClient,
  { pool, handle, fix }: GivenTransaction,
  text: string,
  values: unknown[] | undefined,
): Promise<Rows> {
  const watch = TransactionWatch.on(client);
  if (watch.isIdle)
    throw new SagaTransactionError(`The connection that was given is in no transaction. ${fix}`);
  if (handle && watch.hasEnded(handle)) throw transactionEnded(fix);
  try {
    const elsewhere = homeOf(pool).require(client, async (question) => {
      const { rows } = await client.query<{ home: string }>({ text: question, types: OWN_TYPES });
      return rows;
    });
    if (elsewhere) await elsewhere;
    return (await client.query({ text, values, types: OWN_TYPES })).rows as Rows;
  } catch (error) {
    throw asEngineFailure(withoutParameters(error));
  } finally {
    if (handle) watch.usedBy(handle);
  }
}

export function transactionEnded(fix: string): SagaTransactionError {
  return new SagaTransactionError(`The transaction that was given has already ended. ${fix}`);
}
