import { until } from './gate.js';
import type { TestApps } from './test-app.js';

/**
 * Lets the time of whatever these sagas wait for come, again and again, until the check gives something true: one that
 * a worker holds at the moment knows another time, and is given back with that.
 * @param at only while they stand at this step
 */
export function passTimeUntil<T>(
  apps: TestApps,
  ids: readonly string[],
  check: () => T | Promise<T>,
  at: string | null = null,
): Promise<NonNullable<T>> {
  return until(async () => {
    await apps.sql(
      `WITH free AS (
         UPDATE saga.instance SET due_at = now(), rank_at = now(), starts_at = NULL
         WHERE id = ANY($1) AND locked_by IS NULL AND due_at > now() AND ($2::text IS NULL OR step = $2)
         RETURNING id)
       UPDATE saga.step SET retry_at = now() WHERE retry_at > now() AND saga_id IN (SELECT id FROM free)`,
      [ids, at],
    );
    return check();
  });
}
