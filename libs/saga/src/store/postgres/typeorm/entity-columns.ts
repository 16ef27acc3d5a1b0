import { SagaCodecError, SagaConfigurationError } from '../../../errors.js';
import { Coder, type Conversion, isCoded } from '../../coded/coder.js';
import type { PayloadCodec } from '../../coded/payload-codec.js';
import {
  convertStatePart,
  convertStepPart,
  type ValuePlace,
  WHOLE_COLUMNS,
} from '../../coded/private-fields.js';
import { errorsOfJson, type ErrorsJson } from '../checkpoint/errors-json.js';
import type { SagaFieldWith } from '../schema/saga-row.js';
import type { StepColumnField } from '../schema/step-row.js';
import type { StepFieldWith } from '../../../machine/saga-state.js';

/** How a private column is read as an entity has it. */
interface PrivateColumn {
  /** Parts of the value are encoded, each by itself, and not the value. */
  readonly isRecord: boolean;
  /** @param text the column as text */
  readonly decoded: (text: string, by: Conversion, at: ValuePlace) => unknown;
  /** @param value the column as TypeORM reads it. Default: the entity has it as it is */
  readonly plain?: (value: never) => unknown;
}

const parsed = (text: string) => JSON.parse(text) as never;
const text = (name: 'cancelReason' | 'error'): PrivateColumn => ({
  isRecord: false,
  decoded: (stored, by, at) => WHOLE_COLUMNS[name](stored, by, at, undefined),
});
const payload = (name: 'input' | 'startedInput' | 'reports' | 'result'): PrivateColumn => ({
  isRecord: false,
  decoded: (stored, by, at) => parsed(WHOLE_COLUMNS[name](stored, by, at, undefined)),
});

/** The private columns of `SagaInstance`. */
export const INSTANCE_PRIVATE: {
  readonly [Field in SagaFieldWith<{ readonly isPrivate: true }>]: PrivateColumn;
} = {
  ...{ input: payload('input'), startedInput: payload('startedInput'), reports: payload('reports') },
  ...{ cancelReason: text('cancelReason'), error: text('error') },
  failure: {
    isRecord: true,
    decoded: (stored, by, at) => convertStatePart({ failure: parsed(stored) }, by, at).failure,
  },
  progress: { isRecord: true, decoded: (stored, by, at) => convertStatePart(parsed(stored), by, at) },
};

type PrivateStepColumn = StepColumnField & StepFieldWith<{ readonly isPrivate: true }>;

/** The private columns of `SagaStep`. */
export const STEP_PRIVATE: { readonly [Field in PrivateStepColumn | 'progress']: PrivateColumn } = {
  result: payload('result'),
  errors: {
    isRecord: true,
    decoded: (stored, by, at) => convertStepPart({ errors: errorsOfJson(parsed(stored)) }, by, at).errors,
    plain: (errors: ErrorsJson) => errorsOfJson(errors),
  },
  progress: { isRecord: true, decoded: (stored, by, at) => convertStepPart(parsed(stored), by, at) },
};

/** Marks a value that was selected with its place. */
const LOCATED = 'saga:located';
type Located = readonly [mark: string, saga: string | null, step: string | null, text: string | null];

/** The columns that say where a value is: the saga's id, and the step's name. */
export type PlaceColumns = readonly [saga: string, step?: string];

/**
 * Returns how TypeORM reads a private column. Without a codec, a value that is encoded is refused. A codec decodes it: a value is
 * bound to its saga and step, and a transformer is given the value alone, so that the column is selected together with them.
 * @param label names the field in errors
 * @param name the column's, unquoted
 */
export function readingOf(
  label: string,
  name: string,
  { isRecord, decoded, plain = (value) => value }: PrivateColumn,
  [saga, step]: PlaceColumns,
  codec: PayloadCodec | undefined,
) {
  const to = (value: unknown): unknown => value;
  if (!codec) {
    const from = (value: unknown): unknown => {
      if (isCoded(value, isRecord))
        throw new SagaCodecError(
          `${label} is encoded. Give the codec of SagaModule: sagaEntities(schema, { codec }). Or leave the column out of the selection.`,
        );
      return value === null ? null : plain(value as never);
    };
    return { transformer: { from, to } };
  }
  const { decoding } = new Coder(codec);
  const from = (selected: Located | null): unknown => {
    if (selected?.[0] !== LOCATED)
      throw new SagaConfigurationError(
        `sagaEntities(schema, { codec }) requires TypeORM 0.3.26 or later. Run npm install typeorm@latest.`,
      );
    const [, sagaId, inStep, stored] = selected;
    if (sagaId === null || stored === null) return null;
    return decoded(stored, decoding, { sagaId, ...(inStep !== null && { step: inStep }) });
  };
  const query = (i: string): string =>
    `json_build_array('${LOCATED}', ${i}.${saga}, ${step ? `${i}.${step}` : 'NULL'}, ${i}.${name}::text)`;
  return { virtualProperty: true, query, transformer: { from, to } };
}
