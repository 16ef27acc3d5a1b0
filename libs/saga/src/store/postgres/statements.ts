import { CHECKPOINT_ARGUMENTS, PUBLISH_PARAMETERS } from './checkpoint/checkpoint-parameters.js';
import { START_ARGUMENTS, START_PARAMETERS } from './start/start-parameters.js';
import { callSql } from './checkpoint/call.sql.js';
import { fenced, relaxed } from './checkpoint/relaxed.sql.js';
import { Select } from './checkpoint/select.js';
import { type StatementName, statementTexts } from './sql-texts.js';

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
  startRejecting: new Select(`c.id, ${NOW}`, `${callSql(s, 'start_rejecting', START_ARGUMENTS)} AS c(id)`),
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

/** The texts of all statements, by name. @param schema the name of the schema, unquoted */
export function statementTextsOf(schema: string): Record<StatementName | keyof Writes, string> {
  const writes = Object.entries(writesOf(`"${schema}"`)).map(([name, { text }]) => [name, text] as const);
  return { ...statementTexts(schema), ...(Object.fromEntries(writes) as Record<keyof Writes, string>) };
}
