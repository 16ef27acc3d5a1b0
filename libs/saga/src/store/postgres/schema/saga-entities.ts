import { optional, OptionReader, type OptionTable } from '../../../definition/options/option-reader.js';
import { withoutProblems } from '../../../definition/options/read-options.js';
import { SagaConfigurationError } from '../../../errors.js';
import { payloadCodec, type PayloadCodec } from '../../coded/payload-codec.js';
import { schemaName } from '../connection/schema-name.js';
import { INSTANCE_PRIVATE, type PlaceColumns, readingOf, STEP_PRIVATE } from '../typeorm/entity-columns.js';
import type { EntitySchema } from 'typeorm';
import { type TypeOrm, typeOrm } from '../typeorm/typeorm-package.js';
import { SAGA_ROW, SagaInstance, SagaStep } from './saga-row.js';
import { STEP_COLUMNS } from './step-row.js';

export const DEFAULT_SCHEMA = 'saga';

/** What `sagaEntities()` takes beside the schema. */
export interface SagaEntitiesOptions {
  /** The codec of SagaModule, which decodes what it has encoded. Requires TypeORM 0.3.26. Default: encoded values are refused. */
  codec?: PayloadCodec;
}

const ENTITY_OPTIONS = { codec: optional(payloadCodec) } satisfies OptionTable<SagaEntitiesOptions>;

interface EntityColumn {
  readonly field: string;
  /** The name of the column, quoted if it has to be. */
  readonly name: string;
  readonly type: string;
  readonly constraint?: string;
}

/**
 * Returns the entities `SagaInstance` and `SagaStep` of a schema, for `TypeOrmModule.forFeature(sagaEntities())` or the `entities` of a
 * DataSource. They are for reading: TypeORM inserts and updates none of their columns. They are never synchronized: their
 * tables, with indexes that TypeORM cannot express, belong to the migrations.
 *
 * Calls with the same schema and codec return the same entities. Values that a codec has encoded are decoded by `codec`. Without it, or without the key, reading such a value throws SagaCodecError.
 * @throws SagaConfigurationError for an invalid name of a schema or an invalid option
 */
export function sagaEntities(
  schema: string = DEFAULT_SCHEMA,
  options: SagaEntitiesOptions = {},
): [EntitySchema<SagaInstance>, EntitySchema<SagaStep>] {
  const { codec } = withoutProblems('sagaEntities()', SagaConfigurationError, (report) => {
    const reader = new OptionReader(report);
    schemaName.read(schema, 'schema', reader);
    return reader.read(ENTITY_OPTIONS, options);
  });
  const { EntitySchema } = typeOrm('sagaEntities()');
  const before = made.find((one) => one.schema === schema && one.codec === codec && one.by === EntitySchema);
  if (before) return before.entities;
  const entities = entitiesOf(EntitySchema, schema, codec);
  made.push({ schema, codec, by: EntitySchema, entities });
  return entities;
}

type Entities = [EntitySchema<SagaInstance>, EntitySchema<SagaStep>];

/** What calls have returned: several modules of an application may register the entities, which are one pair to TypeORM. */
const made: {
  readonly schema: string;
  readonly codec: PayloadCodec | undefined;
  readonly by: TypeOrm['EntitySchema'];
  readonly entities: Entities;
}[] = [];

function entitiesOf(
  EntitySchema: TypeOrm['EntitySchema'],
  schema: string,
  codec: PayloadCodec | undefined,
): Entities {
  const table = { schema, synchronize: false };
  const time = { type: 'timestamptz', constraint: 'NOT NULL' };
  const unbound = { createForeignKeyConstraints: false, persistence: false } as const;
  const stepColumns = [
    { field: 'sagaId', name: 'saga_id', type: 'uuid' },
    { field: 'name', name: 'name', type: 'text' },
    ...STEP_COLUMNS,
    { field: 'progress', name: 'progress', type: 'json' },
    { field: 'startedAt', name: 'started_at', ...time },
    { field: 'updatedAt', name: 'updated_at', ...time },
  ];
  return [
    new EntitySchema<SagaInstance>({
      ...{ ...table, name: 'SagaInstance', target: SagaInstance, tableName: 'instance' },
      columns: columnsOf<SagaInstance>(SAGA_ROW, ['id'], (field, name) =>
        privateReading('SagaInstance', INSTANCE_PRIVATE, field, name, ['id'], codec),
      ),
      relations: { steps: { type: 'one-to-many', target: 'SagaStep', inverseSide: 'saga', ...unbound } },
    }),
    new EntitySchema<SagaStep>({
      ...{ ...table, name: 'SagaStep', target: SagaStep, tableName: 'step_state' },
      columns: columnsOf<SagaStep>(stepColumns, ['sagaId', 'name'], (field, name) =>
        privateReading('SagaStep', STEP_PRIVATE, field, name, ['saga_id', 'name'], codec),
      ),
      relations: {
        saga: {
          ...{ type: 'many-to-one', target: 'SagaInstance', inverseSide: 'steps', ...unbound },
          joinColumn: { name: 'saga_id', referencedColumnName: 'id' },
        },
      },
    }),
  ];
}

function privateReading(
  entity: string,
  columns: Readonly<Record<string, Parameters<typeof readingOf>[2]>>,
  field: string,
  name: string,
  place: PlaceColumns,
  codec: PayloadCodec | undefined,
) {
  const column = columns[field];
  return column && readingOf(`${entity}.${field}`, name, column, place, codec);
}

/** @param readingOfField how a field is read. Undefined: as TypeORM reads it */
function columnsOf<Row>(
  columns: readonly EntityColumn[],
  key: readonly (keyof Row)[],
  readingOfField: (field: string, name: string) => object | undefined,
) {
  const entries = columns.map(({ field, name: quoted, type, constraint }) => {
    const name = quoted.replaceAll('"', '');
    const column = {
      ...{ name, type, nullable: !constraint, insert: false, update: false },
      primary: key.includes(field as keyof Row),
      ...(type === 'timestamptz' && { precision: 6 }),
      ...readingOfField(field, name),
    };
    return [field, column];
  });
  return Object.fromEntries(entries) as Record<keyof Row, { type: 'text'; nullable: boolean }>;
}
