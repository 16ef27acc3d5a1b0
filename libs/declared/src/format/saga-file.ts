import type {
  Duration,
  Limit,
  RateLimit,
  SagaOptions,
  ScheduleOptions,
  StepOptions,
} from 'nestjs-durable-saga';
import type { Expression } from '../expression/expression.js';
import type { Template } from '../expression/template.js';
import type { MessageDefinition } from './call-format.js';
import type { DECIDING, waitForSignal } from './saga-format.js';
import type { ReadOf } from './shape.js';

/** A file as `SAGA_SHAPE` reads it. */
export interface SagaFile extends Omit<
  SagaOptions,
  'name' | 'input' | 'rateLimit' | 'lockKey' | 'lockMode' | 'schedule'
> {
  readonly $schema?: string;
  readonly saga: string;
  readonly description?: string;
  /** A JSON Schema. */
  readonly input?: object | boolean;
  readonly secrets?: ReadonlyMap<string, string>;
  readonly rateLimit?: Omit<RateLimit, 'key'>;
  readonly lockKey?: Expression;
  readonly schedule?: Omit<ScheduleOptions, 'input'> & { readonly input?: Template };
  readonly steps: ReadonlyMap<string, StepFile>;
}

/** The key that decides what a step does: it has one of them. */
type KindFile = { readonly [Kind in keyof typeof DECIDING]?: ReadOf<(typeof DECIDING)[Kind]> };

/** What a step, a compensation or a probe calls. */
export interface CallFile extends Pick<KindFile, 'http' | 'exec' | 'call'> {
  readonly message?: MessageDefinition;
}

/** Returns all calls of a file: those of steps, of compensations and of probes, each with its path of keys. */
export function callsOf({ steps }: SagaFile): { readonly call: CallFile; readonly path: string[] }[] {
  return [...steps].flatMap(([step, { compensate, probe, ...own }]) => [
    { call: own, path: ['steps', step] },
    ...(compensate ? [{ call: compensate, path: ['steps', step, 'compensate'] }] : []),
    ...(probe ? [{ call: probe, path: ['steps', step, 'probe'] }] : []),
  ]);
}

/** A wait for a signal. */
export type SignalFile = ReadOf<ReturnType<typeof waitForSignal>>;

export interface StepFile
  extends
    KindFile,
    Omit<
      StepOptions,
      | 'when'
      | 'delay'
      | 'compensate'
      | 'forEach'
      | 'limit'
      | 'probe'
      | 'rateLimit'
      | 'heartbeat'
      | 'transactional'
      | 'compensationReply'
    > {
  readonly when?: Expression;
  readonly delay?: Duration;
  readonly compensate?: CallFile;
  /** A JSON Schema. */
  readonly resultSchema?: object | boolean;
  readonly forEach?: Expression;
  readonly limit?: number | Omit<Limit, 'key'>;
  readonly probe?: CallFile;
  readonly rateLimit?: Omit<RateLimit, 'key'>;
}
