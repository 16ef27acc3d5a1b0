/**
 * The group of each status. The type check compares it with the table of the server.
 * @type {import('../dashboard-data.js').StatusGroups}
 */
const GROUPS = {
  running: 'moving',
  compensating: 'moving',
  completed: 'ended',
  compensated: 'ended',
  stuck: 'halted',
  suspended: 'halted',
  paused: 'paused',
  aborted: 'ended',
};

export const STATUSES = Object.keys(GROUPS);

/** @param {string} status */
export function hasEnded(status) {
  return GROUPS[status] === 'ended';
}

export const NEEDS_ATTENTION = STATUSES.filter((status) => ['halted', 'paused'].includes(GROUPS[status]));
