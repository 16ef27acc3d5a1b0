import type { SagaOptions } from '../../definition/options/saga-options.js';
import type { ScheduleOptions } from '../../definition/options/schedule-options.js';
import type { RateLimit, SagaRateLimit, StepConcurrency } from '../../definition/options/limit-options.js';
import type { StepOptions } from '../../definition/options/step-options.js';
import type { Duration } from '../../definition/options/duration.js';
import type { ExecDefinition } from '../action/exec-call.js';
import type { HttpDefinition } from '../action/http-call.js';
import type { MessageDefinition } from '../action/message-call.js';
import type { ProviderDefinition } from '../action/provider-call.js';
import type { Expression } from '../expression/expression.js';
import type { Template } from '../expression/template.js';

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
  readonly rateLimit?: Omit<SagaRateLimit, 'key'>;
  readonly lockKey?: Expression;
  readonly schedule?: Omit<ScheduleOptions, 'input'> & { readonly input?: Template };
  readonly steps: ReadonlyMap<string, StepFile>;
}

export interface CallFile {
  readonly http?: HttpDefinition;
  readonly exec?: ExecDefinition;
  readonly call?: ProviderDefinition;
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
export interface SignalFile {
  readonly signal: string;
  readonly timeout?: Duration;
  readonly reject?: Expression;
  readonly result?: Expression;
}

/** A step: it has one of `http`, `exec`, `call`, `message`, `approval`, `waitFor`, `subSaga` and `handler`. */
export interface StepFile
  extends
    CallFile,
    Omit<
      StepOptions,
      | 'when'
      | 'delay'
      | 'compensate'
      | 'forEach'
      | 'concurrency'
      | 'probe'
      | 'rateLimit'
      | 'heartbeat'
      | 'transactional'
      | 'compensationReply'
    > {
  readonly approval?: { readonly timeout?: Duration; readonly result?: Expression };
  readonly message?: MessageDefinition & { readonly reply?: SignalFile };
  readonly waitFor?: SignalFile;
  readonly subSaga?: { readonly saga: string; readonly input?: Template };
  readonly handler?: { readonly name: string; readonly version?: number; readonly input?: Template };

  readonly when?: Expression;
  readonly delay?: Duration;
  readonly compensate?: CallFile;
  /** A JSON Schema. */
  readonly resultSchema?: object | boolean;
  readonly forEach?: Expression;
  readonly concurrency?: number | Omit<StepConcurrency, 'key'>;
  readonly probe?: CallFile;
  readonly rateLimit?: Omit<RateLimit, 'key'>;
}
