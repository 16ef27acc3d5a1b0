import { SagaTransactionError } from '../../../errors.js';
import { OWN_TYPES } from './own-types.js';
import type { PgClient } from './pg-types.js';
import { withoutValues } from './redact-message.js';
import type { JoinedTransaction } from './saga-database.js';
import { TransactionWatch } from './transaction-watch.js';
import { asEngineFailure } from './transient-errors.js';

/**
 * The engine's statements in a transaction of the application, on the connection of pg that it uses. What they answer is
 * read by the engine's own parsers, and their errors carry nothing that they were given.
 */
export class ClientTransaction implements JoinedTransaction {
  /**
   * @param find returns the connection
   * @param fix how the application opens a transaction, for an error message
   */
  constructor(
    private readonly find: () => PgClient | Promise<PgClient>,
    private readonly fix: string,
  ) {}

  async query<Rows = unknown>(text: string, parameters?: unknown[]): Promise<Rows> {
    const client = await this.find();
    if (TransactionWatch.on(client).isIdle)
      throw new SagaTransactionError(`The connection that was given is in no transaction. ${this.fix}`);
    try {
      return (await client.query({ text, values: parameters, types: OWN_TYPES })).rows as Rows;
    } catch (error) {
      throw asEngineFailure(withoutValues(error));
    }
  }

  async connection(): Promise<object> {
    return this.find();
  }

  follow(): (() => boolean) | undefined {
    const client = this.find();
    return 'then' in client ? undefined : TransactionWatch.on(client).follow();
  }
}
