import { type Mutant, specs } from './mutant.js';

/** Mutants of shards: where a saga starts, and where it is looked for. */
const routing = [specs('shards/routing')];
const application = [specs('shards/shards')];
const changes = [specs('shards/shard-down')];

export const SHARD_MUTANTS: readonly Mutant[] = [
  {
    name: 'forget the shards that had a correlation id while its home was drained',
    find: 'return home.row?.changed ? [...before, ...after] : before;',
    replace: 'return before;',
    killers: routing,
  },
  {
    name: 'forget the drained shard that has a correlation id',
    find: 'return home.row?.changed ? [...before, ...after] : before;',
    replace: 'return home.row?.changed ? after : [];',
    killers: routing,
  },
  {
    name: 'take a saga on a shard that cannot be reached for one that does not exist',
    find: 'if (failed) throw failed.reason;',
    replace: '',
    killers: routing,
  },
  {
    name: 'start what may start anywhere on a shard that cannot be reached',
    find: 'const shard = inOrder.find(({ health, row }) => row && health.reachable);',
    replace: 'const shard = inOrder.find(({ row }) => row);',
    killers: routing,
  },
  {
    name: 'start a saga with a given shard without a look at the others',
    find: 'const elsewhere = isHome ? formerHomes(inOrder, target) : shards;',
    replace: 'const elsewhere = formerHomes(inOrder, target);',
    killers: application,
  },
  {
    name: 'start a saga on a drained shard that it is given',
    find: 'if (!target.accepting) throw drained(target);',
    replace: '',
    killers: application,
  },
  {
    name: 'give a shard the number of another one',
    find: 'const taken = new Set(shards.flatMap(({ row }) => row?.number ?? []));',
    replace: 'const taken = new Set<number>();',
    killers: [specs('shards/register-shards')],
  },
  {
    name: 'admit a shard that is added before all processes have it',
    find: 'accepting: founders.includes(name)',
    replace: 'accepting: true',
    killers: changes,
  },
  {
    name: 'run the schedules on each shard',
    find: 'schedules: this.schedules',
    replace: 'schedules: true',
    killers: application,
  },
  {
    name: 'start sub-sagas with ids of no shard',
    find: 'newId: () => idOnShard(newId(), number)',
    replace: 'newId',
    killers: application,
  },
  {
    name: 'store a saga in a transaction of another shard',
    find: 'if (!shard || shard === joined) return joined;',
    replace: "if (!shard || shard.name !== '') return joined;",
    killers: application,
  },
];
