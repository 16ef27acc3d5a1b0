import type { Type } from '@nestjs/common';
import type { SagaOperations, SagaSchedules, SagaService, SagaTarget } from 'nestjs-durable-saga';
import type { PayloadCodec } from 'nestjs-durable-saga/encryption';
import type { SagaDescription } from 'nestjs-durable-saga/diagram';
import { type GraphRecord, isUuid } from 'nestjs-durable-saga/internal';
import type { ServiceParts } from 'nestjs-durable-saga/internal/runtime';
import { CannotTell, DATABASE_OPTIONS, option, UsageError } from './command.js';

export const CODEC_OPTION = {
  codec: option.text(
    '<file>',
    "the compiled file whose default export is the applications' codec, or a function that returns it",
  ),
} as const;

/** Where the sagas are. */
export const PLACE_OPTIONS = {
  ...DATABASE_OPTIONS,
  engine: option.text(
    '<file>',
    "the compiled file whose default export is the applications' engine, if it is not PostgreSQL, or a function that returns it",
  ),
} as const;

/** The options of every command that reads sagas or acts on them. */
export const SAGA_OPTIONS = { ...PLACE_OPTIONS, ...CODEC_OPTION } as const;

/** Sagas as a command sees them: through the very calls that an application has. */
export interface OperatorSession {
  readonly sagas: SagaService;
  readonly operations: SagaOperations;
  readonly schedules: SagaSchedules;
  readonly running: ServiceParts;
  /** The applications encode what they store. */
  readonly isCoded: boolean;
  /** What was given to encode and decode it. */
  readonly codec: PayloadCodec | undefined;
  /** What was deployed, as it was stored; in the order of the names. */
  readonly deployed: readonly Deployed[];
  /** The class that stands for one of these, as `start()` takes it. */
  typeOf(saga: Deployed): Type;
}

/** The newest graph of a version of a saga. */
export interface Deployed {
  readonly name: string;
  readonly version: number;
  readonly graph: GraphRecord;
  readonly about: SagaDescription;
}

/**
 * What the applications would have encoded is not stored as it is.
 * @param what was given: `<input>`; undefined: nothing
 */
export function checkEncoded(
  { isCoded, codec }: Pick<OperatorSession, 'isCoded' | 'codec'>,
  what: string | undefined,
): void {
  if (what === undefined || !isCoded || codec) return;
  throw new CannotTell(
    `${what} would be stored unencoded, but the applications encode their values. Give their codec as --codec <file>`,
    'SAGA_CODEC',
  );
}

export const TARGET = '<target>';

/**
 * A saga's id, or `<saga>/<correlation id>`. Both parts may have slashes of their own: a name that was deployed is
 * taken for one, otherwise all up to the first slash.
 */
export function readTarget(written: string, { deployed }: Pick<OperatorSession, 'deployed'>): SagaTarget {
  const named = deployed.map(({ name }) => name).filter((name) => written.startsWith(`${name}/`));
  const saga = named.sort((a, b) => b.length - a.length)[0] ?? written.split('/')[0]!;
  const correlationId = written.slice(saga.length + 1);
  if (saga !== '' && correlationId !== '') return { saga, correlationId };
  const isId: boolean = isUuid(written);
  if (isId) return written;
  throw new UsageError(`'${written}' is not a target; give a saga's id, or <saga>/<correlation id>`);
}
