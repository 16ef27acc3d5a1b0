import { PRIORITY_POINT_MS } from '../../../../engine/ports/saga-store.js';

/** The columns that make a saga due now. One that is paused stays so, and one that a worker holds keeps its lease. */
export const dueUnlessStopped = (i: string): string => {
  const isStopped = `${i}.status = 'paused' OR ${i}.locked_by IS NOT NULL`;
  return `due_at = CASE WHEN ${isStopped} THEN ${i}.due_at ELSE now() END,
      rank_at = CASE WHEN ${isStopped} THEN ${i}.rank_at
        ELSE now() - ${i}.priority * interval '${PRIORITY_POINT_MS} milliseconds' END`;
};
