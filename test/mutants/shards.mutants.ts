import { type Mutant, specs } from './mutant.js';

/** Mutants of shards: where a saga starts, and where it is looked for. */
const routing = [specs('shards/routing')];
const application = [specs('shards/shards')];
const simulation = [specs('simulation/shards')];
const changes = [specs('shards/shard-down')];
const commands = [specs('cli/shards')];
const schemas = [specs('shards/schemas')];
const closing = [specs('shards/closed')];

export const SHARD_MUTANTS: readonly Mutant[] = [
  {
    name: 'forget the shards that had a correlation id while its home was drained',
    find: 'return home.row?.changed ? [...before, ...after] : before;',
    replace: 'return before;',
    killers: routing,
  },
  {
    name: 'refuse a start whose home is drained while others are asked for it',
    find: 'if (only) throw drained(target);',
    replace: 'throw drained(target);',
    killers: [specs('shards/place-saga')],
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
    name: 'let calls in progress wait for a shard that is lost',
    find: 'for (const reject of this.inProgress) reject(error);',
    replace: 'void error;',
    killers: simulation,
  },
  {
    name: 'start the saga of a correlation id on any shard that can be reached',
    find: 'if (!only && key === undefined) return anyShard(saga.id, chosen ?? shards);',
    replace: 'if (!only) return anyShard(saga.id, chosen ?? shards);',
    killers: simulation,
  },
  {
    name: 'never learn that a shard was drained or admitted',
    find: 'read(row: StoredShard): void {\n    this.state = row;',
    replace: 'read(_: StoredShard): void {',
    killers: simulation,
  },
  {
    name: 'start a saga with a given shard without a look at the others',
    find: 'const elsewhere = isHome ? formerHomes(inOrder, target) : shards;',
    replace: 'const elsewhere = formerHomes(inOrder, target);',
    killers: application,
  },
  {
    name: 'start a saga on a drained shard that it is given',
    find: 'if (target.accepting) return target;',
    replace: 'if (target.accepting || chosen) return target;',
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
    find: 'if (!joined || joined.includes(shard)) return [shard];',
    replace: 'if (joined !== null) return joined ?? [shard];',
    killers: application,
  },
  {
    name: 'drain the first of two databases that have the name of a shard',
    find: 'if (more.length > 0)\n    throw new CannotTell(',
    replace: 'if (more.length > found.length)\n    throw new CannotTell(',
    killers: commands,
  },
  {
    name: 'list shards with exit code 0 although one cannot be reached',
    find: 'const exit = found.every(({ reachable }) => reachable) ? EXIT.done : EXIT.failed;',
    replace: 'const exit = found.some(({ reachable }) => reachable) ? EXIT.done : EXIT.failed;',
    killers: commands,
  },
  {
    name: 'say that a shard may not exist although a database cannot be reached',
    find: 'const lost = found.filter((one) => one.name === undefined);',
    replace: 'const lost = found.filter((one) => one.name === name);',
    killers: commands,
  },
  {
    name: 'publish in a transaction of a database that is no shard',
    find: 'if (shard) return shard.ask(async (database) => database);',
    replace: 'return (shard ?? this.shards[0]!).ask(async (database) => database);',
    killers: [specs('messaging/messaging-shards')],
  },
  {
    name: 'skip dead messages behind the page of a shard that is cut',
    find: 'const rows = all.slice(0, Math.min(end, limit));',
    replace: 'const rows = all.slice(0, Math.max(end, limit));',
    killers: [specs('messaging/merge-dead')],
  },
  {
    name: 'let the shards of one pool take its last connection for steps',
    find: 'onePerPool((pool) => new ConnectionReserve(pool.options.max));',
    replace: '(pool: { options: { max: number } }) => new ConnectionReserve(pool.options.max);',
    killers: schemas,
  },
  {
    name: 'store a saga in a transaction although another database has it',
    find: 'if (joined.includes(shard)) return shard.engine.submitWithin(transaction, saga);',
    replace: "if (shard.name !== '') return shard.engine.submitWithin(transaction, saga);",
    killers: schemas,
  },
  {
    name: 'start what a step starts in its transaction on another shard of the database',
    find: 'return own === undefined ? found : found.filter(({ schema }) => schema === own);',
    replace: 'return own === undefined ? found : found.filter(({ schema }) => schema !== own);',
    killers: schemas,
  },
  {
    name: 'let two shards have one place',
    find: 'const same = placed.get(place);',
    replace: 'const same = placed.get(name);',
    killers: schemas,
  },
  {
    name: 'close a shard without refusing what a process sends that has missed it',
    find: 'for (const table of tables)\n',
    replace: 'for (const table of [] as string[])\n',
    killers: closing,
  },
  {
    name: 'close a shard although a process took a saga after the last look',
    find: 'if (holder !== undefined) return holder;',
    replace: '',
    killers: closing,
  },
  {
    name: 'let a call that waits for a saga of a closed shard say that the process ends',
    find: 'return error instanceof SagaUnavailableError && !this.health.reachable ? this.health.error : error;',
    replace: 'return error;',
    killers: closing,
  },
  {
    name: 'admit a shard without the pauses of the others',
    find: "call === 'open' && !shard.accepting",
    replace: "call === 'open' && shard.accepting",
    killers: [specs('shards/step-pauses')],
  },
  {
    name: 'give a shard schedules beside those of another one',
    find: 'if (!this.schedules && row && !row.closed && (await rows.hasSchedules())) throw isNotFirst(this.name);',
    replace: '',
    killers: [specs('shards/shards')],
  },
  {
    name: 'let a shard that refuses logins keep a process from starting',
    find: 'return isOutage(error) && !concernsStatement(error);',
    replace: 'return isOutage(error) && concernsStatement(error);',
    killers: [specs('shards/shard-down')],
  },
];
