import { type Mutant, specs } from './mutant.js';
import { contract } from './store-contract.js';

const CONTRACT = contract('the slots of a step');

/** Mutants of the concurrency of steps over all sagas. */
export const STEP_SLOT_MUTANTS: readonly Mutant[] = [
  {
    name: 'do not count the slots that were called for a saga',
    in: 'promote_slots_1',
    find: "WHERE ${OF_LIMIT} AND s.state <> 'waiting');",
    replace: "WHERE ${OF_LIMIT} AND s.state = 'taken');",
    killers: CONTRACT,
  },
  {
    name: 'keep the slot of a lease that has run out',
    in: 'fence_slots_1',
    find: 'UPDATE ${schema}.instance i SET epoch = i.epoch + 1 WHERE i.id = ANY(lapsed);',
    replace: '',
    killers: CONTRACT,
  },
  {
    name: 'free a slot that was taken again in a later turn',
    in: 'free_slots_1',
    find: 'AND s.epoch = $6 AND s.turn <= $7;',
    replace: 'AND s.epoch = $6;',
    killers: CONTRACT,
  },
  {
    name: 'let a lost worker take a slot',
    in: 'take_slots_1',
    find: 'IF NOT FOUND THEN RETURN NULL; END IF;',
    replace: '',
    killers: CONTRACT,
  },
  {
    name: 'keep a slot while a step waits for its next attempt',
    find: 'return !active && (attempts > before || !mayBegin);',
    replace: 'return !active && !mayBegin;',
    killers: [specs('limits/step-slots')],
  },
  {
    name: 'settle a saga as stuck while its items wait for slots',
    find: 'if (rests && items.has(KIND.queued)) plan.rest(undefined);',
    replace: '',
    killers: [specs('machine/slots')],
  },
];
