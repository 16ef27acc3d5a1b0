import { CHECKPOINT_ARGUMENTS, PUBLISH_PARAMETERS } from './checkpoint/checkpoint-parameters.js';
import { START_ARGUMENTS, START_PARAMETERS } from './start/start-parameters.js';
import { callSql } from './checkpoint/call.sql.js';
import { fenced, relaxed } from './checkpoint/relaxed.sql.js';
import { Select } from './checkpoint/select.js';
import { unsavedSql } from './checkpoint/unsaved.sql.js';
import { claimedSql, giveBackSql } from './claim/claimed.sql.js';
import {
  endTaskSql,
  fenceOffSql,
  idByCorrelationSql,
  loadByIdSql,
  lockSql,
  putBackSql,
  putBackTimeSql,
  requestCancelSql,
  requestPauseSql,
} from './edit/edit.sql.js';
import { historySql, operationSql } from './edit/operation.sql.js';
import {
  clockSql,
  insertScheduleSql,
  lockScheduleSql,
  schedulesSql,
  unendedSql,
  updateScheduleSql,
} from './read/schedules.sql.js';
import {
  pauseStepSql,
  resumedSql,
  resumeStepSql,
  stepPausesSql,
  wakeIdleSql,
  wakeLaterSql,
  wokenSql,
} from './pauses/pauses.sql.js';
import { markOverdueSql } from './read/overdue.sql.js';
import { statsSql } from './read/stats.sql.js';
import { renewSql, reportSql } from './claim/renew.sql.js';
import { existingSql } from './start/existing.sql.js';
import { signalPartSql, standsSql, stepPartSql } from './read/stored-saga.sql.js';
import { changedSql, endedSql, missingSql, presentSql, settledSql, watchSql } from './read/watch.sql.js';

const NOW = '(extract(epoch FROM now()) * 1000)::float8 AS now';

/** The ids, or null if they are all that were given: an answer that is as short as can be, as it nearly always is. */
const unlessAll = (ids: string, given: string): string =>
  `CASE WHEN cardinality(c.${ids}) < cardinality(${given}::uuid[]) THEN c.${ids} END AS ${ids}`;

/** The calls that store sagas and checkpoints, in a schema (quoted). More may be sent with each: see Select. */
export const writesOf = (s: string) => ({ ...plainWrites(s), ...relaxedWrites(s) });

export type Writes = ReturnType<typeof writesOf>;

/** The number of arguments of checkpoint_family: names and keys of locks, the parent, the steps that start sagas, messages, sagas, and the checkpoint. */
const FAMILY_ARGUMENTS = 4 + PUBLISH_PARAMETERS.length + START_PARAMETERS.length + CHECKPOINT_ARGUMENTS;

const plainWrites = (s: string) => ({
  start: new Select(`${unlessAll('id', '$3')}, ${NOW}`, `${callSql(s, 'start', START_ARGUMENTS)} AS c(id)`),
  startOne: new Select(`c.id, ${NOW}`, `${callSql(s, 'start_one', START_ARGUMENTS)} AS c(id)`),
  // A subquery, so that something may come before it: see fenced.
  checkpoint: new Select(
    `(SELECT ${unlessAll('saved', '$1')} FROM ${callSql(s, 'checkpoint', CHECKPOINT_ARGUMENTS)} AS c(saved)) AS saved`,
  ),
  checkpointOne: saving(callSql(s, 'checkpoint_one', CHECKPOINT_ARGUMENTS)),
  checkpointLocked: saving(callSql(s, 'checkpoint_locked', 2 + CHECKPOINT_ARGUMENTS)),
  checkpointPublish: saving(
    callSql(s, 'checkpoint_publish', 1 + PUBLISH_PARAMETERS.length + 2 + CHECKPOINT_ARGUMENTS),
  ),
  checkpointFamily: saving(callSql(s, 'checkpoint_family', FAMILY_ARGUMENTS)),
});

const saving = (call: string): Select => new Select(`${call} AS saved`);

/** The statements of the hot path for sagas that are stored relaxed. */
function relaxedWrites(s: string) {
  const { start, startOne, checkpoint, checkpointOne } = plainWrites(s);
  return {
    startRelaxed: relaxed(start),
    startOneRelaxed: relaxed(startOne),
    checkpointRelaxed: relaxed(fenced(s, checkpoint, CHECKPOINT_ARGUMENTS)),
    checkpointOneRelaxed: relaxed(fenced(s, checkpointOne, CHECKPOINT_ARGUMENTS)),
  };
}

/** The texts of the store's statements, in a schema (quoted). */
export function statementsOf(s: string): Statements {
  const writes = Object.entries(writesOf(s)).map(([name, { text }]) => [name, text] as const);
  return { ...plainStatements(s), ...(Object.fromEntries(writes) as Record<keyof Writes, string>) };
}

const plainStatements = (s: string) => ({
  existing: existingSql(s),
  startRejecting: `SELECT c.id, ${NOW} FROM ${callSql(s, 'start_rejecting', START_ARGUMENTS)} AS c(id)`,
  lockHolders: `SELECT w.n, ${s}.lock_holder(w.name, w.key) AS holder FROM unnest($1::int[], $2::text[], $3::text[]) AS w(n, name, key)`,
  unsaved: unsavedSql(s),
  claim: `SELECT * FROM ${callSql(s, 'claim', 9)}`,
  claimLimited: `SELECT taken, epochs, clock AS now, next_due_at FROM ${callSql(s, 'claim_limited', 8)}`,
  claimKeyed: `SELECT taken, epochs, clock AS now, next_due_at FROM ${callSql(s, 'claim_keyed', 8)}`,
  claimed: claimedSql(s),
  giveBack: giveBackSql(s),
  renew: renewSql(s),
  report: reportSql(s),
  changed: changedSql(s),
  present: presentSql(s),
  watch: watchSql(s),
  settled: settledSql(s),
  ended: endedSql(s),
  missing: missingSql(s),
  loadById: loadByIdSql(s),
  idByCorrelation: idByCorrelationSql(s),
  lock: lockSql(s),
  fenceOff: fenceOffSql(s),
  putBack: putBackSql(s),
  putBackTime: putBackTimeSql(s),
  requestCancel: requestCancelSql(s),
  requestPause: requestPauseSql(s),
  endTask: endTaskSql(s),
  operation: operationSql(s),
  history: historySql(s),
  markOverdue: markOverdueSql(s),
  stats: statsSql(s),
  schedules: schedulesSql(s),
  lockSchedule: lockScheduleSql(s),
  insertSchedule: insertScheduleSql(s),
  updateSchedule: updateScheduleSql(s),
  unended: unendedSql(s),
  clock: clockSql(),
  stepPauses: stepPausesSql(s),
  pauseStep: pauseStepSql(s),
  resumeStep: resumeStepSql(s),
  resumed: resumedSql(s),
  wakeIdle: wakeIdleSql(s),
  wakeLater: wakeLaterSql(s),
  woken: wokenSql(s),
  enqueue: `SELECT ready AS id, deadline, held, deadlock, cancelled, reason FROM ${callSql(s, 'lock_enqueue', 4)}`,
  lockQueues: `SELECT ${callSql(s, 'lock_queues', 2)}`,
  reserve: `SELECT times, clock AS now FROM ${callSql(s, 'reserve', 8)}`,
  catchUp: `SELECT ${callSql(s, 'catch_up', 2)}`,
  takeSlots: `SELECT ${callSql(s, 'take_slots', 8)} AS taken`,
  freeSlots: `SELECT ${callSql(s, 'free_slots', 8)}`,
  fenceSlots: `SELECT ${callSql(s, 'fence_slots', 1)}`,
  sweepSlots: `SELECT ${callSql(s, 'sweep_slots', 6)}`,
  signal: `SELECT place, outcome, id, name, version, status, awaited, elsewhere FROM ${callSql(s, 'signal', 7)} ORDER BY place`,
  stepPart: stepPartSql(s),
  signalPart: signalPartSql(s),
  stands: standsSql(s),
  stayQueued: `UPDATE ${s}.instance SET due_at = now(), rank_at = now() WHERE id = $1::uuid`,
  dequeue: `SELECT ${callSql(s, 'lock_dequeue', 1)}`,
  handOver: `SELECT ${callSql(s, 'lock_hand_over', 2)}`,
});

export type Statements = ReturnType<typeof plainStatements> & Record<keyof Writes, string>;
