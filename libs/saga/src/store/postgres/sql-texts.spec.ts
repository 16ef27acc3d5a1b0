import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../../test/support/test-database.js';
import { sqlOf } from './typeorm/typeorm-database.js';
import { DataSource } from 'typeorm';
import { migrate } from './setup/migrate.js';
import { FUNCTIONS, STATEMENTS } from './sql.generated.js';
import { type FunctionName, functionText, type StatementName, statementTexts } from './sql-texts.js';
import { statementTextsOf } from './statements.js';

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  await migrate(sqlOf(application), 'saga');
  await application.destroy();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

/** The parameters of each statement with their types, as PostgreSQL takes them. */
const EXPECTED_TYPES: Record<StatementName, string> = {
  catchUp: 'names text[], versions integer[]',
  changed: 'ids uuid[], seen text[]',
  claim:
    'names text[], versions integer[], room integer, worker text, lease double precision, pageBytes bigint, bytes bigint, isAlone boolean, fromRank double precision',
  claimKeyed:
    'names text[], versions integer[], limits integer[], otherNames text[], otherVersions integer[], room integer, worker text, lease double precision',
  claimLimited:
    'names text[], versions integer[], limits integer[], otherNames text[], otherVersions integer[], room integer, worker text, lease double precision',
  claimed: 'ids uuid[], epochs integer[], worker text, pageBytes bigint',
  clock: '',
  dequeue: 'ids uuid[]',
  endTask: 'id uuid, step text',
  ended: 'ids uuid[], pageBytes bigint',
  enqueue: 'ids uuid[], epochs integer[], names text[], keys text[]',
  existing: 'places integer[], ids uuid[], names text[], correlationIds text[], pageBytes numeric',
  fenceOff: 'input json, version integer, id uuid',
  fenceSlots: 'names text[]',
  freeSlots:
    'saga text, step text, key text, count integer, id uuid, epoch integer, turn integer, steps text[]',
  giveBack: 'delay double precision, ids uuid[], epochs integer[], worker text',
  handOver: 'name text, key text',
  history: 'sagaId uuid, limit bigint',
  idByCorrelation: 'name text, correlationId text, id uuid',
  insertSchedule:
    'saga text, cron text, timezone text, overlap text, catchUp text, decidedUntil double precision, nextAt double precision, pausedAt double precision, pausedBy text, pauseReason text, lastSaga uuid, lastAt double precision, lastTriggered boolean, skippedAt double precision',
  loadById: 'pageBytes bigint, id uuid',
  lock: 'id uuid',
  lockHolders: 'places integer[], names text[], keys text[]',
  lockQueues: 'names text[], keys text[]',
  lockSchedule: 'saga text',
  markOverdue: 'names text[], limit bigint',
  missing: 'ids uuid[]',
  operation:
    'sagaId uuid, id uuid, action text, operator text, reason text, step text, fromStatus text, revision integer, proposed boolean, newInput boolean, given json',
  pauseStep: 'saga text, step text, by text, reason text, channel text',
  present: 'ids uuid[], pageBytes bigint',
  putBack:
    'epoch integer, worker text, lease double precision, startedAt double precision, parentId uuid, parentStep text, lastSignal integer, startsAt double precision, id uuid',
  putBackTime: 'updatedAt double precision, id uuid',
  renew: 'ids uuid[], epochs integer[], seen double precision[], worker text, lease double precision',
  report:
    'ids uuid[], epochs integer[], seen double precision[], reports text[], worker text, lease double precision',
  requestCancel: 'reason text, id uuid',
  requestPause: 'id uuid',
  reserve:
    'saga text, step text, key text, count integer, per double precision, attempts integer, ahead double precision, holder uuid, unused double precision[]',
  resumeStep: 'by text, reason text, saga text, step text, channel text',
  resumed: 'saga text, step text',
  schedules: '',
  settled: 'ids uuid[], pageBytes bigint',
  signal:
    'ids uuid[], names text[], correlationIds text[], signals text[], messageIds text[], payloads json[], known jsonb',
  signalPart: 'id uuid, after integer, bytes bigint',
  stands: 'id uuid',
  stats: '',
  stayQueued: 'id uuid',
  stepPart: 'id uuid, after text, bytes bigint',
  stepPauses: 'resumed bigint',
  sweepSlots:
    'names text[], versions integer[], limitNames text[], limitVersions integer[], limitSteps text[], limitCounts integer[]',
  takeSlots:
    'saga text, step text, key text, count integer, id uuid, epoch integer, turn integer, steps text[]',
  unended: 'id uuid',
  unsaved: 'ids uuid[]',
  updateSchedule:
    'cron text, timezone text, overlap text, catchUp text, decidedUntil double precision, nextAt double precision, pausedAt double precision, pausedBy text, pauseReason text, lastSaga uuid, lastAt double precision, lastTriggered boolean, skippedAt double precision, saga text',
  wakeIdle: 'saga text, step text, version integer, id uuid, rank timestamp with time zone, limit bigint',
  wakeLater: 'saga text, step text, version integer, rank timestamp with time zone, id uuid, limit bigint',
  watch: 'ids uuid[]',
  woken: 'ids bigint[]',
};

describe('a function of the .sql files', () => {
  test.each(Object.keys(FUNCTIONS) as FunctionName[])('is accepted by PostgreSQL: %s', async (name) => {
    await client.query('BEGIN');
    await client.query('SET LOCAL check_function_bodies = on');
    await expect(client.query(functionText(name, 'saga'))).resolves.toBeDefined();
    await client.query('ROLLBACK');
  });
});

describe('a statement of the store', () => {
  const texts = statementTextsOf('saga');

  test.each(Object.keys(texts) as (keyof typeof texts)[])('is planned by PostgreSQL: %s', async (name) => {
    await client.query('SET plan_cache_mode = force_generic_plan');
    await client.query(`PREPARE one AS ${texts[name]}`);
    const { rows } = await client.query<{ types: string[] }>(
      "SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'one'",
    );
    const { types } = rows[0]!;
    const nulls = types.length > 0 ? `(${types.map(() => 'NULL').join(', ')})` : '';
    await expect(client.query(`EXPLAIN EXECUTE one${nulls}`)).resolves.toBeDefined();
    await client.query('DEALLOCATE one');
    if (name in STATEMENTS) expect(types).toHaveLength(STATEMENTS[name as StatementName].parameters.length);
  });

  test('is given parameters of the expected types', async () => {
    const given: Record<string, string> = {};
    for (const [name, text] of Object.entries(statementTexts('saga'))) {
      await client.query(`PREPARE one AS ${text}`);
      const { rows } = await client.query<{ types: string[] }>(
        "SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'one'",
      );
      const { parameters } = STATEMENTS[name as StatementName];
      given[name] = parameters.map((parameter, n) => `${parameter} ${rows[0]!.types[n]}`).join(', ');
      await client.query('DEALLOCATE one');
    }
    expect(given).toEqual(EXPECTED_TYPES);
  });
});
