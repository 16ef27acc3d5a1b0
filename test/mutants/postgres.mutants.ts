import { type Killer, type Mutant, specs, testsOf } from './mutant.js';

/** The simulation does not know of SQL: what a store has to do is written in its contract. */
const CONTRACT = 'postgres-saga-store';

/** These tests of it first. */
const contract = (tests: string): Killer[] => [testsOf(CONTRACT, tests), specs(CONTRACT)];

export const POSTGRES_MUTANTS: readonly Mutant[] = [
  {
    name: 'drop the epoch check when a checkpoint is stored',
    in: 'checkpointFrom',
    find: 'WHERE i.id = w.id AND i.epoch = w.epoch AND i.checkpoints < w.number',
    replace: 'WHERE i.id = w.id AND i.checkpoints < w.number',
    killers: contract('a worker whose lease'),
  },
  {
    name: 'let a late checkpoint overwrite a later one',
    find: 'AND i.checkpoints < w.number AND',
    replace: 'AND',
    killers: contract('saga store a checkpoint'),
  },
  {
    name: 'store a checkpoint that does not know of a cancellation',
    find: ' AND (i.cancel_requested_at IS NULL OR w.cancel_seen)',
    replace: '',
    killers: contract('saga store a cancellation'),
  },
  {
    name: 'store a checkpoint that does not know of a pause',
    find: 'AND (NOT i.pause_requested OR w.pause_seen)',
    replace: '',
    killers: contract('to stand still'),
  },
  {
    name: 'store the steps of a checkpoint that was fenced off',
    find: `WHERE cardinality(saved) = \${source === SINGLE ? '1' : 'cardinality($1)'} OR c.saga_id = ANY(saved)`,
    replace: 'WHERE true',
    killers: contract('a worker whose lease'),
  },
  {
    name: 'forget that a saga was woken while it was held',
    find: `CASE WHEN i.woken AND w.status IN ('running', 'compensating') THEN now() ELSE`,
    replace: `CASE WHEN i.woken AND w.status IN ('paused') THEN now() ELSE`,
    killers: contract('a saga that waits for another'),
  },
  {
    name: 'do not announce that a saga is settled which is waited for',
    find: 'CASE WHEN i.watched AND w.settled THEN',
    replace: 'CASE WHEN i.watched AND NOT w.settled THEN',
    killers: contract('who waits for a saga'),
  },
  {
    name: 'let losses count anew with each checkpoint',
    find: 'losses = CASE WHEN w.stalls THEN i.losses ELSE 0 END',
    replace: 'losses = 0',
    killers: contract('a saga whose worker was lost'),
  },
  {
    name: 'renew a lease without looking at its epoch',
    find: 'AND i.epoch = w.epoch AND i.locked_by',
    replace: 'AND i.locked_by',
    killers: contract('a worker whose lease'),
  },
  {
    name: 'renew a lease of another worker',
    find: ' AND i.locked_by = $3::text',
    replace: ' AND $3::text IS NOT NULL',
    killers: contract('a worker whose lease'),
  },
  {
    name: 'claim rows that another is claiming',
    find: 'ORDER BY i.rank_at LIMIT $3 FOR UPDATE SKIP LOCKED) c',
    replace: 'ORDER BY i.rank_at LIMIT $3) c',
    killers: [specs('claim-sagas')],
  },
  {
    name: 'wait for rows that another is claiming',
    find: 'LIMIT $3 FOR UPDATE SKIP LOCKED) c',
    replace: 'LIMIT $3 FOR UPDATE) c',
    killers: [specs('claim-sagas')],
  },
  {
    name: 'claim a saga whose lease has not run out',
    in: 'DUE',
    find: 'AND i.rank_at <= now() AND i.due_at <= now()',
    replace: 'AND i.rank_at IS NOT NULL AND (i.locked_by IS NOT NULL OR i.due_at <= now())',
    killers: contract('saga store a claim'),
  },
  {
    name: 'claim without raising the epoch',
    in: 'claimSql',
    find: 'epoch = i.epoch + 1,',
    replace: 'epoch = i.epoch,',
    killers: contract('a worker whose lease'),
  },
  {
    name: 'do not count takeovers',
    in: 'claimSql',
    find: 'takeovers = least(i.takeovers + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),',
    replace: 'takeovers = i.takeovers,',
    killers: contract('a saga whose worker was lost'),
  },
  {
    name: 'do not count lost workers',
    in: 'claimSql',
    find: 'losses = least(i.losses + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),',
    replace: 'losses = i.losses,',
    killers: contract('a saga whose worker was lost'),
  },
  {
    name: 'do not count takeovers of sagas with a concurrency',
    in: 'claim_limited_1',
    find: 'takeovers = least(i.takeovers + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),',
    replace: 'takeovers = i.takeovers,',
    killers: contract('saga store a concurrency'),
  },
  {
    name: 'do not count leases for a concurrency',
    find: 'greatest(0, limits[n] - cardinality(kept))',
    replace: 'greatest(0, limits[n])',
    killers: contract('saga store a concurrency'),
  },
  {
    name: 'wait for rows of sagas with a concurrency that another is claiming',
    find: 'LIMIT least(o.free, $6) FOR UPDATE SKIP LOCKED) d)',
    replace: 'LIMIT least(o.free, $6) FOR UPDATE) d)',
    killers: [specs('claim-sagas')],
  },
  {
    name: 'take the place of a lease that ran out without fencing off its holder',
    in: 'claim_limited_1',
    find: 'UPDATE ${schema}.instance i SET epoch = i.epoch + 1 WHERE',
    replace: 'UPDATE ${schema}.instance i SET epoch = i.epoch WHERE',
    killers: contract('saga store a concurrency'),
  },
  {
    name: 'let two claims fill the places of a concurrency at once',
    find: 'PERFORM FROM ${schema}.concurrency c WHERE c.saga = ANY(asked) ORDER BY c.saga FOR NO KEY UPDATE;',
    replace: '',
    killers: [specs('claim-sagas'), specs('sagas/concurrency')],
  },
  {
    name: 'give a lock to two',
    find: `(EXISTS (SELECT FROM \${schema}.instance h
          WHERE h.name = given.name`,
    replace: `(EXISTS (SELECT FROM \${schema}.instance h
          WHERE h.name <> given.name`,
    killers: contract('a semantic lock'),
  },
  {
    name: 'give a lock to who came later',
    find: 'AND l.lock_position < given.lock_position AND',
    replace: 'AND l.lock_position < 0 AND',
    killers: contract('a semantic lock'),
  },
  {
    name: 'do not hand a lock on',
    find: 'PERFORM ${schema}.lock_hand_over_1(gone.name, gone.lock_key);',
    replace: 'CONTINUE;',
    killers: contract('a semantic lock'),
  },
  {
    name: 'let a sub-saga wait for the lock of its ancestor',
    find: 'is_inside := given.parent_id IS NOT NULL AND',
    replace: 'is_inside := false AND',
    killers: contract('a semantic lock that an ancestor holds'),
  },
  {
    name: 'let a sub-saga have the lock that an ancestor has for another key',
    find: 'WHERE f.holder_name = given.name AND f.holder_key = given.lock_key);',
    replace: 'WHERE f.holder_name = given.name);',
    killers: contract('a semantic lock that an ancestor holds'),
  },
  {
    name: 'hand a lock on while sub-sagas run under it',
    find: `AND n.lock_state = 'inside'`,
    replace: `AND n.lock_state = 'outside'`,
    killers: contract('a semantic lock that an ancestor holds'),
  },
  {
    name: 'leave a sub-saga waiting for the lock that its ancestor has got',
    find: 'IF next.undone THEN',
    replace: 'IF false THEN',
    killers: contract('a semantic lock that an ancestor holds'),
  },
  {
    name: 'close a circle of sagas that wait for locks',
    find: 'circle := CASE WHEN given.parent_id IS NOT NULL THEN',
    replace: 'circle := CASE WHEN false THEN',
    killers: contract('a circle of sagas that wait for locks'),
  },
  {
    name: 'look for a circle of two families only',
    find: 'WHERE r.id <> ALL(kin)',
    replace: 'WHERE false',
    killers: contract('a circle of sagas that wait for locks'),
  },
  {
    name: 'look for a circle among those that others are closing',
    find: `PERFORM pg_advisory_xact_lock(hashtextextended('families'`,
    replace: `PERFORM (hashtextextended('families'`,
    killers: [specs('lock-circles')],
  },
  {
    name: 'let a saga wait in a circle that is undone',
    find: `IF circle IS NULL OR own.status = 'running' THEN RETURN circle; END IF;`,
    replace: `IF circle IS NULL OR own.status = 'running' THEN RETURN circle; ELSE RETURN NULL; END IF;`,
    killers: contract('a circle of sagas that wait for locks'),
  },
  {
    name: 'look at a line that others are changing',
    find: 'PERFORM pg_advisory_xact_lock(line);',
    replace: 'CONTINUE;',
    killers: [specs('claim-sagas')],
  },
  {
    name: 'start two sagas with one correlation id',
    find: 'CREATE UNIQUE INDEX IF NOT EXISTS instance_correlation',
    replace: 'CREATE INDEX IF NOT EXISTS instance_correlation',
    killers: contract('a second saga with the same'),
  },
  {
    name: 'do not wake a saga whose sub-saga has ended',
    find: 'IF $3 IS NOT NULL THEN PERFORM ${schema}.wake_1($3); END IF;',
    replace: '',
    killers: contract('a saga that waits for another'),
  },
  {
    name: 'start sub-sagas with a checkpoint that was fenced off',
    find: 'IF cardinality(saved) = 0 THEN RETURN saved; END IF;',
    replace: '',
    killers: contract('a saga that waits for another'),
  },
  {
    name: 'let an operator change a saga without fencing off its worker',
    find: 'SET epoch = epoch + 1, cancel_requested_at = NULL',
    replace: 'SET cancel_requested_at = NULL',
    killers: contract('an operator’s change'),
  },
  {
    name: 'change a saga without locking its row',
    find: 'SELECT id FROM ${schema}.instance WHERE id = $1::uuid FOR UPDATE`',
    replace: 'SELECT id FROM ${schema}.instance WHERE id = $1::uuid`',
    killers: contract('an operator’s change'),
  },
  {
    name: 'commit a transaction whose checkpoint was not stored',
    find: "if (result === 'saved') await answered(runner.commitTransaction());",
    replace: 'if (result !== undefined) await answered(runner.commitTransaction());',
    killers: [specs('claim-sagas')],
  },
  {
    name: 'give out times that break the rate limit',
    find: 'IF size >= $3 THEN next := greatest(next, kept[size - $3 + 1] + $4); END IF;',
    replace: '',
    killers: contract('a rate limit'),
  },
  {
    name: 'keep the leases of a claim that failed half-way',
    find: 'await this.giveBack(taken, lease);',
    replace: 'void lease;',
    killers: [specs('claim-sagas')],
  },
  {
    name: 'take a deadlock for an error of the application',
    find: `'40P01', // deadlock_detected`,
    replace: '// deadlock_detected',
    killers: [specs('transient-errors')],
  },
  {
    name: 'say that a message is handled though its transaction is aborted',
    find: "if (this.status === 'E') throw this.aborted(what);",
    replace: '',
    killers: [specs('messaging/aborted-transactions')],
  },
  {
    name: 'take the rollback that COMMIT is answered with for a commit',
    find: "if (this.end === 'ROLLBACK') throw",
    replace: "if (this.end === 'never') throw",
    killers: [specs('messaging/aborted-transactions')],
  },
  {
    name: 'adopt a transactional step before its commit is known',
    find: "if (result === 'saved') watch.requireCommitted(what);",
    replace: '',
    killers: [specs('sagas/aborted-transactions')],
  },
  {
    name: 'store a checkpoint in no transaction, since the method ended its own',
    find: 'await watch.requireOpen(what, runner.manager);',
    replace: '',
    killers: [specs('sagas/aborted-transactions')],
  },
  {
    name: 'run a method for ever that catches serialization failures',
    find: 'if (failure || error instanceof SagaTransactionError) inMethod += 1;',
    replace: 'if (failure) inMethod += 1;',
    killers: [specs('sagas/aborted-transactions')],
  },
  {
    name: 'claim large sagas whatever room there is for their bytes',
    find: 'ELSIF cardinality(heavy) = 0 AND (large + size <= least($4, $5) OR',
    replace: 'ELSIF cardinality(heavy) = 0 AND (true OR',
    killers: contract('little room for bytes'),
  },
  {
    name: 'let a large saga pass one that came first and found no room',
    find: 'ELSIF cardinality(heavy) = 0 AND (large',
    replace: 'ELSIF (large',
    killers: contract('little room for bytes'),
  },
  {
    name: 'look for no small sagas behind large ones that have no room',
    find: 'IF cardinality(heavy) > 0 AND cardinality(picked) >= $3',
    replace: 'IF cardinality(heavy) < 0 AND cardinality(picked) >= $3',
    killers: contract('little room for bytes'),
  },
  {
    name: 'claim what fits a page, whatever room the worker has for bytes',
    in: 'due_1',
    find: 'bytes_at_most_1(picked) <= least($4, $5) THEN RETURN;',
    replace: 'bytes_at_most_1(picked) <= greatest($4, $5) THEN RETURN;',
    killers: contract('little room for bytes'),
  },
  {
    name: 'never claim a saga that is larger than the room of an idle worker',
    in: 'pickByBytes',
    find: '(large = 0 AND (size <= $5 OR $6))',
    replace: '(large = 0 AND size <= $5)',
    killers: contract('little room for bytes'),
  },
  {
    name: 'claim more small sagas by one statement than a page has bytes',
    in: 'pickByBytes',
    find: `small := small + size;
      EXIT WHEN small > $4;
      ids := ids || candidate;
    ELSIF`,
    replace: `small := small + size;
      ids := ids || candidate;
    ELSIF`,
    killers: [...contract('little room for bytes|rows of any size')],
  },
  {
    name: 'claim a saga that is larger than a page without saying that it has to be read in parts',
    in: 'pickByBytes',
    find: 'IF size > $4 THEN in_parts := candidate; END IF;',
    replace: '',
    killers: contract('rows of any size|little room for bytes'),
  },
  {
    name: 'let large sagas from further back pass those that found no room',
    in: 'pickByBytes',
    find: 'CONTINUE WHEN size > ${SMALL_SAGA};',
    replace: '',
    killers: contract('little room for bytes'),
  },
  {
    name: 'read as many large sagas by one statement as there are',
    find: 'IF ${schema}.bytes_at_most_1($1) <= $2 THEN RETURN; END IF;',
    replace: 'RETURN;',
    killers: contract('rows of any size'),
  },
  {
    name: 'take the size of a compressed value for that of its text',
    find: 'THEN 1 ELSE 256 END, 0)`;',
    replace: 'THEN 1 ELSE 1 END, 0)`;',
    killers: contract('rows of any size'),
  },
];
