import { type Mutant, specs } from './mutant.js';

/** Mutants of shards: where a saga starts, and where it is looked for. */
const routing = [specs('shards/routing')];
const application = [specs('shards/shards')];
const simulation = [specs('simulation/shards')];
const changes = [specs('shards/shard-down')];
const commands = [specs('cli/shards')];
const moves = [specs('shards/move-sagas')];
const fences = [specs('shards/move-fences')];
const cutOff = [specs('shards/move-cut-off')];
const killed = [specs('shards/move-killed')];

export const SHARD_MUTANTS: readonly Mutant[] = [
  {
    name: 'forget the shards that had a correlation id while its home was drained',
    find: 'return home.row?.changed ? [...before, ...after] : [...before, ...after.filter(({ row }) => row?.received)];',
    replace: 'return [...before, ...after.filter(({ row }) => row?.received)];',
    killers: routing,
  },
  {
    name: 'refuse a start whose home is drained while others are asked for it',
    find: 'if (chosen) throw drained(target);',
    replace: 'throw drained(target);',
    killers: [specs('shards/place-saga')],
  },
  {
    name: 'forget the drained shard that has a correlation id',
    find: 'return home.row?.changed ? [...before, ...after] : [...before, ...after.filter(({ row }) => row?.received)];',
    replace: 'return home.row?.changed ? after : after.filter(({ row }) => row?.received);',
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
    find: 'if (!chosen && key === undefined) return anyShard(saga.id, shards);',
    replace: 'if (!chosen) return anyShard(saga.id, shards);',
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
    find: 'if (!shard || shard === joined) return joined;',
    replace: "if (!shard || shard.name !== '') return joined;",
    killers: application,
  },
  {
    name: 'drain the first of two databases that have the name of a shard',
    find: 'if (more.length > 0)\n    throw new CannotTell(',
    replace: 'if (more.length > urls.length)\n    throw new CannotTell(',
    killers: commands,
  },
  {
    name: 'list shards with exit code 0 although one cannot be reached',
    find: 'return found.every(({ reachable }) => reachable) ? EXIT.done : EXIT.failed;',
    replace: 'return found.some(({ reachable }) => reachable) ? EXIT.done : EXIT.failed;',
    killers: commands,
  },
  {
    name: 'say that a shard may not exist although a database cannot be reached',
    find: 'const lost = found.filter((one) => one.name === undefined);',
    replace: 'const lost = found.filter((one) => one.name === name);',
    killers: commands,
  },
  {
    name: 'forget the shards that have received sagas',
    find: 'return home.row?.changed ? [...before, ...after] : [...before, ...after.filter(({ row }) => row?.received)];',
    replace: 'return home.row?.changed ? [...before, ...after] : before;',
    killers: routing,
  },
  {
    name: 'start a saga that is on its way to another shard',
    find: 'if (waited >= from.movePatience) throw onItsWay(from, note);',
    replace: 'if (waited >= from.movePatience) return undefined;',
    killers: [specs('shards/move-races')],
  },
  {
    name: 'look for the note of a saga before the saga',
    find: `    if (await at.calls.load(target)) return { has: at };
    // After the look for the saga: when it left the shard, it left the note.
    const note = await at.noteOf(target);`,
    replace: `    const note = await at.noteOf(target);
    if (!note && (await at.calls.load(target))) return { has: at };`,
    killers: [specs('shards/move-races')],
  },
  {
    name: 'take a saga that came back from a move for one that does not exist',
    find: 'if (note.move === returned) return undefined;',
    replace: "if (note.move !== '') return undefined;",
    killers: [specs('shards/move-races')],
  },
  {
    name: 'fail for a saga of a lost shard although it has moved',
    find: 'home.row?.changed === false',
    replace: 'home.row !== null',
    killers: routing,
  },
  {
    name: 'say that a saga moves to its home although it does not',
    find: 'const isHome = this.request.knowsAll && sagas.every((saga) => this.isFoundOn(to, saga));',
    replace: 'const isHome = this.request.knowsAll;',
    killers: routing,
  },
  {
    name: 'hand a saga over that was refused',
    find: 'await from.moves.putBack(move);',
    replace: 'await from.moves.handOver(move);',
    killers: [specs('shards/move-cut-off')],
  },
  {
    name: 'refuse for ever to start again what has moved and was deleted',
    find: "if (note?.state === 'handed') await from.moves?.forget(note);",
    replace: '',
    killers: fences,
  },
  {
    name: 'start again on its old shard what has moved',
    find: 'const isGuarded = this.isShard && !isAllNew(sagas);',
    replace: 'const isGuarded = !this.isShard && !isAllNew(sagas);',
    killers: fences,
  },
  {
    name: 'look for what has moved with the snapshot of the transaction',
    find: `'sealed' FROM \${schema}.instance i WHERE i.id = ANY($1)
      AND NOT EXISTS`,
    replace: `'sealed' FROM \${schema}.instance i WHERE false
      AND NOT EXISTS`,
    killers: fences,
  },
  {
    name: 'move sagas off a shard that accepts sagas',
    find: "if (!shard || shard.accepting) return 'accepting';",
    replace: "if (!shard) return 'accepting';",
    killers: fences,
  },
  {
    name: 'move a saga that a worker runs',
    find: `WHEN \${i}.locked_by IS NOT NULL THEN 'running'`,
    replace: `WHEN \${i}.locked_by = '' THEN 'running'`,
    killers: fences,
  },
  {
    name: 'move a saga without its sub-sagas',
    find: 'UNION ALL\n    SELECT c.id, c.parent_id, c.name, c.lock_key, c.lock_state FROM ${schema}.instance c WHERE c.parent_id = s.id',
    replace: '',
    killers: moves,
  },
  {
    name: 'move a sub-saga without its parent',
    find: 'SELECT p.id, p.parent_id, p.name, p.lock_key, p.lock_state FROM ${schema}.instance p WHERE p.id = s.parent_id\n    UNION ALL',
    replace: '',
    killers: cutOff,
  },
  {
    name: 'move the holder of a lock without those that wait for it',
    find: 'WHERE s.lock_state IS NOT NULL AND l.name = s.name AND',
    replace: 'WHERE s.lock_state IS NOT NULL AND l.id = s.id AND l.name = s.name AND',
    killers: moves,
  },
  {
    name: 'move a group without those that came to it since it was read',
    find: "(isSame ? undefined : 'running')",
    replace: '(isSame ? undefined : undefined)',
    killers: fences,
  },
  {
    name: 'give a lock to a second saga by a move',
    find: "if ((await this.lockQueues(sql, move)) && (await this.isHeld(sql, move))) return 'lock-held';",
    replace: 'await this.lockQueues(sql, move);',
    killers: moves,
  },
  {
    name: 'keep the places in the queue of a lock that another shard has given',
    find: "CASE WHEN x.lock_state IS NULL THEN x.lock_position::bigint ELSE nextval('${this.s}.lock_position') * ${CALL_PLACES} END",
    replace: 'x.lock_position::bigint',
    killers: fences,
  },
  {
    name: 'store the sagas of a lock in the order of their ids',
    find: "(${OWN} ->> 'lock_position')::bigint NULLS FIRST, id",
    replace: 'id DESC',
    killers: moves,
  },
  {
    name: 'lose a saga that comes back while another one has its lock',
    find: "IS NOT NULL THEN 'inside' ELSE x.lock_state END",
    replace: 'IS NOT NULL THEN x.lock_state ELSE x.lock_state END',
    killers: fences,
  },
  {
    name: 'leave a part of a family on the shard that has refused the rest',
    find: "if (isGroup) await sql.query('ROLLBACK TO SAVEPOINT arrival');",
    replace: '',
    killers: cutOff,
  },
  {
    name: 'try a group again for each of its sagas',
    find: 'if (this.seen.has(saga.id)) continue;',
    replace: '',
    killers: cutOff,
  },
  {
    name: 'decide a move again at each call',
    find: 'if (known) return known;\n      const refusal',
    replace: "if (known === 'running') return known;\n      const refusal",
    killers: fences,
  },
  {
    name: 'leave the epoch of a saga that moves as it was',
    find: "epoch: 'x.epoch::int + 1'",
    replace: "epoch: 'x.epoch::int'",
    killers: fences,
  },
  {
    name: 'store a saga on a shard that is drained meanwhile',
    find: "const refusal = shard?.accepting ? await this.store(sql, move, revisions) : 'no-shard';",
    replace: "const refusal = shard ? await this.store(sql, move, revisions) : 'no-shard';",
    killers: fences,
  },
  {
    name: 'put back after a failover what has moved',
    find: "WHERE id = ANY($1::uuid[]) AND state <> 'returned'`;",
    replace: "WHERE id = ANY($1::uuid[]) AND state = ''`;",
    killers: fences,
  },
  {
    name: 'keep the note of a saga that has come back by a move',
    find: 'await sql.query(`DELETE FROM ${this.s}.moved WHERE id = ANY($1::uuid[])`, [idsOf(move)]);',
    replace: '',
    killers: fences,
  },
  {
    name: 'let a call that waits fail when its saga moves',
    find: 'if (!(error instanceof SagaNotFoundError)) throw error;\n      const next',
    replace: "if (!(error instanceof SagaNotFoundError) || id !== '') throw error;\n      const next",
    killers: moves,
  },
  {
    name: 'let a watcher fail when its saga moves',
    find: 'failed: (error) => void follow(error)',
    replace: 'failed: (error) => watcher.failed(error)',
    killers: moves,
  },
  {
    name: 'believe the command line that its URLs are all shards',
    find: 'limit, knowsAll: false }',
    replace: 'limit, knowsAll: true }',
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
    name: 'leave the moves of a killed process to an operator',
    find: 'if (count === 0 || oldest < PATIENCE) return;',
    replace: 'return;',
    killers: killed,
  },
];
