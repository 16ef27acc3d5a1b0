import { type Mutant, specs } from './mutant.js';
import { contract } from './store-contract.js';

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
  {
    name: 'leave what was due when the clock was set back until it has come back',
    find: 'if (ports.storeClock.setBacks !== this.caughtUp) await this.catchUp();',
    replace: 'if (ports.storeClock.setBacks < this.caughtUp) await this.catchUp();',
    killers: [specs('engine/saga-engine')],
  },
  {
    name: 'leave what was woken when the clock was set back until it has come back',
    in: 'catch_up',
    find: 'AND (i.woken OR i.due_at <= i.updated_at)',
    replace: 'AND i.due_at <= i.updated_at',
    killers: contract('once its clock was set back by an hour, a store'),
  },
  {
    name: 'begin what is to come when the clock was set back',
    in: 'catch_up',
    find: 'AND (i.woken OR i.due_at <= i.updated_at)',
    replace: '',
    killers: contract('once its clock was set back by an hour, a store'),
  },
];
