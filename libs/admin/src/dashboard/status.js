import { h } from './dom.js';
import { words } from './format.js';
import { since } from './time.js';

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

/** Shows a status as a colored label. */
export function pill(status) {
  return h('span.pill', { 'data-status': status }, words(status));
}

/** Shows since when a step or a schedule is paused, and by whom. */
export function pausedSince(time, { by, reason }) {
  const who = [by && `by ${by}`, reason].filter(Boolean).join(': ');
  return [pill('paused'), ' since ', since(time), who && h('small', ` ${who}`)];
}
