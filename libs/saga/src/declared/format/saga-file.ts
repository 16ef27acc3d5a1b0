import type { RetryPolicy } from '../../definition/options/retry-policy.js';
import type { SagaOptions } from '../../definition/options/saga-options.js';
import type { RateLimit, SavepointOptions } from '../../definition/options/step-options.js';
import type { Duration } from '../../definition/options/duration.js';
import type { ExecDefinition } from '../action/exec-call.js';
import type { HttpDefinition } from '../action/http-call.js';
import type { ProviderDefinition } from '../action/provider-call.js';
import type { Expression } from '../expression/expression.js';
import type { Template } from '../expression/template.js';

/** A file as `SAGA_SHAPE` reads it. */
export interface SagaFile extends Pick<
  SagaOptions,
  | 'version'
  | 'upgradeFrom'
  | 'retry'
  | 'compensationRetry'
  | 'timeout'
  | 'sla'
  | 'onFailure'
  | 'durability'
  | 'concurrency'
  | 'retention'
  | 'redact'
> {
  readonly $schema?: string;
  readonly saga: string;
  readonly description?: string;
  /** A JSON Schema. */
  readonly input?: object | boolean;
  readonly secrets?: ReadonlyMap<string, string>;
  readonly lockKey?: Expression;
  readonly steps: ReadonlyMap<string, StepFile>;
}

export interface CallFile {
  readonly http?: HttpDefinition;
  readonly exec?: ExecDefinition;
  readonly call?: ProviderDefinition;
}

/** A step: it has one of `http`, `exec`, `call`, `approval`, `waitFor`, `subSaga` and `handler`. */
export interface StepFile extends CallFile {
  readonly approval?: { readonly timeout?: Duration; readonly result?: Expression };
  readonly waitFor?: {
    readonly signal: string;
    readonly timeout?: Duration;
    readonly reject?: Expression;
    readonly result?: Expression;
  };
  readonly subSaga?: { readonly saga: string; readonly input?: Template };
  readonly handler?: { readonly name: string; readonly version?: number; readonly input?: Template };

  readonly after?: string | readonly string[];
  readonly join?: 'all' | 'any';
  readonly when?: Expression;
  readonly delay?: Duration;
  readonly savepoint?: boolean | SavepointOptions;
  readonly retry?: RetryPolicy;
  readonly compensate?: CallFile;
  readonly compensationRetry?: RetryPolicy;
  readonly compensationTimeout?: Duration;
  readonly pivot?: boolean;
  readonly onFailure?: 'compensate' | 'continue';

  readonly timeout?: Duration;
  readonly forEach?: Expression;
  readonly concurrency?: number;
  readonly idempotent?: boolean;
  readonly compensateOnFailure?: boolean;
  readonly probe?: CallFile;
  readonly rateLimit?: RateLimit;
}
