import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Dice } from '../../simulation/rng.js';
import type { OrderOracle } from './order-oracle.js';

const PUBLISH = `SELECT saga.publish(ARRAY[$1::uuid], ARRAY['orders'], ARRAY[$2], ARRAY['t'], ARRAY[to_json($3::text)],
  ARRAY['{}'::jsonb])`;

interface Session {
  readonly client: pg.Client;
  /** How often it is its turn, beside others: slow ones stay open for long. */
  readonly weight: number;
  /** Undefined: none is open. */
  transaction?: number;
}

/** Sessions that publish in transactions which overlap in all ways, one statement at a time, as dice have it. */
export class Publishers {
  private transactions = 0;

  private constructor(
    private readonly sessions: readonly Session[],
    private readonly keys: readonly string[],
    private readonly dice: Dice,
    private readonly oracle: OrderOracle,
  ) {}

  static async connect(
    url: string,
    weights: readonly number[],
    keys: readonly string[],
    dice: Dice,
    oracle: OrderOracle,
  ): Promise<Publishers> {
    const sessions = await Promise.all(
      weights.map(async (weight) => {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        return { client, weight };
      }),
    );
    return new Publishers(sessions, keys, dice, oracle);
  }

  async step(): Promise<void> {
    const weights = Object.fromEntries(this.sessions.map(({ weight }, n) => [String(n), weight]));
    const session = this.sessions[Number(this.dice.weighed(weights))]!;
    if (session.transaction === undefined) return this.begin(session);
    const does = this.dice.weighed({ publish: 4, savepoint: 1, commit: 3, rollback: 1 });
    if (does === 'publish') await this.publish(session);
    if (does === 'savepoint') await this.publishInVain(session);
    if (does === 'commit') await this.commit(session);
    if (does === 'rollback') await this.rollBack(session);
  }

  async end(): Promise<void> {
    for (const session of this.sessions) {
      if (session.transaction !== undefined) await this.commit(session);
      await session.client.end();
    }
  }

  private async begin(session: Session): Promise<void> {
    session.transaction = this.transactions += 1;
    const level = this.dice.among(['READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ']);
    await session.client.query(`BEGIN ISOLATION LEVEL ${level}`);
    await this.publish(session);
  }

  private async publish({ client, transaction }: Session): Promise<void> {
    const key = this.dice.among(this.keys);
    await client.query(PUBLISH, [randomUUID(), key, this.oracle.publishes(transaction!, key)]);
  }

  /** Into a savepoint that is rolled back: of no transaction that will commit. */
  private async publishInVain({ client }: Session): Promise<void> {
    const key = this.dice.among(this.keys);
    await client.query('SAVEPOINT vain');
    await client.query(PUBLISH, [randomUUID(), key, this.oracle.publishes(-1, key)]);
    await client.query('ROLLBACK TO vain');
  }

  private async commit(session: Session): Promise<void> {
    await session.client.query('COMMIT');
    this.oracle.commits(session.transaction!);
    session.transaction = undefined;
  }

  private async rollBack(session: Session): Promise<void> {
    await session.client.query('ROLLBACK');
    session.transaction = undefined;
  }
}
