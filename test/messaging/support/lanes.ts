import { LANES } from '../../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import type { MessagingApps } from './messaging-apps.js';

/** So many keys of the topic `orders` whose messages are in one lane of the outbox. */
export async function keysOfOneLane(apps: MessagingApps, count: number): Promise<string[]> {
  const rows = await apps.sql<{ key: string }>(
    `SELECT 'k' || n AS key FROM generate_series(1, $1::int) n
     WHERE (hashtextextended('orders k' || n, 0) & ($2::int - 1)) = 7 LIMIT $3`,
    [count * LANES * 10, LANES, count],
  );
  return rows.map(({ key }) => key);
}
