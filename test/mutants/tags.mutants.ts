import { type Mutant, simulation, specs } from './mutant.js';
import { contract } from './store-contract.js';

/** Mutants of tags that steps set. */
export const TAG_MUTANTS: readonly Mutant[] = [
  {
    name: 'keep the tags of a transaction that is repeated',
    find: 'this.tagChanges = undefined; this.messages = NOTHING;',
    replace: 'this.messages = NOTHING;',
    killers: [specs('forward/set-tags')],
  },
  {
    name: 'store the tags of sagas that are not saved',
    in: 'set_tags',
    find: 'WHERE i.id = w.id AND ($1 IS NULL OR w.id = ANY($1));',
    replace: 'WHERE i.id = w.id;',
    killers: contract('tags that steps have set'),
  },
  {
    name: 'forget what steps side by side have set',
    find: 'this.kept = [...this.kept, { step, all, tagChanges }];',
    replace:
      'this.kept = [...this.kept.map((one) => ({ ...one, tagChanges: undefined })), { step, all, tagChanges }];',
    killers: [specs('attempt/context-tags'), simulation(200)],
  },
  {
    name: 'do not put back tags that were set before the last checkpoint',
    find: 'const tags = lost.findLast((one) => one.tags !== undefined)?.tags;',
    replace: 'const tags = lost.at(-1)!.tags;',
    killers: [specs('write/decide-put-back')],
  },
  {
    name: 'drop the tags of the transaction of a step',
    find: 'const parts = { ...(isLast && { release: {} }), effects: attempt.messages };',
    replace:
      'const parts = { ...(isLast && { release: {} }), effects: { all: attempt.messages.all, tagChanges: undefined } };',
    killers: [specs('forward/set-tags')],
  },
];
