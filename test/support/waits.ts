import { until } from './gate.js';
import type { TestApps } from './test-app.js';

/** Resolves once the saga waits, held by no worker. */
export async function waits(apps: TestApps, id: string): Promise<void> {
  await until(async () => {
    const [row] = await apps.sql<{ waits: boolean }>(
      `SELECT progress -> 'awaits' IS NOT NULL AND locked_by IS NULL AS waits FROM saga.instance WHERE id = $1`,
      [id],
    );
    return row?.waits;
  });
}
