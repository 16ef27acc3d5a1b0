import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { PostgresInbox } from '../../libs/saga/src/store/postgres/outbox/postgres-inbox.js';
import type { PostgresOutbox } from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';

const MOST = { messages: 400, lanes: 8 };

/** What calls are made on. */
export interface CalledMessaging {
  readonly outbox: PostgresOutbox;
  readonly inbox: PostgresInbox;
  readonly client: Pick<pg.Client, 'query'>;
}

/** What relays, the inbox and operators ask for. There is a backlog, with keys that are held. */
export const MESSAGING_CALLS: Record<string, (on: CalledMessaging) => Promise<unknown>> = {
  publish: (on) =>
    on.client.query(
      `SELECT saga.publish(ARRAY[gen_random_uuid()], ARRAY['orders'], ARRAY['k'], ARRAY['t'], ARRAY['1'::json], ARRAY['{}'::jsonb])`,
    ),
  'take and settle': async (on) => {
    const { lanes, messages } = await on.outbox.take('relay', 60_000, MOST);
    expect(messages.length).toBeGreaterThan(300);
    const [failed, ...sent] = messages;
    await on.outbox.settle(lanes, {
      sent: sent.slice(0, 100).map(({ id }) => id),
      failed: [{ id: failed!.id, error: 'no', attempts: 1, retryIn: 1_000 }],
      behind: sent.slice(100, 110).map(({ id }) => id),
      unfinished: new Set(),
    });
  },
  renew: async (on) => {
    const { lanes } = await on.outbox.take('relay', 60_000, MOST);
    expect(await on.outbox.renew(lanes, 60_000)).toHaveLength(lanes.length);
  },
  'a look at those that are dead': async (on) => {
    const [dead] = await on.outbox.dead(10);
    await on.outbox.dead(10, { deadAt: dead!.deadAtText, id: dead!.id });
  },
  requeue: async (on) => on.outbox.requeue((await on.outbox.dead(10)).map(({ id }) => id)),
  discard: async (on) => on.outbox.discard((await on.outbox.dead(10)).map(({ id }) => id)),
  'deletion by age': (on) => on.outbox.deleteOlder(1, 1_000),
  'forgetting of what was handled': async (on) => expect(await on.inbox.forget(1, 1_000)).toBe(1_000),
  'noting of what is handled': (on) =>
    on.client.query(`INSERT INTO saga.inbox VALUES ('default', $1) ON CONFLICT DO NOTHING`, [randomUUID()]),
};
