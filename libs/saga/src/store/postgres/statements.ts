import { CHECKPOINT_ARGUMENTS } from './schema/functions/checkpoint.function.js';
import { FAMILY_ARGUMENTS } from './schema/functions/family.function.js';
import { CHECKPOINT_PUBLISH_ARGUMENTS } from './schema/functions/checkpoint-publish.function.js';
import { START_ARGUMENTS } from './schema/functions/start.function.js';
import { callSql } from './checkpoint/call.sql.js';
import { fencingSql, relaxedSql } from './checkpoint/relaxed.sql.js';
import { unsavedSql } from './checkpoint/unsaved.sql.js';
import { claimSql } from './claim/claim.sql.js';
import { claimedSql, giveBackSql } from './claim/claimed.sql.js';
import {
  fenceOffSql,
  idByCorrelationSql,
  loadByIdSql,
  lockSql,
  requestCancelSql,
  requestPauseSql,
} from './edit/edit.sql.js';
import { historySql, operationSql } from './edit/operation.sql.js';
import { markOverdueSql } from './read/overdue.sql.js';
import { statsSql } from './read/stats.sql.js';
import { renewSql } from './claim/renew.sql.js';
import { existingSql } from './start/existing.sql.js';
import { signalPartSql, standsSql, stepPartSql } from './read/stored-saga.sql.js';
import { endedSql, missingSql, settledSql, watchSql } from './read/watch.sql.js';

const NOW = '(extract(epoch FROM now()) * 1000)::float8 AS now';

/** The ids, or null if they are all that were given: an answer that is as short as can be, as it nearly always is. */
const unlessAll = (ids: string, given: string): string =>
  `CASE WHEN cardinality(c.${ids}) < cardinality(${given}::uuid[]) THEN c.${ids} END AS ${ids}`;

/** The store's statements, in a schema (quoted). */
export const statementsOf = (s: string) => ({ ...plainStatements(s), ...relaxedStatements(s) });

/** Those of the hot path for sagas that are stored relaxed. */
function relaxedStatements(s: string) {
  const { start, startOne, checkpoint, checkpointOne } = plainStatements(s);
  return {
    startRelaxed: relaxedSql(start),
    startOneRelaxed: relaxedSql(startOne),
    checkpointRelaxed: relaxedSql(fencingSql(s, checkpoint, CHECKPOINT_ARGUMENTS)),
    checkpointOneRelaxed: relaxedSql(fencingSql(s, checkpointOne, CHECKPOINT_ARGUMENTS)),
  };
}

const plainStatements = (s: string) => ({
  start: `SELECT ${unlessAll('id', '$3')}, ${NOW} FROM ${callSql(s, 'start_1', START_ARGUMENTS)} AS c(id)`,
  startOne: `SELECT c.id, ${NOW} FROM ${callSql(s, 'start_one_1', START_ARGUMENTS)} AS c(id)`,
  existing: existingSql(s),
  // A subquery, so that something may come before it: see fencingSql.
  checkpoint: `SELECT (SELECT ${unlessAll('saved', '$1')} FROM ${callSql(s, 'checkpoint_1', CHECKPOINT_ARGUMENTS)} AS c(saved)) AS saved`,
  checkpointOne: `SELECT ${callSql(s, 'checkpoint_one_1', CHECKPOINT_ARGUMENTS)} AS saved`,
  unsaved: unsavedSql(s),
  claim: claimSql(s),
  claimLimited: `SELECT taken, epochs, clock AS now, next_due_at FROM ${callSql(s, 'claim_limited_1', 8)}`,
  claimed: claimedSql(s),
  giveBack: giveBackSql(s),
  renew: renewSql(s),
  watch: watchSql(s),
  settled: settledSql(s),
  ended: endedSql(s),
  missing: missingSql(s),
  loadById: loadByIdSql(s),
  idByCorrelation: idByCorrelationSql(s),
  lock: lockSql(s),
  fenceOff: fenceOffSql(s),
  requestCancel: requestCancelSql(s),
  requestPause: requestPauseSql(s),
  operation: operationSql(s),
  history: historySql(s),
  markOverdue: markOverdueSql(s),
  stats: statsSql(s),
  checkpointLocked: `SELECT ${callSql(s, 'checkpoint_locked_1', 2 + CHECKPOINT_ARGUMENTS)} AS saved`,
  checkpointPublish: `SELECT ${callSql(s, 'checkpoint_publish_1', CHECKPOINT_PUBLISH_ARGUMENTS)} AS saved`,
  checkpointFamily: `SELECT ${callSql(s, 'checkpoint_family_1', FAMILY_ARGUMENTS)} AS saved`,
  lineUp: `SELECT ready AS id, deadline, held, deadlock, cancelled, reason FROM ${callSql(s, 'lock_enqueue_1', 4)}`,
  lockLine: `SELECT ${callSql(s, 'lock_line_1', 2)}`,
  reserve: `SELECT times, clock AS now FROM ${callSql(s, 'reserve_1', 6)}`,
  signal: `SELECT place, outcome, id, name, version, status FROM ${callSql(s, 'signal_1', 7)} ORDER BY place`,
  stepPart: stepPartSql(s),
  signalPart: signalPartSql(s),
  stands: standsSql(s),
  stayInLine: `UPDATE ${s}.instance SET due_at = now(), rank_at = now() WHERE id = $1::uuid`,
  leaveLine: `SELECT ${callSql(s, 'lock_dequeue_1', 1)}`,
});

export type Statements = ReturnType<typeof statementsOf>;
