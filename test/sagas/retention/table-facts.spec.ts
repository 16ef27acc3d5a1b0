import { Approval, Saga, Step, WaitFor } from '../../../libs/saga/src/index.js';
import { TABLES } from '../../../libs/saga/src/store/postgres/schema/tables/table-facts.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
let gate = new Gate();

@Saga({ name: 'order' })
class OrderSaga {
  @Step({ limit: { count: 1 } }) pack() {
    return gate.opened;
  }
  @WaitFor({ signal: 'paid' }) paid() {}
  @Approval() release() {}
}

/** The columns of the schema, without those of partitions. */
const columns = () =>
  apps.sql<{ table: string; column: string; type: string }>(
    `SELECT c.relname AS table, a.attname AS column, format_type(a.atttypid, NULL) AS type
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = 'saga'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND c.relname <> 'migration' ORDER BY 1, a.attnum`,
  );

/** The tables with rows of a saga. */
async function tablesWith(id: string): Promise<string[]> {
  const found: string[] = [];
  for (const [table, { sagaId }] of Object.entries(TABLES)) {
    if (sagaId === undefined || !(await exists(table))) continue;
    const rows = await apps.sql(`SELECT FROM saga.${table} WHERE ${sagaId} = $1`, [id]);
    if (rows.length > 0) found.push(table);
  }
  return found.sort();
}
const exists = async (table: string) =>
  (await apps.sql('SELECT FROM pg_class WHERE oid = to_regclass($1)', [`saga.${table}`])).length > 0;

const removedBy = (what: string) => Object.keys(TABLES).filter((table) => TABLES[table]!.removedBy === what);

describe.each([{}, { partitions: 'daily' as const }])('the facts about tables, with %j', (options) => {
  afterAll(() => apps.sql('DROP SCHEMA IF EXISTS saga CASCADE'));

  test('name each table of the schema, its key, and each JSON column', async () => {
    await apps.start({ sagas: [OrderSaga], options });
    const all = await columns();
    const listed = Object.keys(TABLES).filter(
      (table) => options.partitions || !['correlation', 'partitioning'].includes(table),
    );
    expect([...new Set(all.map(({ table }) => table))].sort()).toEqual(listed.sort());
    for (const table of listed) {
      const facts = TABLES[table]!;
      const own = all.filter((column) => column.table === table);
      const named = own.map(({ column }) => column);
      const declared = [...(facts.encoded ?? []), ...(facts.open ?? [])];
      expect([table, declared.filter((column) => !named.includes(column))]).toEqual([table, []]);
      const json = own.filter(({ type }) => type.startsWith('json')).map(({ column }) => column);
      expect([table, json.filter((column) => !declared.includes(column))]).toEqual([table, []]);
      if (named.includes('saga_id')) expect([table, facts.sagaId]).toEqual([table, 'saga_id']);
      expect([table, facts.sagaId === undefined]).toEqual([table, facts.removedBy === undefined]);
    }
  });

  test('say what removes the rows of a saga', async () => {
    gate = new Gate();
    const app = await apps.start({ sagas: [OrderSaga], options });
    const { id, outcome } = await app.sagas.start(OrderSaga, {}, { correlationId: 'o-1' });
    await until(async () => (await tablesWith(id)).includes('step_slot'));
    gate.open();
    await app.sagas.signal(id, 'paid');
    await until(async () => (await tablesWith(id)).includes('task'));
    await app.sagas.approve(id, 'release', { by: 'ann' });
    await outcome();
    const ofSagas = removedBy('deletion').filter((table) => options.partitions || table !== 'correlation');
    await until(async () => !(await tablesWith(id)).includes('step_slot'));
    expect(await tablesWith(id)).toEqual(ofSagas.sort());
    await app.operations.cleanup({ olderThan: 0 });
    expect(await tablesWith(id)).toEqual(['deleted']);
  });
});
