import { type Mutant, specs } from './mutant.js';

const killers = [specs('operate/reschedule'), specs('graph.properties')];

/** Breaks of the operator's call that moves a time. */
export const RESCHEDULE_MUTANTS: readonly Mutant[] = [
  {
    name: 'move the next attempt where a wait was to be moved',
    find: 'return withStep(state, key, { wait: { ...stepState(state, key).wait!, until: at } });',
    replace: 'return withStep(state, key, { retryAt: at });',
    killers,
  },
  {
    name: 'skip the wait for a rate limit with reschedule()',
    find: 'return retryAt !== undefined && permit === undefined && failures === 0;',
    replace: 'return retryAt !== undefined && failures === 0;',
    killers: [specs('reschedule-edit')],
  },
  {
    name: 'take the lease from a worker in the middle of an attempt to move another step',
    find: "if (busy.length > 0) throw refusedStep('rescheduled now'",
    replace: "if (busy.length < 0) throw refusedStep('rescheduled now'",
    killers: [specs('operate/reschedule')],
  },
  {
    name: 'move a step to a time that is over',
    find: 'at: Math.max(now, at(now)) });',
    replace: 'at: at(now) });',
    killers: [specs('reschedule-edit')],
  },
];
