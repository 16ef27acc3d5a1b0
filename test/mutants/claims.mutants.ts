import { type Mutant, specs } from './mutant.js';

export const CLAIM_MUTANTS: readonly Mutant[] = [
  {
    name: 'begin each claim of a backlog at its beginning',
    find: 'return this.now() < this.lookBackAt ? this.place : undefined;',
    replace: 'return undefined;',
    killers: [specs('backlog-position')],
  },
  {
    name: 'never look at the beginning of a backlog again',
    find: 'return this.now() < this.lookBackAt ? this.place : undefined;',
    replace: 'return this.place;',
    killers: [specs('backlog-position')],
  },
  {
    name: 'take the end of a backlog for all that is due',
    find: 'if (isPartial && ready.length < request.limit) return true;',
    replace: '',
    killers: [specs('backlog-position')],
  },
];
