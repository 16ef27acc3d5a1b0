import type { EntitySchema } from '../typeorm/typeorm-types.js';
import { typeOrm } from '../typeorm/typeorm-package.js';
import { SAGA_ROW, SagaInstance } from './saga-row.js';
import { SagaStep, STEP_COLUMNS } from './step-row.js';

export const DEFAULT_SCHEMA = 'saga';

interface EntityColumn {
  readonly field: string;
  /** The name of the column, quoted if it has to be. */
  readonly name: string;
  readonly type: string;
  readonly constraint?: string;
}

/**
 * The entities for a schema. They are never synchronized: their tables, with indexes that TypeORM cannot
 * express, belong to the migrations.
 */
export function sagaEntities(
  schema: string = DEFAULT_SCHEMA,
): [EntitySchema<SagaInstance>, EntitySchema<SagaStep>] {
  const { EntitySchema } = typeOrm('sagaEntities()');
  const table = { schema, synchronize: false };
  const time = { type: 'timestamptz', constraint: 'NOT NULL' };
  return [
    new EntitySchema<SagaInstance>({
      ...{ ...table, name: 'SagaInstance', target: SagaInstance, tableName: 'instance' },
      columns: entityColumns<SagaInstance>(SAGA_ROW, ['id']),
    }),
    new EntitySchema<SagaStep>({
      ...{ ...table, name: 'SagaStep', target: SagaStep, tableName: 'step' },
      columns: entityColumns<SagaStep>(
        [
          { field: 'sagaId', name: 'saga_id', type: 'uuid' },
          { field: 'name', name: 'name', type: 'text' },
          ...STEP_COLUMNS,
          { field: 'progress', name: 'progress', type: 'json' },
          { field: 'startedAt', name: 'started_at', ...time },
          { field: 'updatedAt', name: 'updated_at', ...time },
        ],
        ['sagaId', 'name'],
      ),
    }),
  ];
}

function entityColumns<Row>(columns: readonly EntityColumn[], key: readonly (keyof Row)[]) {
  const entries = columns.map(({ field, name, type, constraint }) => [
    field,
    {
      ...{ name: name.replaceAll('"', ''), type, nullable: !constraint },
      primary: key.includes(field as keyof Row),
      ...(type === 'timestamptz' && { precision: 6 }),
    },
  ]);
  return Object.fromEntries(entries) as Record<keyof Row, { type: 'text'; nullable: boolean }>;
}
